"""The attention of step after step, put under one another as it comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

FILL = {"weights": 0.0, "norms": 0.0, "masked": -np.inf}
FIRST_ROOM = 16


class Stack:
    """The rows of one kind and stage, each key in the column of its slot.

    What was handed out is never written again: rows are added behind it, in room that doubles, so that a long
    generation costs a row a step.
    """

    def __init__(self, kind: str, stage: str) -> None:
        self.reach = 0.0  # the largest size of a finite value
        self._kind, self._stage = kind, stage
        self._values: np.ndarray = np.empty((0, 0, 0, 0), np.float32)
        self._intended = np.empty((0, 0), bool)
        self._widths: list[int] = []  # up to each row

    def __len__(self) -> int:
        return len(self._widths)

    def add(self, arrays: Mapping[str, np.ndarray], slots: Sequence[int]) -> None:
        """Add the row of one step, where the step has one; a prompt that is read at once has several."""
        added = arrays.get(f"{self._kind}.{self._stage}")  # [L, H, 1, S], or [L, H, T, S] for a prompt
        if added is None:
            return
        columns = list(slots) if self._kind == "decoder" else list(range(added.shape[-1]))
        rows = slice(len(self), len(self) + added.shape[2])
        width = max([*self._widths[-1:], *(column + 1 for column in columns)], default=0)
        self._make_room(added.shape[:2], rows.stop, width)
        self._values[:, :, rows, columns] = added
        self._intended[rows, columns] = arrays[f"{self._kind}.intended"]
        self._widths += [width] * added.shape[2]
        self.reach = max(self.reach, reach_of(added))

    def rows(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The first `count` rows: values [L, H, count, S] and intended mask [count, S], as wide as their keys reach."""
        width = self._widths[count - 1]
        return self._values[:, :, :count, :width], self._intended[:count, :width]

    def _make_room(self, heads: tuple[int, ...], rows: int, width: int) -> None:
        held = self._intended.shape
        if rows <= held[0] and width <= held[1]:
            return
        room = [_doubled(wanted, have) for wanted, have in zip((rows, width), held, strict=True)]
        values = np.full((*heads, *room), FILL.get(self._stage, np.nan), np.float32)
        intended = np.zeros(room, bool)
        if len(self):
            values[:, :, : held[0], : held[1]] = self._values
            intended[: held[0], : held[1]] = self._intended
        self._values, self._intended = values, intended


def reach_of(values: np.ndarray) -> float:
    """The largest size of a finite value, 0 where there is none."""
    return float(np.abs(values).max(initial=0.0, where=np.isfinite(values)))


def _doubled(wanted: int, have: int) -> int:
    return have if wanted <= have else max(wanted, 2 * have, FIRST_ROOM)
