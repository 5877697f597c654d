"""Our quantised cache holds the very bits that mlx-lm's does."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import pytest

from mlxdecoder.cache import KVCache, QuantizedKVCache

theirs = pytest.importorskip("mlx_lm.models.cache")


def drawn(length: int, dtype: mx.Dtype, seed: int) -> tuple[mx.array, mx.array]:
    keys, values = (mx.random.normal((2, 3, length, width), key=mx.random.key(seed + width)) for width in (128, 64))
    return keys.astype(dtype), values.astype(dtype)


def same(ours: Any, others: Any) -> bool:
    return all(
        mx.array_equal(array, other).item()
        for held, kept in zip(ours, others, strict=True)
        for array, other in zip(held, kept, strict=True)
    )


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_pieces_and_trims(bits: int, dtype: mx.Dtype) -> None:
    ours, other = QuantizedKVCache(64, bits), theirs.QuantizedKVCache(64, bits)
    for seed, length in enumerate((3, 1, 300, 2)):
        ours.update_and_fetch(*drawn(length, dtype, seed))
        assert same(ours.state, other.update_and_fetch(*drawn(length, dtype, seed)))
        assert (ours.offset, ours.nbytes) == (other.offset, other.nbytes)
        assert ours.trim(1) == other.trim(1)


def test_one_that_is_quantised_later() -> None:
    ours, other = KVCache(), theirs.KVCache()
    for cache in (ours, other):
        cache.update_and_fetch(*drawn(5, mx.float32, 0))
    later, kept = ours.to_quantized(), other.to_quantized()
    assert (later.bits, later.group_size, later.offset) == (kept.bits, kept.group_size, kept.offset)
    assert same(later.state, kept.keys_and_values())
