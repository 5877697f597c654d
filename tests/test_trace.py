"""What a trace records: the numbers that were used, for the right row, at the right place, without touching them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder.beam import beam_search
from mlxdecoder.errors import UserError
from mlxdecoder.generate import Generation, generate
from mlxdecoder.masks import Padding
from mlxdecoder.recipe import Layout
from mlxdecoder.trace import STAGES, Trace, attend, intended, shapes
from tests import reference
from tests.builders import POSITIONS, ids, lively, numbers, rows_of, small

SMALL: dict[str, Any] = {"target_vocab": 9}
BEGIN, END = 2, 3


def inputs_of(lengths: Sequence[int], seed: int = 0) -> list[list[int]]:
    return rows_of(lengths, seed, high=9)


def read_by(generation: Generation) -> list[int]:
    """The target tokens that the decoder read to make it."""
    said = [*generation.tokens, *([END] if generation.finish_reason == "stop" else [])]
    return [BEGIN, *said[:-1]]


@settings(max_examples=20)
@given(st.sampled_from(POSITIONS), st.integers(1, 6), st.integers(1, 5), st.integers(0, 9))
def test_weights_follow_from_the_recorded_stages(positions: str, S: int, T: int, seed: int) -> None:
    model = small("translator", seed, positions=positions)
    trace = attend(model, ids(S, seed=seed).tolist(), ids(T, seed=seed + 1).tolist(), STAGES)
    for kind, (queries, keys) in {"encoder": (S, S), "decoder": (T, T), "cross": (T, S)}.items():
        weights = trace.stage(kind)
        assert weights.shape == (2, 4, queries, keys)
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
        allowed = np.tri(T, dtype=bool) if kind == "decoder" else np.ones((queries, keys), bool)
        masked = np.where(allowed, trace.stage(kind, "scaled").astype(np.float64), -np.inf)
        np.testing.assert_array_equal(trace.stage(kind, "masked"), masked.astype(np.float32))
        np.testing.assert_allclose(weights, reference.softmax(masked), atol=1e-5)
        if kind == "cross" or positions not in ("relative", "alibi"):
            np.testing.assert_allclose(trace.stage(kind, "scaled"), trace.stage(kind, "scores") / 2, atol=1e-4)


@settings(max_examples=15)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(0, 9), st.booleans(), st.integers(1, 3))
def test_a_translation_in_a_batch_shows_its_own_weights(lengths: list[int], seed: int, cached: bool, beam: int) -> None:
    """They equal those of the same source and target, read alone at once."""
    model, inputs, trace = lively("translator", seed, **SMALL), inputs_of(lengths, seed), Trace()
    if beam == 1:
        found = generate(model, inputs, max_tokens=6, cached=cached, watch=trace)
    else:
        searches = beam_search(model, inputs, beam=beam, n_best=beam, max_tokens=6, watch=trace)
        found = [generation for search in searches for generation in search]
        inputs = [row for row, search in zip(inputs, searches, strict=True) for _ in search]
    for source, generation in zip(inputs, found, strict=True):
        target = read_by(generation)
        alone = attend(model, source, target)
        for kind, (queries, keys) in {
            "encoder": (source, source), "decoder": (target, target), "cross": (target, source)
        }.items():  # fmt: skip
            weights = trace.stage(kind, "weights", generation)
            if cached or beam > 1:
                assert weights.shape[2] == (len(queries) if kind != "encoder" else max(lengths))
            labels = [[str(token) for token in row] for row in (queries, keys)]
            if kind == "encoder":
                np.testing.assert_allclose(weights[:, :, : len(source), : len(source)], alone.stage(kind), atol=1e-4)
                continue
            shown = trace.attention_map(kind, *labels, generation=generation)
            np.testing.assert_allclose(shown.weights, alone.stage(kind), atol=1e-4)
            assert shown.mass_outside().max() == 0
            np.testing.assert_allclose(shown.row_sums(), 1, atol=1e-4)


@pytest.mark.parametrize("lengths", [[4], [4, 2], [2, 4]])
def test_a_map_of_the_encoder_leaves_out_the_padding(lengths: list[int]) -> None:
    model, inputs, trace = lively("translator", **SMALL), inputs_of(lengths), Trace()
    found = generate(model, inputs, max_tokens=3, watch=trace)
    for source, generation in zip(inputs, found, strict=True):
        labels = [str(token) for token in source]
        shown = trace.attention_map("encoder", labels, labels, generation=generation)
        np.testing.assert_allclose(shown.weights, attend(model, source, [BEGIN]).stage("encoder"), atol=1e-4)


@settings(max_examples=10)
@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=3), st.integers(0, 9), st.sampled_from([None, 3]), st.booleans()
)
def test_a_continuation_in_a_batch_shows_its_own_weights(
    lengths: list[int], seed: int, window: int | None, cached: bool
) -> None:
    model, prompts, trace = lively("language_model", seed, window=window, **SMALL), inputs_of(lengths, seed), Trace()
    found = generate(model, prompts, max_tokens=5, cached=cached, watch=trace)
    for prompt, generation in zip(prompts, found, strict=True):
        tokens = [*prompt, *read_by(generation)[1:]]
        labels = [str(token) for token in tokens]
        shown = trace.attention_map("decoder", labels, labels, window=window, generation=generation)
        np.testing.assert_allclose(shown.weights, attend(model, [], tokens).stage("decoder"), atol=1e-4)
        assert shown.mass_outside().max() == 0


@pytest.mark.parametrize("architecture", ["language_model", "translator"])
@pytest.mark.parametrize("dtype", [mx.float32, mx.float16])
def test_watching_changes_no_bit(architecture: str, dtype: mx.Dtype) -> None:
    model, inputs = lively(architecture, **SMALL), inputs_of([4, 2, 1])
    model.set_dtype(dtype)
    for run in (generate, beam_search):
        plain, watched = (run(model, inputs, max_tokens=6, watch=watch) for watch in (None, Trace(STAGES)))
        assert plain == watched
    tokens = ids(2, 5, high=9)
    layout = Layout(source=Padding.right([5, 2], 5), target=Padding.right([5, 2], 5))
    arguments = (tokens, tokens) if architecture == "translator" else (tokens,)
    plain, watched = (model(*arguments, layout=layout, watch=watch) for watch in (None, Trace(STAGES)))
    np.testing.assert_array_equal(numbers(plain), numbers(watched))


def test_padding_gets_nothing_and_sees_nothing() -> None:
    model, trace = small(), Trace()
    model([[0, 0, 5, 6], [7, 8, 5, 6]], layout=Layout(target=Padding.left([2, 4], 4)), watch=trace)
    weights = trace.stage("decoder")  # of the first row
    assert not weights[..., :2].any()
    assert not weights[..., :2, :].any()
    np.testing.assert_allclose(weights[..., 2:, :].sum(axis=-1), 1, atol=1e-5)


def test_a_model_that_only_encodes_is_recorded_too() -> None:
    model, trace = small("encoder"), Trace()
    model([[5, 6, 7]], watch=trace)
    np.testing.assert_allclose(trace.stage("encoder").sum(axis=-1), np.ones((2, 4, 3)), atol=1e-5)


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(UserError, match=r"stages.*'values'"):
        Trace(["values"])
    trace = attend(small(), [], [5, 6])
    for kind, stage in (("cross", "weights"), ("encoder", "weights"), ("decoder", "scores"), ("self", "weights")):
        with pytest.raises(UserError, match=kind):
            trace.stage(kind, stage)
    with pytest.raises(UserError, match="decoder weights"):
        Trace().stage("decoder")


@pytest.mark.parametrize("window", [None, 1, 3])
def test_the_intended_mask(window: int | None) -> None:
    rules = [reference.causal, *([] if window is None else [reference.window(window)])]
    wanted = reference.grid(reference.every(rules), 1, range(5), range(5))[0, 0]
    np.testing.assert_array_equal(intended("decoder", 5, 5, window), wanted)
    assert intended("cross", 2, 4).all()


def test_shapes_are_told_in_order() -> None:
    found = shapes(small("translator"), [[5, 6, 7]], [[2, 5]])
    named = dict(found)
    assert named["encoder.0.self.weights"] == (1, 4, 3, 3)
    assert named["decoder.1.self.key"] == (1, 2, 2, 4)
    assert named["decoder.1.cross.weights"] == (1, 4, 2, 3)
    assert named["decoder.1.mlp.hidden"] == (1, 2, 24)
    assert found[-1] == ("logits", (1, 2, 24))
    names = list(named)
    assert (
        names.index("encoder.1.output") < names.index("decoder.0.self.scores") < names.index("decoder.0.cross.scores")
    )
    assert shapes(small("encoder", pooling="mean"), [[5, 6]])[-1] == ("output", (1, 16))
