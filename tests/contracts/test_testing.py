"""The assertions for anybody's tests: silent on what is right, a proof and a hint on what is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mlxdecoder import testing
from mlxdecoder.contracts import check
from mlxdecoder.contracts.causes import CAUSES, usual_causes
from mlxdecoder.contracts.ours import AttentionFace, BatchesFace, DecoderFace, TranslatorFace
from mlxdecoder.errors import UserError
from tests.builders import small
from tests.contracts.adapters import MISTAKES, Plain, triangle

MARKS: dict[str, Any] = {"begin": 2, "end": 3, "pad": 0}
OPTIONS: dict[str, dict[str, Any]] = {
    "attention": {"arrays": "mlx", "half": True},
    "decoder": {"arrays": "mlx"},
    "translator": {"arrays": "mlx"},
    "batches": MARKS,
}


def face(kind: str, mistake: str | None = None, **changes: Any) -> Any:
    changes |= {"recipe": MISTAKES[mistake]} if mistake else {}
    model = small("translator" if kind == "translator" else "language_model", **changes)
    faces = {"attention": AttentionFace, "decoder": DecoderFace, "translator": TranslatorFace, "batches": BatchesFace}
    return faces[kind](model)


@pytest.mark.parametrize("kind", OPTIONS)
def test_every_contract_has_an_assertion_that_is_silent_on_what_is_right(kind: str) -> None:
    f = face(kind)
    wanted = {finding.contract for finding in check(f, kind, **OPTIONS[kind]).findings}  # type: ignore[arg-type]
    asserted = set()
    for assertion in vars(testing).values():
        if isinstance(assertion, testing.Assertion) and kind in assertion.kinds:
            assertion(f, kind=kind, **OPTIONS[kind])  # type: ignore[arg-type]
            asserted.add(assertion.contract)
    assert asserted == wanted


@pytest.mark.parametrize("kind", OPTIONS)
def test_what_is_right_holds(kind: Any) -> None:
    testing.assert_holds(face(kind), kind=kind, **OPTIONS[kind])


@pytest.mark.parametrize(
    ("name", "kind", "mistake"),
    [
        ("assert_causal", "decoder", "off by one"),
        ("assert_causal", "translator", "no mask"),
        ("assert_causal", "attention", "fill -1e-9"),
        ("assert_past_seen", "decoder", "transposed"),
        ("assert_rows_sum_to_one", "attention", "zero after softmax"),
        ("assert_queries_apart", "attention", "over queries"),
        ("assert_mask_obeyed", "attention", "inverted"),
        ("assert_padding_ignored", "decoder", "padding forgotten"),
        ("assert_padding_ignored", "translator", "padding on queries"),
        ("assert_documents_apart", "translator", "cross documents forgotten"),
        ("assert_rows_apart", "decoder", "axes exchanged"),
        ("assert_finite", "decoder", "strict nan"),
        ("assert_cache_agrees", "decoder", "cache position 0"),
        ("assert_cache_agrees", "translator", "cache mask top left"),
        ("assert_source_seen", "translator", "causal crossing"),
    ],
)
def test_what_is_wrong_is_refused_with_a_proof_and_a_cause(name: str, kind: str, mistake: str) -> None:
    with pytest.raises(AssertionError) as raised:
        getattr(testing, name)(face(kind, mistake), kind=kind)
    heading, asked, seen, *causes = str(raised.value).splitlines()
    assert "does not hold for" in heading
    assert f"({kind})" in heading
    assert asked.startswith("  asked: ")
    assert seen.startswith("  seen: ")
    assert any(character.isdigit() for character in seen) or "NaN" in seen
    assert causes
    assert all(cause.startswith("  usual cause: ") for cause in causes)


def test_the_message_says_it_all() -> None:
    with pytest.raises(AssertionError) as raised:
        testing.assert_causal(Plain(lambda tokens: np.roll(triangle(tokens), 1, axis=-1) | triangle(tokens), layers=1))
    said = str(raised.value)
    assert "T1 causal does not hold for Plain (decoder)" in said
    assert "was replaced; the logits at position" in said
    assert "the mask is off by one" in said


def test_the_first_kind_is_meant_when_none_is_said() -> None:
    testing.assert_causal(Plain(triangle))
    testing.assert_targets_shifted(face("batches"), **MARKS)


def test_a_contract_that_cannot_be_tried_does_not_pass() -> None:
    with pytest.raises(AssertionError, match="cannot be tried on Plain[^$]*give make_cache="):
        testing.assert_cache_agrees(Plain(triangle))


def test_only_the_contract_that_is_asserted_counts() -> None:
    f = face("decoder", "cache position 0")
    testing.assert_causal(f)
    with pytest.raises(AssertionError, match="T9 cache"):
        testing.assert_holds(f, kind="decoder")


def test_all_proofs_are_told_when_all_contracts_are_tried() -> None:
    with pytest.raises(AssertionError) as raised:
        testing.assert_holds(face("decoder", "transposed"), kind="decoder")
    assert "T1 causal does not hold" in str(raised.value)
    assert "T1 reach does not hold" in str(raised.value)


def test_where_nothing_can_be_tried_nothing_holds() -> None:
    with pytest.raises(AssertionError, match="T3 padding cannot be tried on Plain[^$]*give pad="):
        testing.assert_holds(Plain(triangle), kind="decoder", only=["T3 padding", "T9 cache"])


def test_logits_that_are_all_zero_do_not_pass() -> None:
    with pytest.raises(AssertionError, match="all are 0"):
        testing.assert_holds(lambda tokens: np.zeros((*tokens.shape, 9)), kind="decoder", arrays="numpy")


def test_a_kind_that_has_no_such_contract_is_refused() -> None:
    with pytest.raises(UserError, match="kind = 'attention': T9 cache is a contract of decoder, translator"):
        testing.assert_cache_agrees(Plain(triangle), kind="attention")


def test_causes_are_those_of_the_most_particular_signs() -> None:
    assert usual_causes({"future"}) == [CAUSES["future"]]
    assert usual_causes({"future", "future.far", "future.first"}) == [CAUSES["future.first"]]
