"""The pixels of all heads, and what was found in them, kept while rows are added. No Qt."""

from __future__ import annotations

import numpy as np

from mlxdecoder.app.views import words
from mlxdecoder.app.views.raster import Pixels
from mlxdecoder.app.views.shown import Shown, outside_of, sinks_of, tell_sinks
from mlxdecoder.maps import TOLERANCE


class SmallMaps:
    """All heads of what is shown: one of them for each picture that is followed."""

    def __init__(self, shown: Shown, block: int) -> None:
        self.shown = shown
        self._pixels = Pixels(shown.scale, block)
        self._outside = np.zeros((*shown.picture.values.shape[:2], 0))  # [L, H, T]
        self.take(shown)

    def continued_by(self, shown: Shown, block: int) -> bool:
        """Whether `take` may be given what is shown now."""
        same_colours = (self._pixels.scale, self._pixels.block) == (shown.scale, block)
        return same_colours and shown.continues(self.shown)

    def take(self, shown: Shown) -> None:
        """Add the rows that are new; what was there is neither painted nor looked through again."""
        self.shown = shown
        self._pixels.grow(shown.picture.values)
        self._outside = np.concatenate([self._outside, outside_of(shown, self._outside.shape[2])], axis=2)
        self.sinks = sinks_of(shown)

    def pixels(self, layer: int, head: int) -> np.ndarray:
        """The pixels [T, S] of one head, as far as it is shown."""
        rows = -(-self.shown.rows // self._pixels.block)
        return np.asarray(self._pixels.array[layer, head, :rows])

    def outside(self, layer: int, head: int) -> float | None:
        """The most that a row has outside the intended mask, if it is more than rounding; NaN counts."""
        most = float(self._outside[layer, head, : self.shown.rows].max(initial=0.0))
        return None if most <= TOLERANCE else most

    def findings(self, layer: int, head: int) -> list[str]:
        """What was found in one head, in words."""
        outside = self.outside(layer, head)
        unit = words.UNITS[self.shown.picture.stage]
        leaks = [] if outside is None else [f"{unit} outside the intended mask, up to {words.number(outside)} in a row"]
        return leaks + tell_sinks(self.sinks, self.shown.picture.keys, layer, head)
