"""The lexer, on which the translator and the static check stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxdecoder.errors import UserError
from mlxdecoder.kernels.emulator.tokens import (
    Parameter,
    after_attribute,
    joined,
    kernel_parameters,
    number_in_cpp,
    split_at_commas,
    tokenise,
)

PIECES = st.sampled_from(
    ["x", "1.5", "0x1F", " ", "\n", "//c\n", "/*a\nb*/", "[[", "]]", "]", "<", ">>=", '"s"', "#define A 1\n", "\\", "#"]
)


@given(st.lists(PIECES).map("".join))
def test_tokens_joined_are_the_text_and_lines_are_counted(text: str) -> None:
    tokens = tokenise(text)
    assert joined(tokens) == text
    for index, token in enumerate(tokens):
        assert token.line == 1 + joined(tokens[:index]).count("\n")


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("1", "1"),
        ("1.", "1.f"),
        (".5", ".5f"),
        ("1e-3", "1e-3f"),
        ("2.5f", "2.5f"),
        ("2.5h", "half(2.5f)"),
        ("2bf", "bfloat(2f)"),
        ("7u", "7u"),
        ("0x1F", "0x1F"),
    ],
)
def test_a_literal_without_suffix_is_a_float(number: str, expected: str) -> None:
    assert number_in_cpp(number) == expected


def test_a_directive_reaches_over_continued_lines_and_ends_at_a_comment() -> None:
    tokens = tokenise("#define A(x) \\\n  x + 1 // why\nint y;")
    assert (tokens[0].kind, tokens[0].text) == ("directive", "#define A(x) \\\n  x + 1 ")
    assert [token.line for token in tokens if token.text == "int"] == [3]


def test_an_attribute_ends_at_its_own_brackets() -> None:
    tokens = tokenise("[[buffer(sizes[0])]] x")
    assert joined(tokens[: after_attribute(tokens, 0)]) == "[[buffer(sizes[0])]]"


def test_commas_in_brackets_do_not_split() -> None:
    runs = [joined(run).strip() for run in split_at_commas(tokenise("vec<int, 3> a, int b[f(1, 2)] /* c, d */, e"))]
    assert runs == ["vec<int, 3> a", "int b[f(1, 2)]", "e"]


def test_a_kernel_has_its_parameters_in_order() -> None:
    text = """
    void other(int x);
    template <typename T> [[kernel]] void work(
        const device T* x [[buffer(3)]],  // with, a comma
        constant int& n,
        device bool* mask [[buffer(11), function_constant(masked)]],
        uint3 place [[thread_position_in_grid]]) { other(1); }
    """
    assert kernel_parameters(text, "work") == [
        Parameter("x", "const device T* x", "", 3),
        Parameter("n", "constant int& n", "", 4),
        Parameter("mask", "device bool* mask", "", 11),
        Parameter("place", "uint3 place", "thread_position_in_grid", None),
    ]


def test_a_kernel_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match="void work"):
        kernel_parameters("void other() {}", "work")
