"""The speed of the kernels on Metal against MLX's own attention, timed in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import mlx.core as mx

from mlxdecoder.bench.timing import paired
from mlxdecoder.kernels.attention import attend
from mlxdecoder.kernels.structure import UNLIMITED, Slots, Structure

ROUNDS = 25
HEADS = 8
LENGTHS = (128, 512, 2_048)
WIDTHS = (16, 32, 64, 128)


@dataclass(frozen=True)
class Lap:
    """One shape: what is timed, and the medians of both in milliseconds."""

    task: str
    T: int
    S: int
    width: int
    ours: float
    mlx: float
    ratio: float


def laps(dtype: mx.Dtype = mx.float16) -> Iterator[Lap]:
    """Forward and backward over whole sequences, causal, and one query over a cache."""
    for width in WIDTHS:
        for length in LENGTHS:
            yield _lap("forward", length, length, width, dtype)
            yield _lap("forward + backward", length, length, width, dtype)
            yield _lap("decode", 1, 4 * length, width, dtype)


def _lap(task: str, T: int, S: int, width: int, dtype: mx.Dtype) -> Lap:
    shapes = ((1, HEADS, T, width), (1, HEADS, S, width), (1, HEADS, S, width))
    operands = [mx.random.normal(shape).astype(dtype) for shape in shapes]
    causal = Structure(slots=Slots(S - T, 0, 0), ahead=0 if T > 1 else UNLIMITED)
    scale = width**-0.5

    def ours(query: mx.array, key: mx.array, value: mx.array) -> mx.array:
        return attend(query, key, value, causal, scale)[0]

    def theirs(query: mx.array, key: mx.array, value: mx.array) -> mx.array:
        mask = "causal" if T > 1 else None
        return mx.fast.scaled_dot_product_attention(query, key, value, scale=scale, mask=mask)

    run, other = (_with_gradient(x) if "backward" in task else x for x in (ours, theirs))
    first, second, ratio = paired(lambda: mx.eval(run(*operands)), lambda: mx.eval(other(*operands)), ROUNDS)
    return Lap(task, T, S, width, 1e3 * first, 1e3 * second, ratio)


def _with_gradient(run: Callable[..., mx.array]) -> Callable[..., object]:
    return mx.grad(lambda *x: run(*x).astype(mx.float32).sum(), argnums=(0, 1, 2))
