"""MLX's own attention, as MLX 0.32 launches it on a Mac.

Read in mlx/backend/metal/scaled_dot_product_attention.cpp of its sources.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import mlx.core as mx
import numpy as np

from tests.kernels.mlx_metal import TYPES, Input, Launch, bytes_of

VECTOR = ("utils.h", "sdpa_vector.h")
TILED = ("utils.h", "steel/attn/kernels/steel_attention.h")

ATTENTION_PARAMETERS = np.dtype(
    [
        *((name, "i4") for name in ("B", "H", "D", "qL", "kL", "gqa_factor")),
        ("scale", "f4"),
        *((name, "i4") for name in ("NQ", "NK", "NQ_aligned", "NK_aligned", "qL_rem", "kL_rem", "qL_off")),
        *((name, "i8", 3) for name in ("Q_strides", "K_strides", "V_strides", "O_strides")),
    ],
    align=True,
)


@dataclass(frozen=True)
class Attention:
    """The arguments of an attention: row-contiguous q [B, H, T, dk], k [B, Hkv, S, dk], v [B, Hkv, S, dv].

    Args:
        mask: [B, H, T, S], boolean (true: may attend) or of the type of q (added).
        sinks: [H], of the type of q.
    """

    q: mx.array
    k: mx.array
    v: mx.array
    scale: float
    causal: bool = False
    mask: mx.array | None = None
    sinks: mx.array | None = None

    @property
    def n_sharing(self) -> int:
        """How many query heads share a key head."""
        return self.q.shape[1] // self.k.shape[1]

    @property
    def element(self) -> str:
        return TYPES[self.q.dtype]

    @property
    def has_boolean_mask(self) -> bool:
        return self.mask is not None and self.mask.dtype == mx.bool_


def n_blocks(attention: Attention, chip: str) -> int:
    """Into how many parts the first of two passes splits up to 8,192 keys."""
    n_simdgroups, S = attention.n_sharing * attention.q.shape[2], attention.k.shape[2]
    if chip == "s":
        return 128 if S > 1024 and n_simdgroups > 4 else 64
    if chip == "d":
        return 128
    return 64 if n_simdgroups >= 4 else 32


def vector_attention(a: Attention) -> Launch:
    """Up to 8 queries: a threadgroup a query and head, its 32 simdgroups taking turns at the keys."""
    B, H, T, dk = a.q.shape
    S, dv = a.v.shape[2:]
    return Launch(
        headers=VECTOR,
        kernel="sdpa_vector",
        arguments=f"{a.element}, {dk}, {dv}",
        inputs={
            **{0: a.q, 1: a.k, 2: a.v, 4: np.int32(a.n_sharing), 5: np.int32(S)},
            **_strides(a, 6),
            10: np.float32(a.scale),
            **_mask(a, 11),
            **({} if a.sinks is None else {16: a.sinks, 17: np.int32(H)}),
        },
        outputs={3: ((B, H, T, dv), a.q.dtype)},
        groups=(B * H, T, 1),
        threads=(1024, 1, 1),
        constants=_vector_constants(a),
    )


def first_pass(a: Attention, blocks: int) -> Launch:
    """Up to 8 queries: a threadgroup a key head and part of the keys, a simdgroup a query and query head."""
    B, H, T, dk = a.q.shape
    Hkv, S, dv = a.v.shape[1:]
    return Launch(
        headers=VECTOR,
        kernel="sdpa_vector_2pass_1",
        arguments=f"{a.element}, {dk}, {dv}",
        inputs={
            **{0: a.q, 1: a.k, 2: a.v, 7: np.int32(S)},
            **_strides(a, 8),
            12: np.float32(a.scale),
            **_mask(a, 13),
            **({} if a.sinks is None else {18: a.sinks}),
        },
        outputs={
            3: ((B, H, T, blocks, dv), a.q.dtype),
            4: ((B, H, T, blocks), mx.float32),
            5: ((B, H, T, blocks), mx.float32),
        },
        groups=(Hkv, B, blocks),
        threads=(32, a.n_sharing, T),
        constants=_vector_constants(a) | {26: blocks},
    )


def second_pass(partial: mx.array, sums: mx.array, maxima: mx.array) -> Launch:
    """What the first pass left, [B, H, T, blocks, dv] and twice [B, H, T, blocks], put together."""
    B, H, T, blocks, dv = partial.shape
    return Launch(
        headers=VECTOR,
        kernel="sdpa_vector_2pass_2",
        arguments=f"{TYPES[partial.dtype]}, {dv}",
        inputs={0: partial, 1: sums, 2: maxima, 4: np.int32(blocks)},
        outputs={3: ((B, H, T, dv), partial.dtype)},
        groups=(B * H, T, 1),
        threads=(1024, 1, 1),
    )


def tiled_attention(a: Attention) -> Launch:
    """More than 8 queries: a threadgroup 32 queries of a head, in four simdgroups; gives [B, T, H, dv]."""
    B, H, T, dk = a.q.shape
    S, dv = a.v.shape[2:]
    queries, keys = 32, 32 if dk < 128 else 16
    masked = {} if a.mask is None else {5: np.array(_strides_of(a.mask)[:3], np.int64), 6: a.mask}
    mask_element = a.element if a.mask is None else TYPES[a.mask.dtype]
    return Launch(
        headers=TILED,
        kernel="attention",
        arguments=f"{a.element}, {queries}, {keys}, {dk}, {dv}, 4, 1, {mask_element}, float",
        inputs={
            **{0: a.q, 1: a.k, 2: a.v, 4: _attention_parameters(a, queries, keys)},
            **masked,
            **({} if a.sinks is None else {7: a.sinks}),
        },
        outputs={3: ((B, T, H, dv), a.q.dtype)},
        groups=(math.ceil(T / queries), H, B),
        threads=(32, 4, 1),
        constants={
            **{200: T % queries == 0, 201: S % keys == 0},
            **{300: a.mask is not None, 301: a.causal, 302: a.sinks is not None, 303: False},
        },
    )


def _strides_of(array: mx.array) -> tuple[int, ...]:
    """The strides of a row-contiguous array, in elements."""
    return tuple(math.prod(array.shape[axis + 1 :]) for axis in range(array.ndim))


def _strides(a: Attention, first_index: int) -> dict[int, Input]:
    """From one head to the next, and from one key to the next, of keys and of values."""
    steps = [_strides_of(array)[axis] for array in (a.k, a.v) for axis in (1, 2)]
    return {first_index + i: np.uint64(step) for i, step in enumerate(steps)}


def _mask(a: Attention, first_index: int) -> dict[int, Input]:
    """The mask, in one buffer for booleans and in another for numbers, and its strides by key, query and head."""
    if a.mask is None:
        return {}
    by_head, by_query, by_key = _strides_of(a.mask)[1:]
    place = first_index + (not a.has_boolean_mask)
    strides = {first_index + 2 + i: np.int32(step) for i, step in enumerate((by_key, by_query, by_head))}
    return {place: a.mask, **strides}


def _vector_constants(a: Attention) -> dict[int, bool | int]:
    return {
        20: a.mask is not None,
        21: False,
        22: a.causal and a.q.shape[2] > 1,
        23: a.has_boolean_mask,
        24: a.mask is not None and not a.has_boolean_mask,
        25: a.sinks is not None,
    }


def _attention_parameters(a: Attention, queries: int, keys: int) -> np.ndarray:
    B, H, T, dk = a.q.shape
    S, dv = a.v.shape[2:]
    return bytes_of(
        ATTENTION_PARAMETERS,
        (
            *(B, H, dk, T, S, a.n_sharing, a.scale),
            *(math.ceil(T / queries), math.ceil(S / keys), T // queries, S // keys, T % queries, S % keys, S - T),
            *(_strides_of(array)[:3] for array in (a.q, a.k, a.v)),
            (T * H * dv, dv, H * dv),
        ),
    )
