"""Rotary positions by a kernel: the queries and the keys of a layer in one launch."""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx

from mlxdecoder.kernels import mode
from mlxdecoder.kernels.launch import Groups, Output, launch
from mlxdecoder.kernels.mode import Place

Pair = tuple[mx.array, mx.array]
THREADS = 256  # a threadgroup


def rotate_both(query: mx.array, key: mx.array, cosine: mx.array, sine: mx.array) -> Pair:
    """Turn the pairs (i, i + dh / 2) of queries [B, H, T, dh] and keys [B, Hkv, T, dh], unchecked.

    `cosine` and `sine` [T, dh / 2] or [B, 1, T, dh / 2] are those of the angles. The gradient is a turn back.
    """

    place = mode.place()

    @mx.custom_function
    def turn(query: mx.array, key: mx.array) -> Pair:
        return _turn(query, key, cosine, sine, place)

    @turn.vjp
    def turn_back(primals: Sequence[mx.array], cotangents: Sequence[mx.array], outputs: object) -> Pair:
        return _turn(cotangents[0], cotangents[1], cosine, -sine, place)

    turned: Pair = turn(query, key)
    return turned


def _turn(query: mx.array, key: mx.array, cosine: mx.array, sine: mx.array, place: Place) -> Pair:
    B, H, T, width = query.shape
    n_heads = H + key.shape[1]
    angles = (mx.broadcast_to(wave, (B, 1, T, width // 2)) for wave in (cosine, sine))
    inputs = {"query": query, "key": key, **dict(zip(("cosine", "sine"), angles, strict=True))}
    outputs = {"turned_query": Output(query.shape, query.dtype), "turned_key": Output(key.shape, key.dtype)}
    template = {"Element": query.dtype, "HALF": width // 2}
    pairs = B * n_heads * T * (width // 2)
    groups = Groups((-(-pairs // THREADS), 1, 1), THREADS)
    turned_query, turned_key = launch("rotary", inputs, outputs, template, groups, place)
    return turned_query, turned_key
