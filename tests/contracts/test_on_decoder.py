"""The contracts on decoders: right ones raise no alarm, wrong ones are found and told apart."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder.contracts import check_model
from mlxdecoder.contracts.decoder_subject import Decoder
from mlxdecoder.contracts.finding import Finding, Report
from mlxdecoder.contracts.on_decoder import decoder_findings
from mlxdecoder.contracts.ours import DecoderFace
from mlxdecoder.errors import UserError
from mlxdecoder.recipe import RIGHT
from tests.builders import small
from tests.contracts.adapters import MISTAKES, Plain, documents, every_scheme, triangle

OTHER = {"positions": "rotary", "norm": "post", "n_kv_heads": 4, "seed": 3}
FAR = {"future", "future.far"}
EXPECTED: dict[str, set[str]] = {
    "no mask": FAR | {"cache.differs"},
    "transposed": FAR | {"future.instead", "past.blind", "cache.differs", "cache.blind"},
    "off by one": {"future", "future.near", "cache.differs"},
    "strict": FAR | {"future.first", "cache.differs"},
    "strict nan": {"nan", "nan.first"},
    "zero after softmax": FAR | {"future.weak", "cache.differs"},
    "fill -10": FAR | {"future.faint", "cache.differs"},
    "fill -1e-9": FAR | {"cache.differs"},
    "inverted": FAR | {"future.instead", "past.blind", "cache.differs"},
    "inverted -1e9": FAR | {"future.instead", "cache.differs"},
    "over queries": FAR | {"future.weak", "future.recent", "cache.differs"},
    "reshape": FAR | {"future.patchy", "cache.differs"},
    "axes exchanged": {"batch.mixed"},
    "cache position 0": {"cache.differs"},
    "cache mask top left": {"cache.differs", "cache.blind"},
}


def of(report: Report, contract: str) -> Finding:
    (finding,) = (finding for finding in report.findings if finding.contract == contract)
    return finding


def plainly(model: Any, **options: Any) -> Report:
    """Without padding and packing, so that a wrong mask does not show in them too."""
    return decoder_findings(lambda tokens, cache=None: model(tokens, cache), make_cache=model.make_cache, **options)


@pytest.mark.parametrize(("positions", "variant"), every_scheme())
def test_right_decoders_raise_no_alarm(positions: str, variant: dict[str, Any]) -> None:
    report = decoder_findings(DecoderFace(small(positions=positions, **variant)), seed=variant["seed"])
    assert not report.failed, str(report)
    assert all(finding.holds for finding in report.findings), str(report)


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16])
def test_half_types_raise_no_alarm(dtype: mx.Dtype) -> None:
    model = small(positions="rotary")
    model.set_dtype(dtype)
    assert decoder_findings(DecoderFace(model)).holds


@pytest.mark.parametrize("mistake", EXPECTED)
@pytest.mark.parametrize("variant", [{}, pytest.param(OTHER, marks=pytest.mark.slow)], ids=["one", "another"])
def test_wrong_decoders_are_found_and_told_apart(mistake: str, variant: dict[str, Any]) -> None:
    assert plainly(small(recipe=MISTAKES[mistake], **variant)).signs == EXPECTED[mistake]


def test_heads_that_are_cut_and_joined_as_blocks_are_found() -> None:
    """Each block of T / H tokens then sees itself alone: causal, but for the past that is missing."""
    report = plainly(small(recipe=MISTAKES["reshape both"], n_kv_heads=4))
    assert report.signs == {"past.partly", "cache.differs"}
    assert of(report, "T1 reach").measured["positions"] == [4, 8, 12]


@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_off_by_one_is_said_to_reach_as_far_as_there_are_layers(n_layers: int) -> None:
    finding = of(plainly(small(recipe=MISTAKES["off by one"], n_layers=n_layers)), "T1 causal")
    assert finding.measured["reach"] == n_layers
    assert f"up to {n_layers} tokens ahead" in finding.proof


def test_the_proof_names_a_pair_that_anybody_can_try() -> None:
    f = Plain(lambda tokens: triangle(tokens) | (np.arange(tokens.shape[1]) == 9), layers=1)
    finding = of(decoder_findings(f), "T1 causal")
    assert finding.measured["token"] == 9
    tokens = np.arange(16)[None]
    other = np.where(np.arange(16) == 9, 19, tokens)
    moved = np.abs(f(other) - f(tokens))[0, finding.measured["position"]].max()
    assert moved > 0.1
    assert "token 9 was replaced" in finding.proof


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.floats(0, 1))
def test_influence_of_one_layer_is_its_mask(seed: int, density: float) -> None:
    mask = (np.random.default_rng(seed).random((16, 16)) < density) | np.eye(16, dtype=bool)
    subject = Decoder(Plain(lambda tokens: mask[None], layers=1), make_cache=None, vocabulary=None)
    assert ((subject.influence.largest > subject.nothing) == mask).all()


@settings(max_examples=25)
@given(st.integers(0, 2**32))
def test_no_causal_mask_that_sees_its_neighbour_raises_an_alarm(seed: int) -> None:
    T = np.arange(64)
    mask = (np.random.default_rng(seed).random((64, 64)) < 0.5) | (np.abs(T - T[:, None]) <= 1)

    def sees(tokens: np.ndarray) -> np.ndarray:
        return triangle(tokens) & mask[: tokens.shape[1], : tokens.shape[1]]

    assert not decoder_findings(Plain(sees), only=["T1 causal", "T1 reach"]).failed


def test_a_window_is_no_mistake_and_its_reach_is_told() -> None:
    finding = of(plainly(small(positions="rotary", window=3)), "T1 reach")
    assert finding.holds
    assert finding.measured["tokens"] == 4  # two layers, two tokens back each


def test_forgotten_padding_and_documents_are_found() -> None:
    padded = decoder_findings(DecoderFace(small(recipe=MISTAKES["padding forgotten"])))
    assert "decoder.padding" in padded.signs
    packed = decoder_findings(DecoderFace(small(recipe=MISTAKES["documents forgotten"])))
    assert "documents.mixed" in packed.signs
    assert not {"future", "cache.differs", "batch.mixed"} & (padded.signs | packed.signs)


def test_padding_that_shifts_positions_is_found() -> None:
    def sees(tokens: np.ndarray) -> np.ndarray:
        return (triangle(tokens) & (tokens != 0)[:, None]) | np.eye(tokens.shape[1], dtype=bool)

    def places(tokens: np.ndarray) -> np.ndarray:
        return np.maximum(np.cumsum(tokens != 0, axis=1) - 1, 0)

    assert decoder_findings(Plain(sees), pad=0).signs == {"decoder.padding"}
    assert of(decoder_findings(Plain(sees, places), pad=0), "T3 padding").holds


def test_documents_apart_at_wrong_positions_are_told_from_mixed_ones() -> None:
    def sees(tokens: np.ndarray) -> np.ndarray:
        ids = documents(tokens, 1)
        return triangle(tokens) & (ids[:, None] == ids[:, :, None])

    def places(tokens: np.ndarray) -> np.ndarray:
        ids, T = documents(tokens, 1), np.arange(tokens.shape[1])
        starts = np.r_["1", np.ones((len(ids), 1), bool), np.diff(ids, axis=1) > 0]
        return T - np.maximum.accumulate(np.where(starts, T, 0), axis=1)

    assert decoder_findings(Plain(triangle), separator=1).signs == {"documents.mixed"}
    assert decoder_findings(Plain(sees), separator=1).signs == {"documents.positions"}
    assert of(decoder_findings(Plain(sees, places), separator=1), "T4 documents").holds


def test_no_positions_are_found_in_one_layer() -> None:
    """With more layers, a causal mask itself tells the order."""
    report = decoder_findings(Plain(triangle, lambda tokens: 0 * tokens, layers=1))
    assert report.signs == {"order.ignored"}


def test_dropout_is_found_and_nothing_else_is_said() -> None:
    report = decoder_findings(DecoderFace(small(recipe=MISTAKES["dropout"], dropout=0.2)))
    assert report.signs == {"unsteady"}
    assert {finding.contract for finding in report.findings if finding.holds is not None} == {"T5 finite", "T11 steady"}
    assert "model.eval()" in of(report, "T1 causal").proof


def test_a_cache_that_is_used_again_is_found() -> None:
    model = small()
    cache = model.make_cache()
    report = decoder_findings(lambda tokens, cache=None: model(tokens, cache), make_cache=lambda: cache)
    assert report.signs == {"stale"}


def test_answers_that_are_remembered_by_shape_are_found() -> None:
    answers: dict[tuple[int, ...], np.ndarray] = {}

    def f(tokens: np.ndarray) -> np.ndarray:
        return answers.setdefault(tokens.shape, Plain(triangle)(tokens))

    report = decoder_findings(f, arrays="numpy", only=["T11 steady"])
    assert report.signs == {"stale"}
    assert "got the answer to the one before" in report.failed[0].proof


def test_an_answer_that_depends_on_the_question_before_is_found() -> None:
    asked: list[bytes] = []

    def f(tokens: np.ndarray) -> np.ndarray:
        asked.append(tokens.tobytes())
        return Plain(triangle)(tokens) + len(set(asked))

    assert decoder_findings(f, arrays="numpy", only=["T11 steady"]).signs == {"stale"}


def test_pieces_that_go_wrong_where_single_tokens_go_right_are_found() -> None:
    model = small()

    def f(tokens: mx.array, cache: Any = None) -> mx.array:
        several = cache is not None and cache[0].offset and tokens.shape[1] > 1
        model.recipe = MISTAKES["cache mask top left"] if several else RIGHT
        return model(tokens, cache)

    report = decoder_findings(f, make_cache=model.make_cache)
    assert report.signs == {"cache.chunks"}
    assert "in pieces of 3, 1, 12 tokens" in of(report, "T9 cache").proof


def test_pieces_that_raise_are_found() -> None:
    model = small()

    def f(tokens: mx.array, cache: Any = None) -> mx.array:
        if cache is not None and cache[0].offset and tokens.shape[1] > 1:
            raise RuntimeError("shapes (12,12) and (12,16) cannot be broadcast")
        return model(tokens, cache)

    finding = of(decoder_findings(f, make_cache=model.make_cache), "T9 cache")
    assert finding.signs == {"cache.chunks"}
    assert "RuntimeError: shapes (12,12) and (12,16)" in finding.proof


def test_a_batch_that_raises_spoils_no_other_contract() -> None:
    def f(tokens: np.ndarray) -> np.ndarray:
        if len(tokens) > 1:
            raise IndexError("one row only")
        return Plain(triangle)(tokens)

    report = decoder_findings(f, arrays="numpy")
    assert [finding.contract for finding in report.failed] == ["T4 apart"]
    assert "IndexError: one row only" in report.failed[0].proof


def test_what_was_not_given_is_named() -> None:
    report = decoder_findings(Plain(triangle))
    untried = {finding.contract: finding.proof for finding in report.findings if finding.holds is None}
    assert set(untried) == {"T3 padding", "T4 documents", "T9 cache"}
    for option, proof in zip(("pad=", "separator=", "make_cache="), untried.values(), strict=True):
        assert f"give {option}" in proof


def test_equal_logits_prove_nothing() -> None:
    report = decoder_findings(lambda tokens: np.zeros((*tokens.shape, 9)), arrays="numpy")
    assert of(report, "T1 causal").holds is None
    assert "weights that are not zero" in of(report, "T1 causal").proof


@pytest.mark.parametrize("value", [0.0, 3.0, -np.inf])
def test_logits_that_are_all_the_same_hold_no_contract(value: float) -> None:
    report = decoder_findings(lambda tokens: np.full((*tokens.shape, 9), value), arrays="numpy")
    (failed,) = report.failed
    assert failed.contract == "T5 finite"
    assert f"all are {value:.3g}" in failed.proof


def test_logits_that_are_the_same_at_all_positions_see_nothing() -> None:
    report = decoder_findings(lambda tokens: np.zeros((*tokens.shape, 9)) + np.arange(9), arrays="numpy")
    assert "past.blind" in report.signs


def test_that_order_proves_little_with_more_layers_is_said() -> None:
    finding = of(decoder_findings(Plain(triangle)), "T10 order")
    assert finding.holds
    assert "two layers or more" in finding.proof


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 0}, "tolerance = 0"),
        ({"seed": -1}, "seed = -1"),
        ({"vocabulary": 0}, "vocabulary = 0"),
        ({"vocabulary": 1}, "vocabulary = 1"),
        ({"only": "T1 causal"}, "only = 'T1 causal'"),
        ({"only": ["T1"]}, "only = .*contracts on decoder"),
    ],
)
def test_options_that_are_none_are_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        decoder_findings(Plain(triangle), **options)


def test_attributes_that_can_be_no_ids_are_no_options() -> None:
    class Module(Plain):
        pad, separator, vocabulary = True, -1, 0

    report = decoder_findings(Module(triangle))
    assert not report.failed
    assert of(report, "T3 padding").holds is None
    assert of(report, "T4 documents").holds is None


def test_what_a_model_is_configured_not_to_do_is_not_asked() -> None:
    alone = {finding.contract: finding for report in check_model(small(window=1)) for finding in report.findings}
    assert alone["T1 reach"].holds is None
    assert "window = 1" in alone["T1 reach"].proof
    for architecture in ("language_model", "translator"):
        reports = check_model(small(architecture, positions="none"))
        unordered = {finding.contract: finding for report in reports for finding in report.findings}
        assert unordered["T10 order"].holds is None
        assert "positions = 'none'" in unordered["T10 order"].proof
        assert all(report.holds for report in reports)


def test_short_models_are_asked_short_questions() -> None:
    report = decoder_findings(DecoderFace(small(positions="learned", max_length=9)))
    assert report.holds
    assert "probed with 8 tokens" in report.notes[0]


def test_ids_stay_within_the_vocabulary_and_away_from_marks() -> None:
    asked: set[int] = set()

    def f(tokens: np.ndarray) -> np.ndarray:
        asked.update(tokens.ravel().tolist())
        return Plain(triangle)(tokens)

    decoder_findings(f, arrays="numpy", vocabulary=7, only=["T1 causal", "T10 order"], pad=2, separator=5)
    assert asked == {0, 1, 3, 4, 6}


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda tokens: 1 / 0, r"ZeroDivisionError"),
        (lambda tokens: tokens[0], r"shape \(\d+,\) for ids \(1, \d+\); \[B, T, V\] is wanted"),
        (lambda tokens: (np.zeros((*tokens.shape, 9)), None), r"gave a tuple; logits \[B, T, V\] alone"),
        (lambda tokens: "logits", r"gave a str"),
    ],
)
def test_what_is_no_decoder_is_refused_with_its_name(f: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        decoder_findings(f, arrays="numpy")


@pytest.mark.parametrize("option", ["pad", "separator"])
def test_marks_that_are_no_ids_are_refused(option: str) -> None:
    with pytest.raises(UserError, match=f"{option} = -1"):
        decoder_findings(Plain(triangle), **{option: -1})  # type: ignore[arg-type]


def test_attributes_stand_in_for_options_where_they_fit() -> None:
    class Module(Plain):
        pad = "constant"  # as of another meaning
        separator = 1

    report = decoder_findings(Module(triangle))
    assert of(report, "T3 padding").holds is None
    assert report.signs == {"documents.mixed"}
