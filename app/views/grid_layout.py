"""Where the small maps of all layers and heads stand. No drawing."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from PySide6.QtCore import QPointF, QRectF

SMALLEST, LARGEST = 28.0, 200.0  # sides of a small map, in pixels
WHOLE_FROM = 4  # pixels of the screen; below, rounding would waste up to half of the room
BADGES, GAP = 16.0, 8.0  # to the right of a map, and between maps


@dataclass(frozen=True)
class GridLayout:
    """Layers under one another, heads side by side; one map has `rows` x `columns` cells of side `cell`.

    All lengths are in pixels of the window system; cells are whole pixels of the screen where they are not tiny.
    """

    layers: int
    heads: int
    rows: int
    columns: int
    left: float
    top: float
    across: float  # from one map to the next
    down: float
    cell: float
    block: int  # cells that share a pixel

    @classmethod
    def fitting(
        cls, shape: tuple[int, ...], room: tuple[float, float], gutters: tuple[int, int], ratio: float
    ) -> GridLayout:
        """Maps [L, H, T, S] as large as `room` allows; `ratio` is how many pixels of the screen make one."""
        layers, heads, rows, columns = shape
        left, top = gutters
        # Square room for each, so that maps stay where they are while rows and columns are added.
        side = _within(min((room[0] - left) // heads - BADGES, (room[1] - top) // layers) - GAP)
        cell, block = cell_within(side / max(rows, columns), ratio)
        return cls(layers, heads, rows, columns, left, top, side + BADGES + GAP, side + GAP, cell, block)

    @property
    def size(self) -> tuple[float, float]:
        return self.left + self.heads * self.across, self.top + self.layers * self.down

    def map(self, layer: int, head: int) -> QRectF:
        """The cells of one head."""
        corner = QPointF(self.left + head * self.across + GAP / 2, self.top + layer * self.down + GAP / 2)
        return QRectF(corner.x(), corner.y(), self.columns * self.cell, self.rows * self.cell)

    def box(self, layer: int, head: int) -> QRectF:
        """All that belongs to one head."""
        return QRectF(self.left + head * self.across, self.top + layer * self.down, self.across, self.down)

    def badges(self, layer: int, head: int) -> QRectF:
        """The strip to the right of a map."""
        cells = self.map(layer, head)
        return QRectF(cells.right(), cells.top(), BADGES, self.down - GAP)

    def added(self, layer: int, head: int, rows: int, columns: int) -> list[QRectF]:
        """What there is of a map beyond its first `rows` and `columns`."""
        cells = self.map(layer, head)
        return [cells.adjusted(0, rows * self.cell, 0, 0), cells.adjusted(columns * self.cell, 0, 0, 0)]

    def extends(self, other: GridLayout | None) -> bool:
        """Whether only rows and columns were added to maps that stayed where they are."""
        return other is not None and replace(self, rows=0, columns=0) == replace(other, rows=0, columns=0)

    def at(self, x: float, y: float) -> tuple[int, int] | None:
        """The layer and head at a point."""
        layer, head = math.floor((y - self.top) / self.down), math.floor((x - self.left) / self.across)
        return (layer, head) if 0 <= layer < self.layers and 0 <= head < self.heads else None


def cell_within(side: float, ratio: float) -> tuple[float, int]:
    """A cell of at most `side`, in whole pixels of the screen unless it is tiny; and how many cells share a pixel."""
    pixels = side * ratio
    if pixels >= WHOLE_FROM:
        return math.floor(pixels) / ratio, 1
    return side, 1 if pixels >= 1 else math.ceil(1 / max(pixels, 1e-6))


def _within(side: float) -> float:
    return min(max(side, SMALLEST), LARGEST)
