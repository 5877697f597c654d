"""Which token moves which logits: the influence matrix of a decoder, and what its shape says about a mistake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

NEAR = 4  # a leak that ends within this part (1/NEAR) of the sequence is near
HOLE = 1e-3  # of the largest move at a position: so little is none beside it
FAINT = 0.05  # of the influence of the past: what leaks through a mask of small numbers
WEAK = 0.3  # what leaks through the denominators of the softmax
FIRST = 3.0  # how much more position 0 leaks than late ones when its row is empty
INSTEAD = 6.0  # how much more the future counts than the past when it is seen in its place
RECENT = 1.48  # how much more late tokens count than early ones when keys share themselves out among queries
UNEVEN = 2.5  # how much more tokens at a stride count than those between when rows of a head are not tokens


def distance(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The differences of two answers, number by number; infinite where only one is a number."""
    with np.errstate(invalid="ignore"):
        apart = np.where(found == wanted, 0.0, np.abs(found - wanted))
    apart[np.isnan(found) & np.isnan(wanted)] = 0.0
    return np.asarray(np.nan_to_num(apart, nan=np.inf, posinf=np.inf))


@dataclass(frozen=True)
class Influence:
    """How far the logits at position t move when the token at position s is replaced, in sizes of the logits.

    `largest` [T, T] is the largest move over several random questions, `typical` the mean.
    """

    largest: np.ndarray
    typical: np.ndarray

    @classmethod
    def of(cls, measured: Sequence[np.ndarray]) -> Influence:
        return cls(np.max(measured, axis=0), np.mean(measured, axis=0))

    @property
    def T(self) -> int:
        return len(self.largest)

    def worst_leak(self) -> tuple[int, int, float]:
        """Position, later token and move of the largest leak from the future."""
        later = np.triu(self.largest, k=1)
        t, s = np.unravel_index(int(later.argmax()), later.shape)
        return int(t), int(s), float(later[t, s])

    def leak_reach(self, tolerance: float) -> int:
        """From how many tokens ahead something leaks."""
        t, s = np.nonzero(np.triu(self.largest, k=1) > tolerance)
        return int((s - t).max(initial=0))

    def past_reach(self, tolerance: float) -> int:
        """How many tokens back the last logits see."""
        seen = np.flatnonzero(self.largest[-1, :-1] > tolerance)
        return self.T - 1 - int(seen[0]) if len(seen) else 0

    def blind_places(self, tolerance: float) -> list[int]:
        """Positions whose logits the token just before them does not move."""
        return [t for t in range(1, self.T) if self.largest[t, t - 1] <= tolerance]

    def future_signs(self, tolerance: float) -> frozenset[str]:
        """In which ways the future leaks; none where it does not."""
        reach = self.leak_reach(tolerance)
        if not reach:
            return frozenset()
        if reach <= self.T // NEAR:
            return frozenset({"future", "future.near"})
        return frozenset({"future", "future.far"} | self._shape(reach))

    def _shape(self, reach: int) -> set[str]:
        """What the leak is like beside the past, from the most telling trait to the least."""
        leak, past = self.leak, self.past
        middle = slice(self.T // 4, 3 * self.T // 4)
        beside = _ratio(np.median(leak[middle]), np.median(past[middle]))
        early = _ratio(leak[0], past[-1])  # position 0 sees all of the future as the last one sees all of the past
        falling = _ratio(leak[0], np.median(leak[self.T // 2 :]))
        if beside > INSTEAD:
            return {"future.instead"}
        if falling > FIRST and early > WEAK > beside:
            return {"future.first"}
        if self._holes(reach):
            return {"future.patchy"}
        if max(beside, early) < FAINT and falling > 1:
            return {"future.faint"}
        if self._unevenness() > UNEVEN:
            return {"future.patchy"}
        if early < WEAK:
            return {"future.weak"} | ({"future.recent"} if self._recency() > RECENT else set())
        return set()

    @property
    def leak(self) -> np.ndarray:
        """The typical move of each position but the last by a later token."""
        return np.array([np.median(self.typical[t, t + 1 :]) for t in range(self.T - 1)])

    @property
    def past(self) -> np.ndarray:
        """The typical move of each position but the first by an earlier token."""
        return np.array([np.median(self.typical[t, :t]) for t in range(1, self.T)])

    def _holes(self, reach: int) -> bool:
        """Whether some position sees one of the tokens within reach, but not another."""
        rows = (self.largest[t, t + 1 : t + 1 + reach] for t in range(self.T - 1))
        return any(row.max() > HOLE and row.min() < HOLE * row.max() for row in rows)

    def _recency(self) -> float:
        """How much more the last position sees of late tokens than of early ones."""
        quarter = self.T // 4
        return _ratio(np.median(self.typical[-1, -1 - quarter : -1]), np.median(self.typical[-1, :quarter]))

    def _unevenness(self) -> float:
        """How much more the first positions see of tokens at some stride than of those between."""
        strides = [k for k in range(2, self.T // 2 + 1) if self.T % k == 0]
        return max(self._contrast(np.arange(2, self.T) % k == 0) for k in strides)

    def _contrast(self, chosen: np.ndarray) -> float:
        first = np.sqrt(self.typical[0, 2:] * self.typical[1, 2:])
        return _ratio(np.median(first[chosen]), np.median(first[~chosen]))


def _ratio(a: float | np.floating, b: float | np.floating) -> float:
    return float(a) / max(float(b), 1e-9)
