"""The answers of a model by distance and length, and the effective length that is read off them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

ROWS, THRESHOLD = 64, 0.9


@dataclass(frozen=True)
class Cell:
    """The share of questions that were answered rightly, at one distance in rows of one length."""

    task: str
    length: int
    distance: int
    accuracy: float


@dataclass(frozen=True)
class Recall:
    """All cells of a model, each asked in so many `rows`.

    `configured` is the length that its configuration promises; `refused` says why lengths were not read; `threshold`
    is the accuracy that an effective length asks for.
    """

    configured: int
    cells: tuple[Cell, ...]
    refused: dict[int, str] = field(default_factory=dict)
    threshold: float = THRESHOLD
    rows: int = ROWS
    seed: int = 0

    @property
    def lengths(self) -> list[int]:
        return sorted({cell.length for cell in self.cells} | self.refused.keys())

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(cell.task for cell in self.cells))

    def worst(self, length: int, task: str | None = None) -> float:
        """The accuracy at the distance where it is least; 0 for a length that was refused."""
        found = [cell.accuracy for cell in self.cells if cell.length == length and task in (None, cell.task)]
        return 0.0 if length in self.refused else min(found, default=0.0)

    def effective_length(self, task: str | None = None) -> int:
        """The largest length up to which accuracy is at least the threshold at every distance; 0 where none is."""
        good = 0
        for length in self.lengths:
            if self.worst(length, task) < self.threshold:
                break
            good = length
        return good

    def to_dict(self) -> dict[str, Any]:
        """As JSON knows it; accuracies by task, length and distance."""
        accuracies: dict[str, dict[str, dict[str, float]]] = {}
        for cell in self.cells:
            of_length = accuracies.setdefault(cell.task, {}).setdefault(str(cell.length), {})
            of_length[str(cell.distance)] = cell.accuracy
        return {
            "configured_length": self.configured,
            "effective_length": self.effective_length(),
            "effective_lengths": {task: self.effective_length(task) for task in self.tasks},
            "threshold": self.threshold,
            "rows": self.rows,
            "seed": self.seed,
            "refused": {str(length): why for length, why in self.refused.items()},
            "accuracy": accuracies,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Recall:
        """Read what `to_dict` gave, or JSON made of it."""
        cells = tuple(
            Cell(task, int(length), int(distance), accuracy)
            for task, lengths in values["accuracy"].items()
            for length, distances in lengths.items()
            for distance, accuracy in distances.items()
        )
        refused = {int(length): why for length, why in values["refused"].items()}
        known = {name: values[name] for name in ("threshold", "rows", "seed")}
        return cls(values["configured_length"], cells, refused, **known)
