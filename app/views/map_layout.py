"""Where one large map has its cells, labels and sums. No drawing."""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF

from mlxdecoder.app.views.grid_layout import cell_within

LARGEST_CELL = 64.0
STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True)
class Gutters:
    """Room around the cells, in pixels: `top` for keys that are turned, `level` for keys that are not."""

    left: float
    top: float
    level: float
    right: float
    widest_key: float
    line: float


@dataclass(frozen=True)
class MapLayout:
    """`rows` x `columns` cells in a view of `width` x `height` that shows a part of them, `scrolled` so far.

    Labels and sums stay in their gutters while the cells move. `level` says whether the keys are not turned, `step`
    that only every so many tokens is named.
    """

    rows: int
    columns: int
    width: float
    height: float
    left: float
    top: float
    right: float
    cell: float
    block: int
    level: bool
    step: int
    scrolled: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def fitting(
        cls, shape: tuple[int, int], room: tuple[float, float], gutters: Gutters, ratio: float, zoom: float = 1.0
    ) -> MapLayout:
        """The whole map, as large as `room` allows, or `zoom` times as large; `ratio` as for the small maps."""
        across = max(room[0] - gutters.left - gutters.right, 1.0) / shape[1]
        turned = min(across, max(room[1] - gutters.top - EDGE, 1.0) / shape[0], LARGEST_CELL)
        straight = min(across, max(room[1] - gutters.level - EDGE, 1.0) / shape[0], LARGEST_CELL) * zoom
        level = gutters.widest_key + 4 <= straight
        cell, block = cell_within(straight if level else turned * zoom, ratio)
        step = next((step for step in STEPS if step * cell >= gutters.line), max(shape))
        top = gutters.level if level else gutters.top
        return cls(*shape, *room, gutters.left, top, gutters.right, cell, block, level, step)

    @property
    def beyond(self) -> tuple[float, float]:
        """How far the cells reach beyond what can be seen of them, across and down."""
        area = self.area
        return self.columns * self.cell - area.width(), self.rows * self.cell - area.height()

    @property
    def area(self) -> QRectF:
        """Where cells are seen."""
        across = min(self.columns * self.cell, max(self.width - self.left - self.right, 1.0))
        down = min(self.rows * self.cell, max(self.height - self.top - EDGE, 1.0))
        return QRectF(self.left, self.top, across, down)

    def cells(self, row: int, column: int, rows: int = 1, columns: int = 1) -> QRectF:
        """A rectangle of cells, wherever it is by now."""
        x, y = self.left - self.scrolled[0], self.top - self.scrolled[1]
        return QRectF(x + column * self.cell, y + row * self.cell, columns * self.cell, rows * self.cell)

    def seen_rows(self) -> range:
        return _seen(self.scrolled[1], self.area.height(), self.cell, self.rows)

    def seen_columns(self) -> range:
        return _seen(self.scrolled[0], self.area.width(), self.cell, self.columns)

    def at(self, point: QPointF) -> tuple[int, int] | None:
        """The cell at a point, if one is seen there."""
        if not self.area.contains(point):
            return None
        row, column = self.row_at(point.y()), self.column_at(point.x())
        return None if row is None or column is None else (row, column)

    def row_at(self, y: float) -> int | None:
        row = math.floor((y - self.top + self.scrolled[1]) / self.cell)
        return row if self.area.top() <= y < self.area.bottom() and row < self.rows else None

    def column_at(self, x: float) -> int | None:
        column = math.floor((x - self.left + self.scrolled[0]) / self.cell)
        return column if self.area.left() <= x < self.area.right() and column < self.columns else None


EDGE = 6.0  # below the cells


def _seen(scrolled: float, length: float, cell: float, count: int) -> range:
    return range(int(scrolled / cell), min(count, math.ceil((scrolled + length) / cell)))
