"""Values to pixels: a look-up in a table, pooled where cells are smaller than pixels. NumPy only."""

from __future__ import annotations

import numpy as np

from mlxdecoder.app.views.colours import LEVELS, MASKED, NO_VALUE, Scale


def to_rgb32(values: np.ndarray, scale: Scale) -> np.ndarray:
    """Each value [...] as an RGB32 [...]; what lies beyond the scale has the colour of its end."""
    steps = (LEVELS - 1) / (scale.high - scale.low)
    with np.errstate(invalid="ignore", over="ignore"):
        levels = np.asarray(values, np.float32) * np.float32(steps)
        levels += np.float32(0.5 - scale.low * steps)
        np.clip(levels, 0, LEVELS - 1, out=levels)
        # Where a value is NaN any level will do: it is painted over.
        pixels = np.asarray(scale.table[levels.astype(np.uint8)])
    if not np.isfinite(values).all():
        pixels[np.isnan(values)] = NO_VALUE
        if scale.masks:
            pixels[np.isneginf(values)] = MASKED
    return pixels


def pool(values: np.ndarray, block: int, scale: Scale) -> np.ndarray:
    """The largest value of each block of `block` x `block` cells of `values` [..., T, S]; signed, the farthest from 0.

    A thin diagonal stays visible where cells are smaller than pixels. A NaN wins over its whole block, a masked cell
    only where the whole block is masked. The blocks at the rim may be smaller.
    """
    if block == 1:
        return values
    high = _extreme(values, block, np.maximum)
    if not scale.signed:
        return high
    low = _extreme(np.where(np.isneginf(values), np.inf, values) if scale.masks else values, block, np.minimum)
    return np.where(high >= -low, high, low)


def _extreme(values: np.ndarray, block: int, choose: np.ufunc) -> np.ndarray:
    rows = values[..., ::block, :].copy()
    for first in range(1, block):
        others = values[..., first::block, :]
        choose(rows[..., : others.shape[-2], :], others, out=rows[..., : others.shape[-2], :])
    best = rows[..., ::block].copy()
    for first in range(1, block):
        others = rows[..., first::block]
        choose(best[..., : others.shape[-1]], others, out=best[..., : others.shape[-1]])
    return best


class Pixels:
    """The pixels [..., T, S] of maps that grow: only what was added is painted.

    `block` cells share a pixel in either direction.
    """

    def __init__(self, scale: Scale, block: int = 1) -> None:
        self.scale = scale
        self.block = block
        self.array = np.empty((0, 0), np.uint32)
        self._shape: tuple[int, ...] = (0, 0)

    def grow(self, values: np.ndarray) -> None:
        """Paint `values` [..., T, S], which begin with those that were painted before."""
        if values.shape == self._shape:
            return
        rows, columns = (old // self.block for old in self._shape[-2:])  # whole blocks, which stay as they are
        top, left = rows * self.block, columns * self.block
        size = [-(-length // self.block) for length in values.shape[-2:]]
        grown = np.empty((*values.shape[:-2], *size), np.uint32)
        if top and left:
            grown[..., :rows, :columns] = self.array[..., :rows, :columns]
        grown[..., rows:, :] = self._paint(values[..., top:, :])
        grown[..., :rows, columns:] = self._paint(values[..., :top, left:])
        self.array, self._shape = grown, values.shape

    def _paint(self, values: np.ndarray) -> np.ndarray:
        return to_rgb32(pool(values, self.block, self.scale), self.scale)
