"""Draws the cells of one large map: raw values, and the intended mask as a line over them."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from mlxdecoder.app.views import words
from mlxdecoder.app.views.colours import is_dark
from mlxdecoder.app.views.map_layout import MapLayout
from mlxdecoder.app.views.painting import draw_cells
from mlxdecoder.app.views.raster import to_rgb32
from mlxdecoder.app.views.shown import Head
from mlxdecoder.cells import mask_outline

HATCHED = 5.0  # cells without a value are hatched from this size on
OUTLINE = 3.0  # pixels
FAINTEST = 0.35


class CellPainter:
    """One drawing of the cells; each method draws one of its parts."""

    def __init__(self, painter: QPainter, head: Head, layout: MapLayout, font: QFont) -> None:
        self._painter, self._head, self._layout, self._font = painter, head, layout, font

    def values(self, pixels: np.ndarray, rim: QColor) -> None:
        """The raw values, of which the mask hides none; numbers in them where cells are large."""
        painter, layout, head = self._painter, self._layout, self._head
        painter.setPen(QPen(rim, 0))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(layout.area.adjusted(-1, -1, 0, 0))
        across, down = layout.seen_columns(), [row for row in layout.seen_rows() if row < len(head.queries)]
        if not down:
            return
        painter.save()
        painter.setClipRect(layout.area)
        part = QRectF(across[0], down[0], len(across), len(down))
        place = layout.cells(down[0], across[0], len(down), len(across))
        draw_cells(painter, place, pixels, part, layout.block)
        seen = np.s_[down[0] : down[-1] + 1, across[0] : across[-1] + 1]
        self._hatch(np.isnan(head.values[seen]), down[0], across[0])
        self._numbers(head.values[seen], down[0], across[0])
        painter.restore()

    def _hatch(self, missing: np.ndarray, row: int, column: int) -> None:
        if self._layout.cell < HATCHED or not missing.any():
            return
        edges = np.diff(np.pad(missing, ((0, 0), (1, 1))).astype(np.int8), axis=1)
        starts, ends = np.argwhere(edges == 1), np.argwhere(edges == -1)
        self._painter.setPen(Qt.PenStyle.NoPen)
        self._painter.setBrush(Qt.BrushStyle.BDiagPattern)
        for (at, start), (_, end) in zip(starts.tolist(), ends.tolist(), strict=True):
            self._painter.drawRect(self._layout.cells(row + at, column + start, 1, end - start))

    def _numbers(self, values: np.ndarray, row: int, column: int) -> None:
        scale = self._head.scale
        widest = QFontMetricsF(self._font).horizontalAdvance("+0.00" if scale.signed else "0.00")
        if self._layout.cell < widest + 6:
            return
        dark = np.vectorize(is_dark)(to_rgb32(values, scale))
        self._painter.setFont(self._font)
        for (down, across), value in np.ndenumerate(values):
            if not np.isnan(value):
                self._painter.setPen(Qt.GlobalColor.white if dark[down, across] else Qt.GlobalColor.black)
                place = self._layout.cells(row + down, column + across)
                self._painter.drawText(place, Qt.AlignmentFlag.AlignCenter, words.short(float(value), scale.signed))

    def outline(self, lines: list[QLineF]) -> None:
        """The border of the intended mask: white on black, so that it stands out from every colour."""
        layout, painter = self._layout, self._painter
        painter.save()
        painter.setClipRect(layout.area.adjusted(-2, -2, 2, 2))
        painter.translate(layout.cells(0, 0).topLeft())
        painter.scale(layout.cell, layout.cell)
        # A quarter of a cell wide; where that is less than a pixel, the values shine through.
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setOpacity(min(max(layout.cell / 4, FAINTEST), 1.0))
        width = max(min(0.25, OUTLINE / layout.cell), 1 / layout.cell)
        for colour, wide in ((Qt.GlobalColor.black, width), (Qt.GlobalColor.white, width / 2)):
            painter.setPen(QPen(colour, wide, Qt.PenStyle.SolidLine, Qt.PenCapStyle.SquareCap))
            painter.drawLines(lines)
        painter.restore()


def outline_of(intended: np.ndarray) -> list[QLineF]:
    """The lines around what may be seen, in cells; none where everything may."""
    if intended.all():
        return []
    return [QLineF(*start, *end) for start, end in (mask_outline(intended) + 0.5).tolist()]
