"""What the queries of one kind of attention see: drawn as an array, or told to kernels in numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import mlx.core as mx
import numpy as np

from mlxdecoder.kernels.structure import Structure, structure_of
from mlxdecoder.masks import Full, Mask, parts_of
from mlxdecoder.positions import Rotation

NO_SLOTS = np.zeros(0, dtype=int)


@dataclass(frozen=True)
class Sight:
    """What is the same for every layer of a pass.

    `mask` is a value for the slots of the queries [T] and of the keys [S], or a boolean array [B or 1, H or 1, T, S],
    True = may attend; `bias` [B or 1, H, T, S] is added to the scores; `rotation` turns queries and keys.
    """

    mask: Mask | mx.array = field(default_factory=Full)
    queries: np.ndarray = field(default_factory=lambda: NO_SLOTS)
    keys: np.ndarray = field(default_factory=lambda: NO_SLOTS)
    bias: mx.array | None = None
    rotation: Rotation | None = None

    @cached_property
    def allowed(self) -> mx.array | None:
        """The mask as an array; None where it blocks nothing."""
        if isinstance(self.mask, mx.array):
            return self.mask
        if self.mask.shows_all(self.queries, self.keys):
            return None
        return None if self._drawn.all() else mx.array(self._drawn)

    @cached_property
    def empty_rows(self) -> bool:
        """Whether some query sees nothing."""
        if isinstance(self.mask, mx.array):
            return not bool(self.mask.any(axis=-1).all())
        return not self._drawn.any(axis=-1).all()

    @cached_property
    def structure(self) -> Structure:
        """The mask and the bias for kernels."""
        if isinstance(self.mask, mx.array):
            return Structure(allowed=self.mask, bias=self.bias)
        if not parts_of(self.mask):
            return Structure(bias=self.bias)
        return structure_of(self.mask, self.queries, self.keys, self.bias)

    @cached_property
    def _drawn(self) -> np.ndarray:
        assert isinstance(self.mask, Mask)
        return self.mask.allowed(self.queries, self.keys) if parts_of(self.mask) else np.ones((1, 1, 1, 1), bool)
