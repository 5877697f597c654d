"""How long the sentences of both sides are: percentiles and a histogram."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np

from mlxdecoder.text.inspection.measures import SIDES, Measures

PERCENTILES = (50, 90, 99, 100)
_BINS = 10
_BAR = 24


@dataclass(frozen=True)
class Lengths:
    """Lengths in one unit. Bin i of a histogram goes to `step` * (i + 1); the last one holds all that is longer."""

    unit: str
    step: int
    percentiles: dict[str, list[int]]  # of a side, for PERCENTILES
    histogram: dict[str, list[int]]  # of a side [bins + 1]


def lengths_of(measures: Measures, kept: np.ndarray, unit: str) -> Lengths:
    """The lengths of the kept pairs in "characters" or "words"; bins are even and hold 99 % of the sentences."""
    both = {side: measures.of(side, unit)[kept] for side in SIDES}
    step = _step(max(_percentile(lengths, 99) for lengths in both.values()))
    bins = {side: np.minimum((np.maximum(lengths, 1) - 1) // step, _BINS) for side, lengths in both.items()}
    return Lengths(
        unit,
        step,
        {side: [_percentile(lengths, share) for share in PERCENTILES] for side, lengths in both.items()},
        {side: np.bincount(places, minlength=_BINS + 1).tolist() for side, places in bins.items()},
    )


def draw(lengths: Lengths) -> str:
    """Both histograms side by side, and the percentiles below."""
    source, target = (lengths.histogram[side] for side in SIDES)
    most = max(*source, *target, 1)
    rows = [f"{lengths.unit:>13}  {'source':>9}  {'':{_BAR}}  {'target':>9}"]
    for place, counts in enumerate(zip(source, target, strict=True)):
        if any(source[place:] + target[place:]):
            cells = [f"{n:>9,}  {'#' * -(-n * _BAR // most):{_BAR}}" for n in counts]
            rows.append(f"{label(lengths, place):>13}  {'  '.join(cells)}".rstrip())
    for share, *both in zip(PERCENTILES, *(lengths.percentiles[side] for side in SIDES), strict=True):
        name = "longest" if share == 100 else f"{share} % up to"
        rows.append(f"{name:>13}  {both[0]:>9,}  {'':{_BAR}}  {both[1]:>9,}")
    return "\n".join(rows)


def label(lengths: Lengths, place: int) -> str:
    """The lengths that a bin holds, like "11 to 20"."""
    first = place * lengths.step + 1
    if place == _BINS:
        return f"over {first - 1}"
    return str(first) if lengths.step == 1 else f"{first} to {first + lengths.step - 1}"


def _percentile(lengths: np.ndarray, share: int) -> int:
    return int(np.percentile(lengths, share, method="inverted_cdf")) if len(lengths) else 0


def _step(longest: int) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50, ... with which all bins reach `longest`."""
    steps = (digit * 10**power for power in count() for digit in (1, 2, 5))
    return next(step for step in steps if step * _BINS >= longest)
