"""The quantised cache: no number off by more than a step, whatever was fed in which pieces, taken back or reordered."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder import generate
from mlxdecoder.attention import attention
from mlxdecoder.cache import KVCache, QuantizedKVCache
from mlxdecoder.errors import UserError
from mlxdecoder.masks import Causal
from mlxdecoder.prompt_cache import load_prompt_cache, make_prompt_cache, save_prompt_cache
from tests.builders import difference, ids, lively, normal, numbers

BITS = [2, 3, 4, 5, 6, 8]


@st.composite
def pairs(draw: Callable[..., Any], tokens: int = 6) -> tuple[mx.array, mx.array]:
    """Keys and values of unlike sizes, some of them constant, which leaves no range to divide."""
    shape = (draw(st.integers(1, 2)), draw(st.integers(1, 2)), tokens)
    seed, size = draw(st.integers(0, 99)), 10.0 ** draw(st.integers(-3, 3))
    keys, values = size * normal(*shape, 64, seed=seed) + draw(st.sampled_from([0, 5])), normal(*shape, 128, seed=seed)
    values[..., :32] = draw(st.sampled_from([0, 3]))
    return mx.array(keys), mx.array(values)


def steps(x: mx.array, group_size: int, bits: int) -> np.ndarray:
    """The range of each group divided by what is between the numbers that `bits` can tell, for each feature."""
    groups = numbers(x).reshape(*x.shape[:-1], -1, group_size)
    step = np.ptp(groups, axis=-1, keepdims=True) / (2**bits - 1)
    return np.broadcast_to(step, groups.shape).reshape(x.shape)


def unpack(held: tuple[mx.array, mx.array, mx.array], group_size: int, bits: int) -> np.ndarray:
    """Numbers of `bits` each, lowest first in a row of bytes, times the scale of their group, plus its bias."""
    packed, scales, biases = (np.array(array) for array in held)
    raw = np.unpackbits(packed.view(np.uint8), axis=-1, bitorder="little")
    codes = raw.reshape(*packed.shape[:-1], -1, group_size, bits) @ (1 << np.arange(bits))
    return (codes * scales[..., None] + biases[..., None]).reshape(*packed.shape[:-1], -1)


@settings(max_examples=40)
@given(pairs(), st.sampled_from([32, 64]), st.sampled_from(BITS))
def test_no_number_is_off_by_more_than_a_step(pair: tuple[mx.array, mx.array], group_size: int, bits: int) -> None:
    cache = QuantizedKVCache(group_size, bits)
    for given_array, found in zip(pair, cache.update_and_fetch(*pair), strict=True):
        bound = steps(given_array, group_size, bits) + 1e-5 * np.abs(numbers(given_array)).max() + 1e-6
        assert (np.abs(numbers(found) - numbers(given_array)) <= bound).all()


@settings(max_examples=30)
@given(pairs(), st.sampled_from([32, 64]), st.sampled_from(BITS))
def test_what_is_handed_out_is_what_the_bits_say(pair: tuple[mx.array, mx.array], group_size: int, bits: int) -> None:
    cache = QuantizedKVCache(group_size, bits)
    found = cache.update_and_fetch(*pair)
    assert cache.state is not None
    for held, array in zip(cache.state, found, strict=True):
        wanted = unpack(held, group_size, bits)
        np.testing.assert_allclose(numbers(array), wanted, atol=1e-6 * np.abs(wanted).max())


@settings(max_examples=30)
@given(pairs(9), st.lists(st.integers(1, 3), min_size=3, max_size=3), st.integers(1, 3), st.sampled_from([4, 8]))
def test_pieces_and_trims_and_reordering_change_nothing(
    pair: tuple[mx.array, mx.array], pieces: list[int], taken_back: int, bits: int
) -> None:
    whole, cache = QuantizedKVCache(32, bits), QuantizedKVCache(32, bits)
    first = 0
    for piece in pieces:
        cache.update_and_fetch(*(mx.ones_like(x[..., :taken_back, :]) for x in pair))
        assert cache.trim(taken_back) == taken_back
        found = cache.update_and_fetch(*(x[..., first : first + piece, :] for x in pair))
        first += piece
        assert cache.offset == first
    rows = [0, len(pair[0]) - 1, 0]
    cache.reorder(rows)
    wanted = whole.update_and_fetch(*(x[mx.array(rows), :, :first] for x in pair))
    after = cache.update_and_fetch(*(x[mx.array(rows), :, :1] for x in pair))
    for i in range(2):
        np.testing.assert_array_equal(numbers(after[i][..., :first, :]), numbers(wanted[i]))
        np.testing.assert_array_equal(numbers(found[i][mx.array(rows)]), numbers(wanted[i]))


@settings(max_examples=20)
@given(st.integers(0, 99), st.sampled_from([4, 6, 8]))
def test_attention_is_off_by_no_more_than_follows_from_a_step(seed: int, bits: int) -> None:
    """A score moves by |q| steps of the keys at most, a weight by twice that in its logarithm."""
    query, key, value = (mx.array(normal(2, 4, 5, 32, seed=seed + i)) for i in range(3))
    found = attention(query, *QuantizedKVCache(32, bits).update_and_fetch(key, value), Causal())
    step_of_keys, step_of_values = (steps(x, 32, bits).max() for x in (key, value))
    moved = np.abs(numbers(query)).sum(axis=-1).max() * step_of_keys / math.sqrt(32)
    bound = math.expm1(2 * moved) * np.abs(numbers(value)).max() + step_of_values
    assert np.abs(numbers(found) - numbers(attention(query, key, value, Causal()))).max() <= bound


@pytest.mark.parametrize(("bits", "group_size", "bytes_a_number"), [(4, 32, 0.75), (8, 64, 1.125), (8, 32, 1.25)])
def test_bytes_held_follow_from_the_shapes(bits: int, group_size: int, bytes_a_number: float) -> None:
    """A scale and a bias of four bytes each for every group, in room for 32 tokens at a time."""
    cache = QuantizedKVCache(group_size, bits)
    assert cache.nbytes == 0
    for fed, room in ((1, 32), (31, 32), (1, 64)):
        cache.update_and_fetch(mx.zeros((2, 3, fed, 64)), mx.zeros((2, 3, fed, 128)))
        assert cache.nbytes == 2 * 3 * room * (64 + 128) * bytes_a_number


def test_half_types_are_kept_as_such() -> None:
    found = QuantizedKVCache().update_and_fetch(*(mx.ones((1, 1, 2, 64), mx.float16) for _ in range(2)))
    assert [array.dtype for array in found] == [mx.float16, mx.float16]


def quantised(model: Any, bits: int) -> list[QuantizedKVCache]:
    return [layer.to_quantized(32, bits) for layer in make_prompt_cache(model)]


def test_a_cache_that_is_quantised_later_holds_the_same() -> None:
    model, tokens = lively(head_width=32, positions="rotary"), ids(2, 7)
    early, late = quantised(model, 8), make_prompt_cache(model)
    model(tokens[:, :4], late)
    found = late[0].to_quantized(32, 8)
    model(tokens[:, :4], early)
    for one, other in zip(found.state, early[0].state, strict=True):
        for array, wanted in zip(one, other, strict=True):
            np.testing.assert_array_equal(np.array(array), np.array(wanted))


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_a_model_in_eight_bits_says_nearly_the_same(kv_heads: int) -> None:
    model, tokens = lively(head_width=32, positions="rotary", n_kv_heads=kv_heads), ids(2, 12)
    exact = model(tokens)
    errors = []
    for bits in (2, 4, 8):
        cache = quantised(model, bits)
        pieces = [model(tokens[:, i : i + 3], cache) for i in range(0, 12, 3)]
        errors.append(difference(mx.concatenate(pieces, axis=1), exact))
    assert errors[0] > errors[1] > errors[2] > 0
    assert errors[2] < 0.03 * numbers(exact).std()


class TestGenerating:
    def test_tokens_are_those_of_quantised_caches(self) -> None:
        model, prompts = lively(head_width=64, positions="rotary"), [[5, 6, 7], [9, 8, 7]]
        by_hand = [KVCache().to_quantized(bits=2), KVCache().to_quantized(bits=2)]
        found = generate(model, prompts, max_tokens=20, kv_bits=2)
        assert found == generate(model, prompts, max_tokens=20, prompt_cache=by_hand)
        assert by_hand[0].offset == 3 + 20 - 1
        assert found != generate(model, prompts, max_tokens=20)

    def test_a_translator_too(self) -> None:
        model, sources = lively("translator", head_width=32), [[5, 6, 7, 8], [9]]
        few, many = (generate(model, sources, max_tokens=12, kv_bits=bits, kv_group_size=32) for bits in (2, 8))
        assert [one.tokens for one in many] == [one.tokens for one in generate(model, sources, max_tokens=12)]
        assert [one.logprob for one in few] != [one.logprob for one in many]

    def test_what_cannot_be_is_refused(self) -> None:
        narrow, wide = lively(head_width=16), lively(head_width=32)
        with pytest.raises(UserError, match="head width 16"):
            generate(narrow, [[5]], kv_bits=8)
        with pytest.raises(UserError, match="group_size = 64.*head width 32"):
            generate(wide, [[5]], kv_bits=8)
        with pytest.raises(UserError, match="bits = 7"):
            generate(wide, [[5]], kv_bits=7)
        with pytest.raises(UserError, match="bounded"):
            generate(wide, [[5]], kv_bits=8, max_kv_size=4)
        with pytest.raises(UserError, match="kv_bits: .*this model's window of 5 tokens bounds its caches"):
            generate(lively(head_width=32, window=5), [[5]], kv_bits=8)
        with pytest.raises(UserError, match="kv_bits"):
            generate(wide, [[5]], kv_bits=8, prompt_cache=make_prompt_cache(wide))
        with pytest.raises(UserError, match="group_size = 48"):
            QuantizedKVCache(group_size=48)
        with pytest.raises(UserError, match="already"):
            QuantizedKVCache().to_quantized()


@pytest.mark.parametrize("fed", [0, 5])
def test_saved_and_loaded_it_goes_on_as_if_never_saved(tmp_path: Path, fed: int) -> None:
    model = lively(head_width=32, positions="rotary")
    cache = quantised(model, 4)
    if fed:
        model(ids(2, fed), cache)
    save_prompt_cache(tmp_path / "cache.safetensors", cache)
    loaded = load_prompt_cache(tmp_path / "cache.safetensors")
    assert [layer.offset for layer in loaded] == [fed, fed]
    more = ids(2, 3, seed=1)
    np.testing.assert_array_equal(numbers(model(more, loaded)), numbers(model(more, cache)))


def test_a_cache_of_another_batch_is_refused() -> None:
    model = lively(head_width=32)
    cache = quantised(model, 8)
    model(ids(2, 3), cache)
    with pytest.raises(UserError, match="cache"):
        model(ids(1, 1), cache)
