"""Thirty faults that were reported against other libraries, each held against ours for its whole kind.

Masks are written with 1 = may attend.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlx.utils import tree_map

from mlxdecoder.attention import attention
from mlxdecoder.beam import beam_search
from mlxdecoder.cache import KVCache, RotatingKVCache
from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.generate import generate
from mlxdecoder.ids import pad_left, pad_right
from mlxdecoder.masks import Causal, Documents, Padding, Window
from mlxdecoder.positions import make_positions
from mlxdecoder.prompt_cache import make_prompt_cache, trim_prompt_cache
from mlxdecoder.recipe import RIGHT, Layout, share_heads
from mlxdecoder.sampling import keep_top_p, make_sampler
from mlxdecoder.text.tokenizer import Tokenizer
from mlxdecoder.trace import Trace
from mlxdecoder.training.batches import Example, make_batch
from tests import reference
from tests.builders import POSITIONS, difference, ids, lively, normal, numbers, rows_of, small

MODULE = importlib.import_module("mlxdecoder.attention")
HALF_TYPES = [mx.float16, mx.bfloat16]


def drawn(mask: mx.array | None, T: int, S: int) -> list[str]:
    if mask is None:
        return ["1" * S] * T
    return ["".join("01"[int(cell)] for cell in row) for row in np.array(mask)[0, 0]]


# 1: pytorch#110144, mlx#2835: with a cache, the causal mask is aligned at the last key, not at the first.


@pytest.mark.parametrize("make", [KVCache, lambda: RotatingKVCache(8), lambda: RotatingKVCache(8, keep=2)])
def test_01_causal_mask_behind_cached_keys(make: Any) -> None:
    cache = make()
    cache.update_and_fetch(*[mx.zeros((1, 1, 4, 2))] * 2)
    assert drawn(cache.make_mask(2), 2, 6) == drawn(Causal().array(2, 6), 2, 6) == ["111110", "111111"]
    assert drawn(cache.make_mask(1), 1, 5) == drawn(Causal().array(1, 5), 1, 5) == ["11111"]
    values = mx.arange(6.0).reshape(1, 1, 6, 1)
    found = attention(mx.zeros((1, 1, 2, 1)), mx.zeros((1, 1, 6, 1)), values, Causal())
    np.testing.assert_allclose(numbers(found).ravel(), [2, 2.5])


# 2: hyprstream#1521, executorch#21749: several tokens at once on a cache that is not empty.


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("size", [None, 8, 3])
@pytest.mark.parametrize("fed", [1, 4, 7])
def test_02_two_tokens_at_once_equal_two_steps(positions: str, size: int | None, fed: int) -> None:
    model, new = small(positions=positions), ids(2, 2, seed=1)
    caches = [make_prompt_cache(model, size) for _ in range(2)]
    for cache in caches:
        model(ids(2, fed), cache)
    at_once = model(new, caches[0])
    in_steps = mx.concatenate([model(new[:, :1], caches[1]), model(new[:, 1:], caches[1])], axis=1)
    assert difference(at_once, in_steps) < 1e-5


# 3: pytorch#108108: more queries than keys leaves the first queries with nothing to see.


@settings(max_examples=25)
@given(st.integers(1, 4), st.integers(1, 4))
def test_03_more_queries_than_keys(S: int, more: int) -> None:
    T = S + more
    query, key, value = (mx.array(normal(1, 2, n, 4, seed=n)) for n in (T, S, S))
    output = attention(query, key, value, Causal())
    assert not numbers(output)[:, :, :more].any()
    square = attention(query[:, :, more:], key, value, Causal())
    np.testing.assert_allclose(numbers(output)[:, :, more:], numbers(square), atol=1e-6)
    gradients = mx.grad(lambda *x: attention(*x, Causal()).square().sum(), argnums=(0, 1, 2))(query, key, value)
    assert all(np.isfinite(numbers(gradient)).all() for gradient in gradients)


# 4: mlx#2395, pytorch#103963: a row that is masked altogether.


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("dtype", [mx.float32, *HALF_TYPES])
@pytest.mark.parametrize("row", range(4))
def test_04_fully_masked_row(monkeypatch: pytest.MonkeyPatch, fused: bool, dtype: mx.Dtype, row: int) -> None:
    monkeypatch.setattr(MODULE, "ON_METAL", fused)
    query, key, value = (mx.array(normal(1, 1, n, 4, seed=n)).astype(dtype) for n in (4, 2, 2))
    allowed = np.arange(4)[None, None, :, None] != row
    output = numbers(attention(query, key, value, mx.array(np.broadcast_to(allowed, (1, 1, 4, 2)))))
    whole = numbers(attention(query, key, value))
    others = [other for other in range(4) if other != row]
    assert not output[0, 0, row].any()
    np.testing.assert_allclose(output[0, 0, others], whole[0, 0, others], atol=1e-6 if dtype == mx.float32 else 0.02)


# 5: mlx-swift#275: zeros and ones are neither a boolean nor an additive mask.


@pytest.mark.parametrize("dtype", [mx.float32, *HALF_TYPES, mx.int32, mx.uint8])
def test_05_zeros_and_ones_are_refused(dtype: mx.Dtype) -> None:
    x = mx.zeros((1, 1, 3, 2))
    for mask in (mx.tril(mx.ones((3, 3))), mx.ones((3, 3))):
        with pytest.raises(UserError, match=r"mask.*boolean.*True = may attend.*additive.*-inf"):
            attention(x, x, x, mask[None, None].astype(dtype))


# 6: hyunwoongko/transformer#40: padding belongs on the axis of the keys.


@settings(max_examples=20)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=3))
def test_06_padding_masks_keys_not_queries(lengths: list[int]) -> None:
    tokens = [[7] * length + [0] * (5 - length) for length in lengths]
    mask = Padding.of(tokens, pad=0).allowed(np.arange(3), np.arange(5))
    assert mask.shape == (len(lengths), 1, 1, 5)
    np.testing.assert_array_equal(mask[:, 0, 0], np.array(tokens) == 7)
    assert Padding.of([[5, 7, 0, 0]], pad=0).allowed(np.arange(4), np.arange(4)).tolist() == [[[[1, 1, 0, 0]]]]


# 7: mlx-lm#1903: as many rows as key heads, so that a mask could be broadcast along the wrong axis.


@settings(max_examples=20)
@given(st.integers(1, 3), st.integers(1, 3), st.lists(st.integers(0, 3), min_size=2, max_size=2), st.booleans())
def test_07_mask_of_each_row_with_as_many_key_heads(B: int, group: int, lengths: list[int], fused: bool) -> None:
    lengths = [lengths[b % 2] for b in range(B)]
    query, key, value = (normal(B, n, 3, 4, seed=n) for n in (B * group, B, B))
    rule = reference.every([reference.causal, reference.right_padding(lengths, 3)])
    allowed = reference.grid(rule, B, range(3), range(3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MODULE, "ON_METAL", fused)
        found = attention(mx.array(query), mx.array(key), mx.array(value), mx.array(allowed))
    np.testing.assert_allclose(numbers(found), reference.attention(query, key, value, allowed), atol=1e-5)


# 8: where B = T, a padding mask [B, S] looks like a mask [T, S].


@pytest.mark.parametrize("shape", [(3,), (3, 3), (3, 3, 3)])
@pytest.mark.parametrize("dtype", [mx.bool_, mx.float32])
def test_08_masks_of_lower_rank_are_refused(shape: tuple[int, ...], dtype: mx.Dtype) -> None:
    x = mx.zeros((3, 3, 3, 2))
    with pytest.raises(UserError, match=r"mask: .*rank 4.*Padding"):
        attention(x, x, x, mx.zeros(shape, dtype))


# 9: apex#93, fairseq#3575: the lowest number of a half type, added twice, is -inf.


@pytest.mark.parametrize("dtype", [mx.float32, *HALF_TYPES])
@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("times", [1, 2])
def test_09_lowest_number_as_a_mask(monkeypatch: pytest.MonkeyPatch, dtype: mx.Dtype, fused: bool, times: int) -> None:
    monkeypatch.setattr(MODULE, "ON_METAL", fused)
    x = mx.array(normal(1, 1, 3, 4)).astype(dtype)
    allowed = mx.array([[[[1, 0, 0], [1, 1, 0], [0, 0, 0]]]]) == 1
    once = mx.where(allowed, 0, mx.array(mx.finfo(dtype).min, dtype))
    found = attention(x, x, x, once * times)
    np.testing.assert_allclose(numbers(found), numbers(attention(x, x, x, allowed)), atol=1e-2)
    assert np.isfinite(numbers(found)).all()


# 10: MFA#8, ultralytics#24990: sums of half-type products that overflow.


@pytest.mark.parametrize("width", [16, 64, 128])
@pytest.mark.parametrize("dtype", [mx.float32, *HALF_TYPES])
def test_10_large_queries_and_keys(dtype: mx.Dtype, width: int) -> None:
    x = mx.full((1, 1, 3, width), 300, dtype)
    value = mx.array([1.0, 2, 6]).reshape(1, 1, 3, 1).astype(dtype)
    np.testing.assert_allclose(numbers(attention(x, x, value)).ravel(), [3, 3, 3], rtol=4e-3)
    gradients = mx.grad(lambda *x: attention(*x).astype(mx.float32).sum(), argnums=(0, 1, 2))(x, x, value)
    assert all(np.isfinite(numbers(gradient)).all() for gradient in gradients)


# 11: mlx#3494, mlx#3795: a rotation with an offset treats the rows of a batch differently.


@pytest.mark.parametrize("T", [1, 3])
@pytest.mark.parametrize("offset", [0, 1, 6, 1000])
@pytest.mark.parametrize("per_row", [False, True])
def test_11_equal_rows_stay_equal_when_rotated(T: int, offset: int, per_row: bool) -> None:
    config = ModelConfig(positions="rotary", d_model=32, n_heads=4)
    x, slots = normal(1, 4, T, 8), np.arange(offset, offset + T)
    rotation = make_positions(config, causal=True).rotation(np.stack([slots, slots]) if per_row else slots)
    assert rotation is not None
    found = numbers(rotation(mx.array(np.repeat(x, 2, axis=0))))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(found[1, 3], reference.turn(x[0, 3], slots), atol=1e-5)


# 12: onnx#7274: key heads are repeated, not tiled.


@pytest.mark.parametrize(("n_heads", "shared"), [(4, 2), (6, 2), (6, 3), (4, 1), (3, 3)])
@pytest.mark.parametrize("fused", [False, True])
def test_12_heads_of_a_group_stand_together(
    monkeypatch: pytest.MonkeyPatch, n_heads: int, shared: int, fused: bool
) -> None:
    monkeypatch.setattr(MODULE, "ON_METAL", fused)
    values = mx.arange(float(shared)).reshape(1, shared, 1, 1)
    wanted = [head // (n_heads // shared) for head in range(n_heads)]
    assert share_heads(values, n_heads).flatten().tolist() == wanted
    query, key = mx.zeros((1, n_heads, 1, 1)), mx.zeros((1, shared, 1, 1))
    assert attention(query, key, values).flatten().tolist() == wanted


# 13, 14: mlx-lm#1906, OpenNMT-py#2532: short rows of a batch, at the prompt and at each step after it.


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("options", [{}, {"window": 4}])
@pytest.mark.parametrize("cached", [True, False])
def test_13_14_short_prompt_beside_a_long_one(positions: str, options: dict[str, Any], cached: bool) -> None:
    model, prompts = small(positions=positions, **options), rows_of([12, 3])
    layout = Layout(target=Padding.left([12, 3], 12))
    together, alone = pad_left(prompts, 0), np.array(prompts[1:])
    caches = [make_prompt_cache(model) if cached else None for _ in range(2)]
    for seed in range(4):
        found = model(together, caches[0], layout)[1, -1]
        assert difference(found, model(alone, caches[1])[0, -1]) < 5e-6
        new = ids(2, 1, seed=seed)
        together = new if cached else np.concatenate([together, new], axis=1)
        alone = new[1:] if cached else np.concatenate([alone, new[1:]], axis=1)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_13_14_short_source_beside_a_long_one(positions: str, side: str) -> None:
    model, sources = small("translator", positions=positions), rows_of([12, 3])
    layout = Layout(source=(Padding.left if side == "left" else Padding.right)([12, 3], 12))
    memories = [
        model.encode((pad_left if side == "left" else pad_right)(sources, 0), layout), model.encode(sources[1:])
    ]  # fmt: skip
    caches = [make_prompt_cache(model) for _ in range(2)]
    for seed in range(3):
        new = ids(2, 1, seed=seed)
        found = model.decode(new, memories[0], caches[0])
        assert difference(found[1], model.decode(new[1:], memories[1], caches[1])[0]) < 5e-6


# 15: litgpt#2182: a prompt longer than the window.


@settings(max_examples=25)
@given(st.integers(1, 5), st.integers(1, 9))
def test_15_window_shorter_than_the_prompt(window: int, length: int) -> None:
    trace, model = Trace(), small(window=window)
    logits = model(ids(1, length), make_prompt_cache(model), watch=trace)
    assert np.isfinite(numbers(logits)).all()
    band = [[0 <= q - k < window for k in range(length)] for q in range(length)]
    np.testing.assert_array_equal(trace.stage("decoder") > 0, np.broadcast_to(band, (2, 4, length, length)))
    np.testing.assert_array_equal(np.array((Causal() & Window(window)).array(length))[0, 0], band)


# 16: mlx-swift-lm#39: several tokens at once into a full rotating cache.


def test_16_rotating_cache_hands_out_what_the_earliest_query_still_sees() -> None:
    cache = RotatingKVCache(4)
    tokens = mx.arange(5.0).reshape(1, 1, 5, 1)
    cache.update_and_fetch(tokens[:, :, :3], tokens[:, :, :3])
    assert drawn(cache.make_mask(2), 2, 5) == ["11110", "01111"]
    keys, _ = cache.update_and_fetch(tokens[:, :, 3:], tokens[:, :, 3:])
    assert keys.flatten().tolist() == [0, 1, 2, 3, 4]
    assert drawn(cache.make_mask(1), 1, 4) == ["1111"]


# 17: transformers#45940: room in a cache that is not filled yet, or not any more.


@settings(max_examples=20)
@given(st.integers(1, 7), st.integers(0, 6))
def test_17_empty_places_get_no_weight(filled: int, taken_back: int) -> None:
    model, trace = small(), Trace()
    cache, taken_back = make_prompt_cache(model), min(taken_back, filled - 1)
    model(ids(1, filled), cache)
    trim_prompt_cache(cache, taken_back)
    model(ids(1, 1), cache, watch=trace)
    weights = trace.stage("decoder")
    assert weights.shape[-1] == filled - taken_back + 1
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)


def test_17_a_mask_over_the_room_of_a_cache() -> None:
    key, value = (mx.where(mx.arange(8)[:, None] < 3, mx.array(normal(1, 1, 8, 2, seed=s)), 1e4) for s in (0, 1))
    query = mx.array(normal(1, 1, 1, 2, seed=2))
    found = attention(query, key, value, Padding.right([3], 8))
    assert difference(found, attention(query, key[:, :, :3], value[:, :, :3])) < 1e-6


# 18: x-transformers#311: cross-attention with a cache and without.


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_18_cross_attention_with_a_cache(layers: int, norm: str) -> None:
    model, target = small("translator", n_layers=layers, norm=norm), ids(3, 10, seed=1)
    memory, cache = model.encode(ids(3, 10)), make_prompt_cache(model)
    found = mx.concatenate([model.decode(target[:, t : t + 1], memory, cache) for t in range(10)], axis=1)
    assert difference(found, model.decode(target, memory)) < 1e-5


# 19: transformers#46111: the window of the decoder is none of cross-attention's.


@settings(max_examples=20)
@given(st.integers(1, 4), st.integers(1, 8), st.integers(1, 8), st.booleans())
def test_19_cross_attention_sees_the_whole_source(window: int, S: int, T: int, cached: bool) -> None:
    model, trace = small("translator", window=window), Trace()
    cache = make_prompt_cache(model) if cached else None
    model.decode(ids(1, T), model.encode(ids(1, S)), cache, watch=trace)
    assert (trace.stage("cross") > 0).all()
    assert trace.stage("cross").shape == (2, 4, T, S)


# 20: nanoVLM#204, transformers#46634: packed documents see each other.


@pytest.mark.parametrize("architecture", ["language_model", "encoder"])
@pytest.mark.parametrize("positions", POSITIONS)
def test_20_other_documents_of_a_row_change_nothing(architecture: str, positions: str) -> None:
    model, documents = small(architecture, positions=positions), Documents(((0, 0, 0, 0, 1, 1),))
    layout = Layout(source=documents, target=documents)
    tokens = np.array([[5, 6, 7, 3, 8, 9]])
    before = numbers(model(tokens, layout=layout))
    tokens[:, :3] = 10, 11, 12
    after = numbers(model(tokens, layout=layout))
    np.testing.assert_array_equal(before[:, 4:], after[:, 4:])
    assert difference(mx.array(before[:, 4:]), model([[8, 9]])) < 1e-5


# 21: transformers#18976: top_p keeps the smallest set that holds the mass, whatever rounding does to the sum.


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 0, 1, 2), (1, 2, 0, 3)])
def test_21_top_p_at_the_edge(order: Sequence[int]) -> None:
    probabilities = np.array([0.3, 0.1, 0.1, 0.5], np.float32)[list(order)]
    left = numbers(keep_top_p(mx.log(mx.array(probabilities[None])), 0.8))[0] > -np.inf
    np.testing.assert_array_equal(left, probabilities > 0.2)


# 22: nanoGPT#738: temperature zero.


@settings(max_examples=20)
@given(st.integers(0, 99))
def test_22_temperature_zero_is_the_best_token(seed: int) -> None:
    logprobs = normal(3, 9, seed=seed) * 50
    assert make_sampler(temp=0.0, seed=seed)(mx.array(logprobs)).tolist() == logprobs.argmax(axis=-1).tolist()


# 23: transformers#26624: the score of a hypothesis is that of what was generated, not of its prompt or padding.


@settings(max_examples=20)
@given(st.lists(st.integers(1, 7), min_size=1, max_size=3), st.integers(1, 4), st.sampled_from([0.0, 1.0, 2.0]))
@pytest.mark.parametrize("architecture", ["language_model", "translator"])
def test_23_uniform_model(architecture: str, lengths: list[int], beam: int, penalty: float) -> None:
    model = small(architecture, target_vocab=8)
    model.update(tree_map(mx.zeros_like, model.parameters()))
    inputs = rows_of(lengths, high=8)
    found = beam_search(model, inputs, beam=beam, n_best=beam, max_tokens=4, length_penalty=penalty)
    for generation in [generation for search in found for generation in search] + generate(model, inputs, max_tokens=4):
        length = len(generation.tokens) + (generation.finish_reason == "stop")
        assert generation.logprob == pytest.approx(-length * np.log(8), rel=1e-5)
    for search in found:
        lengths_said = [len(generation.tokens) + (generation.finish_reason == "stop") for generation in search]
        wanted = [-(length ** (1 - penalty)) * np.log(8) for length in lengths_said]
        np.testing.assert_allclose([generation.score for generation in search], wanted, rtol=1e-5)


# 24: transformers#46612: the caches follow the hypotheses at each step.


@pytest.mark.parametrize("architecture", ["language_model", "translator"])
@pytest.mark.parametrize("window", [None, 3])
def test_24_caches_follow_the_beam(architecture: str, window: int | None) -> None:
    model = lively(architecture, seed=3, target_vocab=9, window=window)
    inputs, moved = rows_of([5, 2], high=9), False
    for row, search in zip(inputs, beam_search(model, inputs, beam=3, n_best=3, max_tokens=7), strict=True):
        for generation in search:
            moved |= len(set(generation.path)) > 1
            said = [*generation.tokens, *([3] if generation.finish_reason == "stop" else [])]
            if architecture == "translator":
                logits = numbers(model([row], [[2, *said[:-1]]]))[0]
            else:
                logits = numbers(model([[*row, *said[:-1]]]))[0, len(row) - 1 :]
            wanted = reference.log_softmax(logits)[np.arange(len(said)), said].sum()
            assert generation.logprob == pytest.approx(wanted, abs=1e-3)
    assert moved


# 25: gpt-2#121, mlx#206: ids outside the vocabulary, and sequences longer than the table of positions.


@pytest.mark.parametrize("architecture", ["encoder", "language_model", "translator"])
@pytest.mark.parametrize("wrong", [4, 100, -1])
def test_25_ids_outside_the_vocabulary(architecture: str, wrong: int) -> None:
    model = small(architecture, target_vocab=4)
    for arguments in ([[1, wrong]], [[1, 1]]), ([[1, 1]], [[1, wrong]]):
        if architecture == "translator" or arguments[0] == [[1, wrong]]:
            with pytest.raises(UserError, match=rf"id {wrong} found, ids from 0 to 3 wanted"):
                model(*arguments[: 2 if architecture == "translator" else 1])


@pytest.mark.parametrize("architecture", ["encoder", "language_model", "translator"])
def test_25_longer_than_the_table_of_positions(architecture: str) -> None:
    model = small(architecture, positions="learned", max_length=4)
    arguments = (ids(1, 4), ids(1, 4)) if architecture == "translator" else (ids(1, 4),)
    model(*arguments)
    with pytest.raises(UserError, match=r"5 positions.*max_length = 4"):
        model(ids(1, 5), *arguments[1:])


def test_25_longer_than_the_table_of_positions_by_way_of_a_cache() -> None:
    model = small(positions="learned", max_length=4)
    cache = make_prompt_cache(model)
    model(ids(1, 4), cache)
    with pytest.raises(UserError, match=r"5 positions.*max_length = 4"):
        model(ids(1, 1), cache)


# 26: OpenNMT-py#1094: a batch of one keeps its axis.


@pytest.mark.parametrize("B", [1, 2])
@pytest.mark.parametrize("T", [1, 3])
def test_26_batch_of_one(B: int, T: int) -> None:
    assert small("encoder")(ids(B, T)).shape == (B, T, 16)
    assert small("encoder", pooling="mean", n_classes=2)(ids(B, T)).shape == (B, 2)
    assert small()(ids(B, T)).shape == (B, T, 24)
    assert small("translator")(ids(B, T), ids(B, T)).shape == (B, T, 24)
    inputs = ids(B, T, high=9).tolist()
    for architecture in ("language_model", "translator"):
        model = lively(architecture, target_vocab=9)
        assert len(generate(model, inputs, max_tokens=2)) == len(beam_search(model, inputs, max_tokens=2)) == B


# 27: transformers#47394: position t predicts token t + 1, shifted once.


@settings(max_examples=25)
@given(st.lists(st.lists(st.integers(4, 23), max_size=6), min_size=1, max_size=4))
def test_27_labels_are_shifted_once(targets: list[list[int]]) -> None:
    config = small("translator").config
    batch = make_batch([Example((5, 6), tuple(target)) for target in targets], config, RIGHT)
    for row, target in enumerate(targets):
        n = len(target) + 1
        assert batch.inputs[row, :n].tolist() == [config.begin_id, *target]
        assert batch.labels[row, :n].tolist() == [*target, config.end_id]
        assert batch.weights[row].tolist() == [1] * n + [0] * (batch.labels.shape[1] - n)


# 28: keras-io#1046: cross-attention goes by the padding of the source, not by that of the target.


@settings(max_examples=20)
@given(st.integers(1, 5), st.integers(1, 5))
def test_28_source_and_target_padded_differently(of_source: int, of_target: int) -> None:
    model, source, target = small("translator"), rows_of([6, of_source]), rows_of([6, of_target], seed=1)
    layout = Layout(source=Padding.right([6, of_source], 6), target=Padding.right([6, of_target], 6))
    found = model(pad_right(source, 0), pad_right(target, 0), layout)
    assert difference(found[1, :of_target], model(source[1:], target[1:])[0]) < 1e-5


# 29: a cache that served another sentence.


@pytest.mark.parametrize("fed", [1, 3])
@pytest.mark.parametrize("taken_back", [True, False])
def test_29_second_sentence_with_the_same_cache(fed: int, taken_back: bool) -> None:
    """An error while the old target is there, a fresh start behind nothing; never the old source."""
    model = small("translator")
    cache = make_prompt_cache(model)
    model.decode(ids(1, fed), model.encode(ids(1, 4)), cache)
    if taken_back:
        trim_prompt_cache(cache, fed)
    memory = model.encode(ids(1, 5, seed=1))
    if taken_back:
        assert difference(model.decode([[2, 5]], memory, cache), model.decode([[2, 5]], memory)) < 1e-5
    else:
        with pytest.raises(UserError, match="cache: holds tokens of another source"):
            model.decode([[2, 5]], memory, cache)


@pytest.mark.parametrize("architecture", ["language_model", "translator"])
def test_29_one_batch_after_another(architecture: str) -> None:
    model, inputs = lively(architecture, target_vocab=9), rows_of([4, 2, 5], high=9)
    alone = [generate(model, [row], max_tokens=5)[0].tokens for row in inputs]
    assert [generate(model, [row], max_tokens=5)[0].tokens for row in inputs[::-1]] == alone[::-1]
    assert [search[0].tokens for search in beam_search(model, inputs, beam=1, max_tokens=5)] == alone


# 30: nothing to translate, hardly anything, and nothing but unknown characters.


@pytest.mark.parametrize("architecture", ["language_model", "translator"])
def test_30_nothing_and_hardly_anything(architecture: str) -> None:
    model = lively(architecture, target_vocab=9)
    for run in (generate, beam_search):
        for inputs in ([], [[]], [[5], []]):
            with pytest.raises(UserError, match=r"inputs: .*at least one"):
                run(model, inputs)
        assert len(run(model, [[5]], max_tokens=3)) == 1
    if architecture == "translator":
        with pytest.raises(UserError, match="source: no tokens"):
            model.encode(np.zeros((1, 0), np.int32))


@pytest.mark.parametrize("text", ["語", "😀", "Ω\u202f!"])
@pytest.mark.parametrize("architecture", ["language_model", "translator"])
def test_30_only_unknown_characters(architecture: str, text: str) -> None:
    tokenizer = Tokenizer.train(["the cat sleeps", "a dog eats", "the dog sleeps"], vocab_size=300)
    encoded = tokenizer.encode(text)
    assert tokenizer.decode(encoded) == text
    model = lively(architecture, target_vocab=tokenizer.vocab_size)
    found = generate(model, [encoded], max_tokens=4)[0]
    assert 0 <= len(found.tokens) <= 4
    assert isinstance(tokenizer.decode(found.tokens), str)
