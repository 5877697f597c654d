"""Generation: with and without a cache, alone and in a batch, at once and in a stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder.beam import beam_search
from mlxdecoder.decoding import Decoding, generating
from mlxdecoder.errors import UserError
from mlxdecoder.generate import Generation, generate, stream_generate
from mlxdecoder.ids import in_batches, pad_left, pad_right
from mlxdecoder.prompt_cache import make_prompt_cache
from mlxdecoder.sampling import make_sampler
from mlxdecoder.trace import attend
from mlxdecoder.translate import load
from tests import reference
from tests.builders import POSITIONS, lively, numbers, rows_of, small

DECODERS = ("language_model", "translator")
END = 3
SMALL: dict[str, Any] = {"target_vocab": 9}
LENGTHS = st.lists(st.integers(1, 8), min_size=1, max_size=4)


def inputs_of(lengths: Sequence[int], seed: int = 0) -> list[list[int]]:
    return rows_of(lengths, seed, high=9)


def by_hand(model: Any, row: Sequence[int], limit: int) -> Generation:
    """Greedy decoding in the plainest way: read everything anew for each token."""
    translates = model.config.architecture == "translator"
    tokens: list[int] = []
    logprob, reason = 0.0, "length"
    while len(tokens) < limit:
        logits = model([row], [[model.config.begin_id, *tokens]]) if translates else model([[*row, *tokens]])
        logprobs = reference.log_softmax(numbers(logits)[0, -1])
        token = int(logprobs.argmax())
        logprob += float(logprobs[token])
        if token == END:
            reason = "stop"
            break
        tokens.append(token)
    return Generation(tokens, logprob, reason)


def assert_same(found: Generation, wanted: Generation) -> None:
    assert (found.tokens, found.finish_reason) == (wanted.tokens, wanted.finish_reason)
    assert found.logprob == pytest.approx(wanted.logprob, abs=1e-3)


@settings(max_examples=30)
@given(st.sampled_from(DECODERS), st.sampled_from(POSITIONS), LENGTHS, st.integers(0, 9), st.sampled_from([None, 3]))
def test_batches_equal_decoding_by_hand_in_order(
    architecture: str, positions: str, lengths: list[int], seed: int, window: int | None
) -> None:
    model, inputs = lively(architecture, seed, positions=positions, window=window, **SMALL), inputs_of(lengths, seed)
    wanted = [by_hand(model, row, 8) for row in inputs]
    for cached in (True, False):
        found = generate(model, inputs, max_tokens=8, cached=cached)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other)


@pytest.mark.parametrize("architecture", DECODERS)
def test_the_examples_above_end_in_both_ways(architecture: str) -> None:
    """Else they would say little."""
    model = lively(architecture, **SMALL)
    found = generate(model, inputs_of([3] * 20), max_tokens=8)
    assert {generation.finish_reason for generation in found} == {"stop", "length"}
    assert len({tuple(generation.tokens) for generation in found}) > 5


@pytest.mark.parametrize("max_kv_size", [1, 3, 5, 8])
@pytest.mark.parametrize(("architecture", "lengths"), [("language_model", [9, 9, 9]), ("translator", [9, 3, 1])])
def test_a_bounded_cache_treats_a_row_alike_alone_and_in_a_batch(
    architecture: str, lengths: list[int], max_kv_size: int
) -> None:
    model, inputs = lively(architecture, positions="rotary", **SMALL), inputs_of(lengths)
    together = generate(model, inputs, max_tokens=12, max_kv_size=max_kv_size)
    for row, found in zip(inputs, together, strict=True):
        assert_same(found, generate(model, [row], max_tokens=12, max_kv_size=max_kv_size)[0])


def test_a_bounded_cache_that_would_keep_padding_is_refused() -> None:
    with pytest.raises(UserError, match="max_kv_size"):
        generate(lively("language_model", **SMALL), inputs_of([9, 3]), max_kv_size=5)


@pytest.mark.parametrize("architecture", DECODERS)
@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16])
def test_half_types_give_finite_log_probabilities(architecture: str, dtype: mx.Dtype) -> None:
    """Batches may round otherwise than single rows do, so only each sum is held against the model itself."""
    model, inputs = lively(architecture, **SMALL), inputs_of([5, 2, 1])
    model.set_dtype(dtype)
    found = [*generate(model, inputs, max_tokens=6), *(best[0] for best in beam_search(model, inputs, max_tokens=6))]
    for row, generation in zip(inputs * 2, found, strict=True):
        wanted = teacher_forced(model, row, generation)
        assert generation.logprob == pytest.approx(wanted, abs=0.05 if dtype == mx.float16 else 0.5)


def teacher_forced(model: Any, row: Sequence[int], generation: Generation) -> float:
    """The log-probability of what was generated, read at once."""
    tokens = [*generation.tokens, *([END] if generation.finish_reason == "stop" else [])]
    if model.config.architecture == "translator":
        logits = numbers(model([row], [[model.config.begin_id, *tokens[:-1]]]))[0]
    else:
        logits = numbers(model([[*row, *tokens[:-1]]]))[0, len(row) - 1 :]
    return float(reference.log_softmax(logits)[np.arange(len(tokens)), tokens].sum())


@settings(max_examples=15)
@given(st.sampled_from(DECODERS), LENGTHS, st.booleans(), st.integers(0, 5))
def test_a_stream_yields_what_generate_returns(architecture: str, lengths: list[int], cached: bool, seed: int) -> None:
    model, inputs = lively(architecture, seed, **SMALL), inputs_of(lengths)

    def options() -> dict[str, Any]:
        return {"max_tokens": 7, "sampler": make_sampler(1.0, seed=seed), "cached": cached, "block_ngrams": 2}

    wanted = generate(model, inputs, **options())
    tokens: list[list[int]] = [[] for _ in inputs]
    sums, reasons = [0.0] * len(inputs), [""] * len(inputs)
    for step in stream_generate(model, inputs, **options()):
        assert step.logprobs.shape == (len(step.rows), 9)
        for i, row in enumerate(step.rows):
            assert not reasons[row]
            tokens[row] += [token for token in step.tokens[i : i + 1] if token != END]
            sums[row] += step.logprobs[i, step.tokens[i]].item()
            reasons[row] = step.finish_reasons[i] or ""
    assert tokens == [generation.tokens for generation in wanted]
    assert reasons == [generation.finish_reason for generation in wanted]
    np.testing.assert_allclose(sums, [generation.logprob for generation in wanted], atol=1e-4)


def test_a_stream_can_be_left() -> None:
    model = lively(**SMALL)
    model.train()
    stream = stream_generate(model, inputs_of([3]), max_tokens=50)
    next(stream)
    stream.close()
    assert model.training


@pytest.mark.parametrize("architecture", DECODERS)
class TestLimits:
    def test_finish_reasons(self, architecture: str) -> None:
        model = lively(architecture, 1, **SMALL)
        for limit in (1, 3, 8):
            for generation in generate(model, inputs_of([4] * 8), max_tokens=limit):
                assert END not in generation.tokens
                assert (generation.finish_reason == "length") == (len(generation.tokens) == limit)

    def test_defaults(self, architecture: str) -> None:
        """An end mark that never comes: as long as the limit."""
        model = lively(architecture, **SMALL)
        never = self._never_ending(model)
        lengths = [len(generation.tokens) for generation in generate(model, inputs_of([1, 5]), sampler=never)]
        assert lengths == ([18, 26] if architecture == "translator" else [128, 128])

    def _never_ending(self, model: Any) -> Callable[[mx.array], mx.array]:
        return lambda logprobs: mx.full((len(logprobs),), 5, mx.int32)

    @pytest.mark.parametrize("limit", [0, -1])
    def test_no_tokens_at_all_are_refused(self, architecture: str, limit: int) -> None:
        with pytest.raises(UserError, match="max_tokens"):
            generate(lively(architecture, **SMALL), [[5]], max_tokens=limit)

    @pytest.mark.parametrize("inputs", [[], [[]], [[5], []]])
    def test_empty_inputs_are_refused(self, architecture: str, inputs: list[list[int]]) -> None:
        model = lively(architecture, **SMALL)
        for run in (generate, beam_search, lambda *arguments: list(stream_generate(*arguments))):
            with pytest.raises(UserError, match="inputs"):
                run(model, inputs)

    def test_ids_outside_the_vocabulary_are_refused(self, architecture: str) -> None:
        with pytest.raises(UserError, match="100"):
            generate(lively(architecture, **SMALL), [[5, 100]])

    def test_a_table_of_positions_that_is_too_short(self, architecture: str) -> None:
        """What was generated is kept: the row ends where the table does."""
        model = lively(architecture, positions="learned", max_length=6, **SMALL)
        stream = stream_generate(model, [[5, 6]], sampler=self._never_ending(model), max_tokens=12)
        assert [step.finish_reasons for step in stream][-1] == ("length",)
        if architecture == "language_model":
            with pytest.raises(UserError, match="max_length = 6"):
                generate(model, [[5] * 7])

    def test_blocked_runs_do_not_appear(self, architecture: str) -> None:
        model = lively(architecture, 2, **SMALL)
        plain = generate(model, inputs_of([4] * 6), max_tokens=30)
        for n in (1, 2, 3):
            blocked = generate(model, inputs_of([4] * 6), max_tokens=30, block_ngrams=n)
            assert all(_distinct(generation.tokens, n) for generation in blocked)
        assert not all(_distinct(generation.tokens, 2) for generation in plain)

    def test_dropout_is_off_and_training_goes_on_afterwards(self, architecture: str) -> None:
        model, inputs = lively(architecture, dropout=0.5, attention_dropout=0.5, **SMALL), inputs_of([3, 2])
        wanted = [generation.tokens for generation in generate(model, inputs, max_tokens=6)]
        model.train()
        assert [generation.tokens for generation in generate(model, inputs, max_tokens=6)] == wanted
        assert model.training
        with pytest.raises(RuntimeError), generating(model):
            raise RuntimeError
        assert model.training


def _distinct(tokens: Sequence[int], n: int) -> bool:
    runs = [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]
    return len(runs) == len(set(runs))


@pytest.mark.parametrize("architecture", DECODERS)
@pytest.mark.parametrize("cached", [True, False])
def test_decoding_goes_on_with_the_rows_that_were_chosen(architecture: str, cached: bool) -> None:
    model, inputs = lively(architecture, **SMALL), inputs_of([4, 2, 3])
    decoding = Decoding(model, inputs, cached=cached)
    decoding.feed(decoding.first)
    decoding.reorder([2, 0, 0])
    found = numbers(decoding.feed(mx.array([[5], [6], [7]])))
    for logits, row, token in zip(found, (2, 0, 0), (5, 6, 7), strict=True):
        alone = Decoding(model, [inputs[row]])
        alone.feed(alone.first)
        np.testing.assert_allclose(logits, numbers(alone.feed(mx.array([[token]])))[0], atol=1e-4)


def test_batches_of_like_length_keep_the_order() -> None:
    inputs, done, sizes = inputs_of([3, 1, 4, 1, 5, 2]), [], []

    def run(rows: list[Sequence[int]]) -> list[int]:
        sizes.append([len(row) for row in rows])
        return [sum(row) for row in rows]

    assert in_batches(inputs, run, batch_size=4, progress=done.append) == [sum(row) for row in inputs]
    assert sizes == [[5, 4, 3, 2], [1, 1]]
    assert done == [4, 2]
    assert in_batches([], run) == []


def test_padding_on_both_sides() -> None:
    np.testing.assert_array_equal(pad_right([[5, 6], [7]], 0), [[5, 6], [7, 0]])
    np.testing.assert_array_equal(pad_right([[5]], 1, width=3), [[5, 1, 1]])
    np.testing.assert_array_equal(pad_left([[5, 6], [7]], 0), [[5, 6], [0, 7]])


def test_bytes_held_are_counted() -> None:
    model = lively("translator", **SMALL)
    decoding = Decoding(model, [[5, 6, 7]])
    assert sum(layer.nbytes for layer in decoding.cache) == 0
    decoding.feed(decoding.first)
    # Two layers; keys and values of 2 heads of width 4 in float32; room for 32 own tokens, and 3 of the source.
    assert sum(layer.nbytes for layer in decoding.cache) == 2 * 2 * 2 * 4 * 4 * (32 + 3)


def going_on(logprobs: mx.array) -> mx.array:
    """The best token that is no mark."""
    return mx.argmax(logprobs[:, 4:], axis=-1) + 4


@pytest.mark.parametrize("max_size", [None, 6])
def test_a_conversation_goes_on_with_its_prompt_cache(max_size: int | None) -> None:
    """Two turns with a cache are one turn over all that was said."""
    model = lively("language_model", positions="rotary", window=max_size, **SMALL)
    cache = make_prompt_cache(model)
    first = generate(model, [[5, 6, 7]], max_tokens=4, prompt_cache=cache, sampler=going_on)[0]
    said = [5, 6, 7, *first.tokens]
    second = generate(model, [[said[-1], 8, 5]], max_tokens=4, prompt_cache=cache, sampler=going_on)[0]
    whole = generate(model, [[*said, 8, 5]], max_tokens=4, sampler=going_on)[0]
    assert len(first.tokens) == len(whole.tokens) == 4
    assert second.tokens == whole.tokens


def test_a_prompt_cache_of_a_translator_or_of_another_batch_is_refused() -> None:
    translator, model = lively("translator", **SMALL), lively("language_model", **SMALL)
    with pytest.raises(UserError, match="prompt_cache"):
        generate(translator, [[5]], prompt_cache=make_prompt_cache(translator))
    cache = make_prompt_cache(model)
    generate(model, [[5], [6]], max_tokens=2, prompt_cache=cache, sampler=going_on)
    with pytest.raises(UserError, match="cache"):
        generate(model, [[5]], prompt_cache=cache)


def test_what_is_no_model_that_generates_is_told_what_to_give() -> None:
    checkpoint: Any = load()
    for refused in (lambda: generate(checkpoint, [[4]]), lambda: attend(checkpoint, [4], [2])):
        with pytest.raises(UserError, match=r"Checkpoint found, .* give its \.model"):
            refused()
    with pytest.raises(UserError, match="Encoder found"):
        generate(small("encoder"), [[4]])
    with pytest.raises(UserError, match="encode the text"):
        attend(small("language_model"), "hi")
