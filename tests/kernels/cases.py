"""Attentions to compute: shapes, masks, element types and layouts in memory, by which kernels are tried."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import mlx.core as mx
import numpy as np

from mlxdecoder.kernels import shapes
from tests.builders import numbers
from tests.kernels import truth
from tests.kernels.truth import Truth
from tests.kernels.views import VIEWS, View

TOLERANCE = {mx.float32: 5e-6, mx.float16: 2e-3, mx.bfloat16: 1.6e-2}
"""The largest error that is allowed, relative to the largest number that is wanted."""

ROUNDING = 2.0**-24
"""Of float32, relative."""


@dataclass(frozen=True)
class Case:
    """An attention with random operands; `strength` multiplies its scores, `layout` is how operands lie in memory."""

    view: str = "everything"
    B: int = 2
    H: int = 4
    Hkv: int = 2
    T: int = 21
    S: int = 77
    dk: int = 16
    dv: int = 24
    dtype: mx.Dtype = mx.float32
    layout: str = "rows"
    strength: float = 1
    scale: float | None = None
    seed: int = 0

    def __str__(self) -> str:
        """Only what is not the default."""
        named = [(one.name, getattr(self, one.name), one.default) for one in fields(self)[1:]]
        changed = [f"{name} {value}".replace("mlx.core.", "") for name, value, default in named if value != default]
        return ", ".join([self.view, *changed])

    @cached_property
    def operands(self) -> tuple[mx.array, mx.array, mx.array]:
        """Query, key and value."""
        random = np.random.default_rng(self.seed)
        rows = ((self.H, self.T, self.dk), (self.Hkv, self.S, self.dk), (self.Hkv, self.S, self.dv))
        drawn = [random.standard_normal((self.B, *shape)) for shape in rows]
        for i in range(2):
            drawn[i] *= self.strength**0.5
        query, key, value = (laid_out(mx.array(x.astype(np.float32)).astype(self.dtype), self.layout) for x in drawn)
        return query, key, value

    @cached_property
    def seen(self) -> View:
        return VIEWS[self.view](self)

    @cached_property
    def wanted(self) -> Truth:
        return truth.attention(*map(numbers, self.operands), self.seen.allowed, self.seen.bias, self.scale)

    @property
    def factor(self) -> float:
        """What the products are scaled by."""
        return self.dk**-0.5 if self.scale is None else self.scale

    @property
    def tolerance(self) -> float:
        """For strong scores in float32, what the rounding of a score itself does to its weight is added."""
        strong = self.dtype == mx.float32 and self.strength > 1
        return TOLERANCE[self.dtype] + (ROUNDING * self.wanted.largest_score if strong else 0)


def laid_out(x: mx.array, layout: str) -> mx.array:
    """The same numbers [B, H, T, dh], lying in memory in another way."""
    B, H, T, width = x.shape
    if layout == "swapped":  # as split_heads gives them
        return mx.contiguous(x.swapaxes(1, 2)).swapaxes(1, 2)
    if layout == "slice":  # as a cache with room gives them
        room = mx.full((B, H, T + 9, width), mx.nan, x.dtype)
        room[:, :, 4 : T + 4] = x
        return room[:, :, 4 : T + 4]
    if layout == "columns":
        return mx.contiguous(x.swapaxes(2, 3)).swapaxes(2, 3)
    return x


LAYOUTS = ("swapped", "slice", "columns")

# What grids are made of; the second shape has few enough queries to be decoded.
TILED, DECODED = Case(), Case(T=3)
LOUD = 40.0
WIDTHS = (
    *((dk, dv, mx.float32) for dk, dv in ((8, 8), (24, 72), (32, 32), (64, 64), (128, 128), (256, 256))),
    *((dk, dv, mx.float16) for dk, dv in ((16, 16), (64, 128), (256, 256))),
    *((dk, dv, mx.bfloat16) for dk, dv in ((32, 32), (72, 24), (128, 128))),
)
N_QUERIES_AND_KEYS = "1x1 1x33 8x8 3x1 9x1 9x9 16x16 21x8 33x32 45x13 40x100 65x64 130x70"
LENGTHS = [tuple(map(int, pair.split("x"))) for pair in N_QUERIES_AND_KEYS.split()]
HEADS = ((1, 1, 1), (1, 4, 4), (3, 6, 2), (1, 8, 1), (2, 2, 2))

assert TILED.T > shapes.MOST_DECODED >= DECODED.T
