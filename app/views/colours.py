"""How numbers become colours: fixed scales that everybody can tell apart, as tables of RGB32. No Qt."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

LEVELS = 255  # an odd number, so that 0 has the middle colour of a scale that is symmetric
# Stops at equal distances. Viridis is matplotlib's: its luminance rises from end to end. Blue and red are ColorBrewer's
# RdBu, which is told apart with every common deficiency of colour vision.
STOPS = {
    "viridis": "440154 48186a 472d7b 424086 3b528b 33638d 2c728e 26828e 21918c 1fa088 28ae80 3fbc73 5ec962 84d44b "
    "addc30 d8e219 fde725",
    "blue to red": "053061 2166ac 4393c3 92c5de d1e5f0 f7f7f7 fddbc7 f4a582 d6604d b2182b 67001f",
}
OPAQUE = 0xFF000000
NO_VALUE = 0xFFB4B4B4  # NaN
MASKED = 0xFF6A6A6A  # minus infinity


def _table(stops: str) -> np.ndarray:
    colours = np.array([list(bytes.fromhex(stop)) for stop in stops.split()], float)  # [stops, 3]
    places = np.linspace(0, len(colours) - 1, LEVELS)
    red, green, blue = (np.interp(places, range(len(colours)), channel).round() for channel in colours.T)
    return np.asarray(OPAQUE + red * 65536 + green * 256 + blue, np.uint32)


TABLES = {name: _table(stops) for name, stops in STOPS.items()}


@dataclass(frozen=True)
class Scale:
    """From `low` to `high` through a table of colours.

    `masks` says whether minus infinity is a cell that is masked, with a colour of its own; in a difference it is a
    number like any other, and has the colour of the lowest.
    """

    colours: str
    low: float
    high: float
    masks: bool = True

    @property
    def signed(self) -> bool:
        return self.low < 0

    @property
    def table(self) -> np.ndarray:
        """[LEVELS] of RGB32."""
        return TABLES[self.colours]


def scale_of(stage: str, side: str, reach: float) -> Scale:
    """The scale for one stage and side; `reach` is the largest size of any value on any side.

    All sides, layers and heads share it: weights run from 0 to 1 and norms from 0; scores, and every difference, are
    symmetric about 0 and as long. Only for weights does `reach` not matter.
    """
    high = 1.0 if stage == "weights" else rounded_up(reach)
    if side == "change":
        return Scale("blue to red", -high, high, masks=False)
    if stage in ("weights", "norms"):
        return Scale("viridis", 0.0, high)
    return Scale("blue to red", -high, high)


def rounded_up(reach: float) -> float:
    """The next of 1, 2, 5, 10 ... : a scale that stays where it is while tokens come."""
    if not 0 < reach < math.inf:
        return 1.0
    power = 10.0 ** math.floor(math.log10(reach))
    return next((step * power for step in (1, 2, 5, 10) if step * power >= reach), 10 * power)


def is_dark(colour: int) -> bool:
    """Whether white is easier to read on an RGB32 than black."""
    red, green, blue = colour >> 16 & 255, colour >> 8 & 255, colour & 255
    return 0.299 * red + 0.587 * green + 0.114 * blue < 140
