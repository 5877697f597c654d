"""A Metal text in "C++ for OpenCL 2021", whose types know address spaces as Metal's do; for static/metal.h.

Lines stay where they are, so that what a compiler says of a line holds for the Metal text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .tokens import (
    DEFINE,
    Token,
    after_attribute,
    after_brackets,
    joined,
    next_that_matters,
    number_in_cpp,
    split_at_commas,
    tokenise,
)

VECTOR = re.compile(r"(?:bool|u?char|u?short|u?int|u?long|half|bfloat|float)[234]")
ALIAS = re.compile(
    rf"\busing\s+(?P<used>\w+)\s*=\s*(?:metal\s*::\s*)?(?:vec\s*<[^;]*>|{VECTOR.pattern})\s*;"
    rf"|\btypedef\s+(?:metal\s*::\s*)?(?:vec\s*<[^;]*>|{VECTOR.pattern})\s*(?P<defined>\w+)\s*;"
)
# Words with a meaning in OpenCL alone, free as names in Metal.
TAKEN = {"global", "local", "generic", "pipe", "uniform", "read_only", "write_only", "read_write"}


def in_opencl(text: str) -> str:
    """The text of a Metal library as the static check gives it to the compiler."""
    named = {alias["used"] or alias["defined"] for alias in ALIAS.finditer(text)}
    return _translated(tokenise(text), named)


def _translated(tokens: Sequence[Token], vectors: set[str]) -> str:
    pieces, index, before = list[str](), 0, ";"
    while index < len(tokens):
        piece, end = _piece(tokens, index, before, vectors)
        pieces.append(piece)
        if tokens[index].matters and tokens[index].text != "[[":
            before = ";" if tokens[index].kind == "directive" else tokens[end - 1].text
        index = end
    return "".join(pieces)


def _piece(tokens: Sequence[Token], index: int, before: str, vectors: set[str]) -> tuple[str, int]:
    """What becomes of the construct that starts at `index`, and the index after it."""
    token = tokens[index]
    if token.kind == "directive":
        return _directive(token.text), index + 1
    if token.kind == "number":
        return number_in_cpp(token.text), index + 1
    if token.text == "[[":
        end = after_attribute(tokens, index)
        return _line_breaks(tokens[index:end]), end
    if token.kind == "word":
        return _word(tokens, index, before, vectors)
    return token.text, index + 1


def _word(tokens: Sequence[Token], index: int, before: str, vectors: set[str]) -> tuple[str, int]:
    text = tokens[index].text
    starts = before in (";", "{", "}")
    if text == "kernel":
        return "", index + 1
    if text == "threadgroup" and starts and (variable := _threadgroup_variable(tokens, index)):
        return variable
    if text == "constant" and starts and _is_function_constant(tokens, index):
        return "extern constant", index + 1
    if before not in (".", "->", "::", "operator") and (end := _vector_end(tokens, index, vectors)):
        return f"made<{joined(tokens[index:end]).strip()}>", end
    return (f"{text}_" if text in TAKEN else text), index + 1


def _directive(text: str) -> str:
    if re.match(r"\s*#\s*include\s*<metal", text):
        return ""
    define = DEFINE.fullmatch(text)
    if define is None:
        return text
    body = (number_in_cpp(token.text) if token.kind == "number" else token.text for token in tokenise(define["body"]))
    return define["head"] + "".join(body)


def _line_breaks(tokens: Sequence[Token]) -> str:
    return "\n" * joined(tokens).count("\n")


def _is_function_constant(tokens: Sequence[Token], index: int) -> bool:
    end = next((i for i in range(index, len(tokens)) if tokens[i].text in (";", "(", "=", "{")), len(tokens))
    return any(token.text == "function_constant" for token in tokens[index:end])


def _vector_end(tokens: Sequence[Token], index: int, vectors: set[str]) -> int:
    """The index after the vector type at `index` if it is called like a function, as in `vec<T, 2>(a, b)`; else 0."""
    if tokens[index].text == "metal":
        colons = next_that_matters(tokens, index + 1)
        if colons == len(tokens) or tokens[colons].text != "::":
            return 0
        index = next_that_matters(tokens, colons + 1)
    word, end = tokens[index].text, index + 1
    if word == "vec":
        end = next_that_matters(tokens, end)
        if end == len(tokens) or tokens[end].text != "<":
            return 0
        end = after_brackets(tokens, end)
    elif not VECTOR.fullmatch(word) and word not in vectors:
        return 0
    behind = next_that_matters(tokens, end)
    return end if behind < len(tokens) and tokens[behind].text == "(" else 0


def _threadgroup_variable(tokens: Sequence[Token], index: int) -> tuple[str, int] | None:
    """`threadgroup T a[N], b;` as references: in OpenCL only a kernel may declare it, and no template is a kernel."""
    end = next(i for i in range(index, len(tokens)) if tokens[i].text == ";")
    runs = [[token for token in run if token.matters] for run in split_at_commas(tokens[index + 1 : end])]
    name = _name_of(runs[0]) if runs else 0
    if not name or any(token.text in ("*", "&", "(", "=") for token in runs[0][:name]):
        return None
    element = _spaced(runs[0][:name])
    declared = [
        (run[place].text, _spaced(run[place + 1 : _value_of(run)])) for run in runs for place in [_name_of(run)]
    ]
    pieces = (
        f"using {name}_type = {element}{size}; threadgroup {name}_type& {name} = threadgroup_variable<{name}_type>();"
        for name, size in declared
    )
    return " ".join(pieces) + _line_breaks(tokens[index:end]), end + 1


def _name_of(run: Sequence[Token]) -> int:
    """The index of the declared name: the last word before the size."""
    stop = next((i for i, token in enumerate(run) if token.text in ("[", "=")), len(run))
    return max((i for i in range(stop) if run[i].kind == "word"), default=0)


def _value_of(run: Sequence[Token]) -> int:
    return next((i for i, token in enumerate(run) if token.text == "="), len(run))


def _spaced(tokens: Sequence[Token]) -> str:
    return " ".join(number_in_cpp(token.text) if token.kind == "number" else token.text for token in tokens)
