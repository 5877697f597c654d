"""What a part of the lesson shows: tables of numbers, and checks with their differences; as text and as data."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

WIDTH = 100  # columns of text
Cell = str | int | float


class Section(Protocol):
    """Something with a title that can be read as text or as data."""

    def lines(self) -> Iterator[str]: ...

    def to_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Check:
    """A largest difference that is to be at most `bound`, or above it where the two sides are not to be `equal`."""

    name: str
    difference: float
    bound: float
    equal: bool = True

    @property
    def holds(self) -> bool:
        return self.difference <= self.bound if self.equal else self.difference > self.bound

    def to_dict(self) -> dict[str, Any]:
        wanted = "equal" if self.equal else "different"
        return _data(
            check=self.name, largest_difference=self.difference, wanted=wanted, within=self.bound, holds=self.holds
        )


@dataclass(frozen=True)
class Table:
    """Rows under named columns; each column comes with the format of its cells."""

    title: str
    columns: Mapping[str, str]
    rows: Sequence[Sequence[Cell]]

    def lines(self) -> Iterator[str]:
        shown = [list(map(format, row, self.columns.values())) for row in self.rows]
        widths = [max(map(len, column)) for column in zip(self.columns, *shown, strict=True)]
        left = [isinstance(cell, str) for cell in self.rows[0]]
        yield self.title
        for row in ([*self.columns], *shown):
            cells = [f"{cell:{'<' if text else '>'}{w}}" for cell, w, text in zip(row, widths, left, strict=True)]
            yield "  " + "  ".join(cells).rstrip()

    def to_dict(self) -> dict[str, Any]:
        return {"title": self.title, "rows": [_data(**dict(zip(self.columns, row, strict=True))) for row in self.rows]}


@dataclass(frozen=True)
class Grids:
    """Matrices [R, C] of one shape side by side, each under its name."""

    title: str
    grids: Mapping[str, np.ndarray]
    columns: Sequence[str]
    decimals: int = 4
    row: str = "token"

    def lines(self) -> Iterator[str]:
        spec = f"{self.decimals + 4}.{self.decimals}f"
        width = len(format(0, spec))
        yield self.title
        yield " " * 10 + "  ".join(f"{name:<{width * len(self.columns)}}" for name in self.grids).rstrip()
        yield " " * 10 + "  ".join("".join(f"{name:>{width}}" for name in self.columns) for _ in self.grids)
        for i, rows in enumerate(zip(*self.grids.values(), strict=True)):
            yield f"  {self.row:<5} {i + 1} " + "  ".join("".join(format(x, spec) for x in row) for row in rows)

    def to_dict(self) -> dict[str, Any]:
        grids = {name: [[_finite(x) for x in row] for row in grid.tolist()] for name, grid in self.grids.items()}
        return {"title": self.title, "columns": list(self.columns), "grids": grids}


@dataclass(frozen=True)
class LessonReport:
    """A part of the lesson, worked through: text of at most 100 columns, or plain data for JSON.

    `claim` is the sentence that is true when all checks hold.
    """

    sections: tuple[Section, ...]
    checks: tuple[Check, ...]
    claim: str

    @property
    def agrees(self) -> bool:
        """Whether every check holds."""
        return all(check.holds for check in self.checks)

    def __add__(self, other: LessonReport) -> LessonReport:
        claim = f"{self.claim} {other.claim}"
        return LessonReport(self.sections + other.sections, self.checks + other.checks, claim)

    def text(self) -> str:
        parts = ["\n".join(section.lines()) for section in (*self.sections, self._summary())]
        return "\n\n".join([*parts, self._verdict()])

    def to_dict(self) -> dict[str, Any]:
        return {
            "agrees": self.agrees,
            "sections": [section.to_dict() for section in self.sections],
            "checks": [check.to_dict() for check in self.checks],
        }

    def _summary(self) -> Table:
        columns = {"": "", "largest difference": ".1e", "wanted": "", "holds": ""}
        rows = [
            (c.name, c.difference, f"{'at most' if c.equal else 'above'} {c.bound:g}", "yes" if c.holds else "NO")
            for c in self.checks
        ]
        return Table("Checks", columns, rows)

    def _verdict(self) -> str:
        failed = [check.name for check in self.checks if not check.holds]
        if failed:
            verdict = f"{len(failed)} of {len(self.checks)} checks do NOT hold: {'; '.join(failed)}."
        else:
            verdict = f"All {len(self.checks)} checks hold. {self.claim}"
        return textwrap.fill(verdict, WIDTH)


def largest_difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Between two arrays, counted in float64; NaN, which no check takes, where the shapes differ."""
    if ours.shape != theirs.shape:
        return math.nan
    return float(np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max(initial=0))


def _data(**cells: Any) -> dict[str, Any]:
    return {name: _finite(cell) for name, cell in cells.items()}


def _finite(cell: Any) -> Any:
    """JSON has no infinities and no NaN."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell
