"""What all caches share."""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx
import numpy as np

from mlxdecoder.masks import Causal, Full, Mask, Window

KeysAndValues = tuple[mx.array, mx.array]


class Cache:
    """What the caches share: two arrays that are there or not."""

    keys: mx.array | None = None
    values: mx.array | None = None
    offset: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of memory held, room not yet used included."""
        return 0 if self.keys is None or self.values is None else self.keys.nbytes + self.values.nbytes

    def __repr__(self) -> str:
        return f"{type(self).__name__}(offset={self.offset}, nbytes={self.nbytes})"

    @property
    def fits(self) -> tuple[int, int, int] | None:
        """Rows, heads and width of what is held; None while nothing is."""
        return None if self.keys is None else (self.keys.shape[0], self.keys.shape[1], self.keys.shape[3])

    def reorder(self, rows: Sequence[int]) -> None:
        """Make the batch of these rows, in this order; a row may be taken more than once, or dropped."""
        if self.keys is not None and self.values is not None:
            chosen = mx.array(rows)
            self.keys, self.values = self.keys[chosen], self.values[chosen]


def causal_mask(queries: np.ndarray, keys: np.ndarray, reach: Mask, window_size: int | None) -> mx.array | None:
    """What query slots [T] see of key slots [S] within the reach of a cache; None when that is everything."""
    mask = Causal() & reach & (Full() if window_size is None else Window(window_size))
    drawn = mask.allowed(queries, keys)
    return None if drawn.all() else mx.array(drawn)
