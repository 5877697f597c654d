"""The work that MLX's own attention does for B = 1, H = 4 in float16, counted in the emulator launch by launch.

Fused, where MLX has a kernel for the head width (64 and up), and otherwise as mlx/fast.cpp writes it out in primitives:
multiply by the scale, matrix product, for a causal mask two ranges, their comparison and a selection, softmax, matrix
product. Each primitive is a launch. Products and softmax are counted; the others read each input once and write each
output once, which is the least that they can do. Views, such as transposing and broadcasting, launch nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Literal

import mlx.core as mx
import numpy as np

from mlxdecoder.kernels.emulator.work import Traffic, Work
from tests.kernels import mlx_attention, mlx_metal
from tests.kernels.mlx_attention import Attention
from tests.kernels.mlx_metal import Launch

Kind = Literal["tiled", "vector", "two passes", "unfused", "unfused at least"]
B, H = 1, 4
HALF, INTEGER, BOOLEAN = 2, 4, 1  # bytes

TILED_WIDTHS = (64, 72, 80, 96, 128)
VECTOR_WIDTHS = (64, 96, 128, 256)


def mlx_kind(T: int, S: int, dk: int, chip: str = "g") -> Kind:
    """Which way MLX goes for T queries of as many heads as there are key heads; arguments as in `mlx_work`."""
    if dk not in (TILED_WIDTHS if T > 8 else VECTOR_WIDTHS):
        return "unfused"
    if T > 8:
        return "tiled"
    return "two passes" if chip in "sd" and S >= 1024 else "vector"


def mlx_work(kind: Kind, T: int, S: int, dk: int, causal: bool = False, chip: str = "g") -> Work:
    """What MLX does for T queries and S keys of width dk.

    Args:
        kind: "tiled", "vector" or "two passes" for its fused kernels, whose widths are multiples of 8 and of 32;
            "unfused" otherwise; "unfused at least" if products and softmax moved no byte twice either.
        T: queries.
        S: keys.
        dk: the head width, of values too.
        causal: whether a query sees no key behind its own place.
        chip: the last letter of its architecture, which decides on the size of parts and tiles; see mlx_metal.

    Raises:
        NotThere: the headers were not fetched.
    """
    return total(list(_works(kind, T, S, dk, causal, chip).values()))


def n_launches(kind: Kind, causal: bool) -> int:
    """How many kernels MLX launches."""
    return {"tiled": 1, "vector": 1, "two passes": 2}.get(kind, 4 + 4 * causal)


def total(works: Sequence[Work]) -> Work:
    """Several launches as one: buffers are named with the number of the launch; threadgroup memory is the largest."""
    merged = {
        name: {f"{i} {key}": value for i, work in enumerate(works) for key, value in getattr(work, name).items()}
        for name in ("device", "constant", "threadgroup")
    }
    counts = {field.name: sum(getattr(work, field.name) for work in works) for field in fields(Work)[len(merged) :]}
    return Work(**merged, **counts | {"threadgroup_bytes": max(work.threadgroup_bytes for work in works)})


def _works(kind: Kind, T: int, S: int, dk: int, causal: bool, chip: str) -> Mapping[str, Work]:
    if kind == "unfused at least":
        return {name: _moving(*bytes_) for name, bytes_ in primitives(T, S, dk, causal).items()}
    q, k, v = (numbers(B, H, length, dk, seed=length) for length in (T, S, S))
    a = Attention(q, k, v, scale=dk**-0.5, causal=causal)
    if kind == "tiled":
        return {kind: _work(mlx_attention.tiled_attention(a))}
    if kind == "vector":
        return {kind: _work(mlx_attention.vector_attention(a))}
    if kind == "two passes":
        parts, first = mlx_metal.run(mlx_attention.first_pass(a, mlx_attention.n_blocks(a, chip)))
        return {"first": first, "second": _work(mlx_attention.second_pass(parts[0], parts[1], parts[2]))}
    return _unfused(a, chip)


def primitives(T: int, S: int, dk: int, causal: bool) -> dict[str, tuple[int, int]]:
    """The bytes that each primitive of the unfused path must at least read, and write."""
    queries, keys, scores = B * H * T * dk * HALF, B * H * S * dk * HALF, B * H * T * S * HALF
    mask = {
        "range of queries": (0, T * INTEGER),
        "range of keys": (0, S * INTEGER),
        "comparison": ((T + S) * INTEGER, T * S * BOOLEAN),
        "selection": (T * S * BOOLEAN + scores, scores),
    }
    return {
        "scale": (queries, queries),
        "scores": (queries + keys, scores),
        **(mask if causal else {}),
        "softmax": (scores, scores),
        "context": (scores + keys, queries),
    }


def _unfused(a: Attention, chip: str) -> dict[str, Work]:
    """The primitives in order, the products and softmax counted."""
    T, S, dk = a.q.shape[2], a.k.shape[2], a.q.shape[3]
    rows = numbers(B * H, T, S, seed=9)
    counted = {
        "scores": mlx_metal.product(a.q[0], a.k[0], b_is_transposed=True, chip=chip),
        "softmax": mlx_metal.softmax(rows),
        "context": mlx_metal.product(rows, a.v[0], b_is_transposed=False, chip=chip),
    }
    return {
        name: _work(counted[name]) if name in counted else _moving(*bytes_)
        for name, bytes_ in primitives(T, S, dk, a.causal).items()
    }


def numbers(*shape: int, seed: int) -> mx.array:
    return mx.array(np.random.default_rng(seed).standard_normal(shape).astype(np.float16))


def _work(launch: Launch) -> Work:
    return mlx_metal.run(launch)[1]


def _moving(read: int, written: int) -> Work:
    """Work of which nothing is known but its bytes."""
    nothing = {field.name: 0 for field in fields(Work)}
    return Work(**nothing | {"device": {"all": Traffic(read, written)}, "constant": {}, "threadgroup": {}})
