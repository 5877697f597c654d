"""Draws one large map: its cells, and around them tokens, sums and the cursor."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPalette

from mlxdecoder.app.views import words
from mlxdecoder.app.views.map_cells import CellPainter
from mlxdecoder.app.views.map_layout import MapLayout
from mlxdecoder.app.views.painting import alarm, sharp_pen
from mlxdecoder.app.views.shown import Head

MARGIN = 8.0  # between labels and cells
FLAG, SUM_MARK = "◂", "○"
WHOLE = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute


class MapPainter:
    """One drawing of a head; each method draws one of its parts."""

    def __init__(self, painter: QPainter, head: Head, layout: MapLayout, palette: QPalette, font: QFont) -> None:
        self._painter, self._head, self._layout, self._palette, self._font = painter, head, layout, palette, font
        self._ink = palette.color(QPalette.ColorRole.Text)

    def draw(self, pixels: np.ndarray, lines: list[QLineF], cursor: tuple[int, int] | None, focused: bool) -> None:
        """Everything: raw values first, then what is said about them."""
        cells = CellPainter(self._painter, self._head, self._layout, self._font)
        cells.values(pixels, self._palette.color(QPalette.ColorRole.Mid))
        cells.outline(lines)
        self.row_names()
        self.key_names()
        self.sums()
        if cursor is not None:
            self.cursor(*cursor, focused)

    def row_names(self) -> None:
        """The queries; the newest one is marked with a ground of its own and a pointer."""
        layout, head = self._layout, self._head
        for row in layout.seen_rows():
            newest = row == head.newest
            if row >= len(head.queries) or (row % layout.step and not newest):
                continue
            place = self._beside(row, 0, layout.left - MARGIN)
            if newest:
                ground = place.adjusted(0, 0, MARGIN - 3, 0)
                self._painter.fillRect(ground, self._palette.color(QPalette.ColorRole.Highlight))
            ink = self._palette.color(QPalette.ColorRole.HighlightedText) if newest else self._ink
            self._write(place, self._named(row, head.queries[row]), Qt.AlignmentFlag.AlignRight, ink, newest)

    def key_names(self) -> None:
        """The keys, turned where they do not fit side by side."""
        layout = self._layout
        for column in layout.seen_columns():
            if column % layout.step == 0:
                self._key_name(column, self._named(column, self._head.keys[column]))

    def _key_name(self, column: int, name: str) -> None:
        layout, painter = self._layout, self._painter
        middle = layout.cells(0, column).center().x()
        if not layout.area.left() - 1 <= middle <= layout.area.right() + 1:
            return
        if layout.level:
            place = QRectF(middle - layout.cell / 2, 0, layout.cell, layout.top - 3)
            self._write(place, name, Qt.AlignmentFlag.AlignHCenter)
            return
        painter.save()
        painter.translate(middle, layout.top - 5)
        painter.rotate(-90)
        self._write(QRectF(0, -30, layout.top, 60), name, Qt.AlignmentFlag.AlignLeft)
        painter.restore()

    def sums(self) -> None:
        """What each row adds up to, and how much of it lies outside the mask."""
        layout, head = self._layout, self._head
        leaking, size = set(head.leaking), sum_width(self._font)
        start = layout.area.right() + 4
        self._heading(start, size, "outside" if leaking else "")
        self._heading(start + size, size, "" if head.sums is None else "sum")
        for row in layout.seen_rows():
            marked = row in leaking or row in head.wrong_sums
            if row >= len(head.queries) or (row % layout.step and not (marked and layout.step == 1)):
                self._tick(row, start, marked)
                continue
            if row in leaking:
                self._sum(row, start, size, FLAG + words.short(float(head.outside[row])), warns=True)
            if head.sums is not None:
                wrong = row in head.wrong_sums
                text = (SUM_MARK if wrong else "") + words.short(float(head.sums[row]))
                self._sum(row, start + size, size, text, wrong)

    def _sum(self, row: int, x: float, width: float, text: str, warns: bool) -> None:
        colour = alarm(self._palette) if warns else self._ink
        self._write(self._beside(row, x, width), text, Qt.AlignmentFlag.AlignRight, colour, bold=warns)

    def _tick(self, row: int, x: float, marked: bool) -> None:
        if marked:
            place = self._layout.cells(row, 0)
            self._painter.fillRect(QRectF(x - 3, place.top(), 4, max(self._layout.cell, 1.0)), alarm(self._palette))

    def _heading(self, x: float, width: float, text: str) -> None:
        place = QRectF(x - 40, self._layout.top - 20, width + 40, 18)
        self._write(place, text, Qt.AlignmentFlag.AlignRight)

    def cursor(self, row: int, column: int, focused: bool) -> None:
        """A frame around the cell, and its two tokens in the gutters."""
        layout, painter, head = self._layout, self._painter, self._head
        cell = layout.cells(row, column)
        grown = max(0.0, (7 - layout.cell) / 2)
        painter.setClipRect(layout.area.adjusted(-2, -2, 2, 2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        colour = self._palette.color(QPalette.ColorRole.Highlight) if focused else QColor(Qt.GlobalColor.black)
        for ink, width in ((colour, 4.0), (QColor(Qt.GlobalColor.white), 1.5)):
            painter.setPen(sharp_pen(ink, width))
            painter.drawRect(cell.adjusted(-grown, -grown, grown, grown))
        painter.setClipping(False)
        if layout.step > 1:  # the tokens may not be named
            self._tag(self._beside(row, 0, layout.left - MARGIN), self._named(row, head.queries[row]))
            name = self._named(column, head.keys[column])
            width = self._advance(name) + 8
            middle = min(max(cell.center().x() - width / 2, layout.left), layout.width - width)
            self._tag(QRectF(middle, layout.top - 22, width, 20), name)

    def _tag(self, place: QRectF, text: str) -> None:
        self._painter.fillRect(place, self._palette.color(QPalette.ColorRole.ToolTipBase))
        ink = self._palette.color(QPalette.ColorRole.ToolTipText)
        self._write(place.adjusted(0, 0, -4, 0), text, Qt.AlignmentFlag.AlignRight, ink)

    # Words ------------------------------------------------------------------------------------------------------

    def _named(self, place: int, token: str) -> str:
        name = words.label(token)
        return name if self._layout.step == 1 else f"{place} {name}"

    def _beside(self, row: int, x: float, width: float) -> QRectF:
        cell, height = self._layout.cells(row, 0), QFontMetricsF(self._font).height()
        return QRectF(x, cell.center().y() - height / 2, width, height)

    def _write(
        self,
        place: QRectF,
        text: str,
        side: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
        colour: QColor | None = None,
        bold: bool = False,
    ) -> None:
        font = QFont(self._font)
        font.setBold(bold)
        self._painter.setFont(font)
        self._painter.setPen(colour or self._ink)
        self._painter.drawText(place, side | WHOLE, text)

    def _advance(self, text: str) -> float:
        return QFontMetricsF(self._font).horizontalAdvance(text)


def sum_width(font: QFont) -> float:
    """Room for a number beside the rows, bold and flagged."""
    bold = QFont(font)
    bold.setBold(True)
    return QFontMetricsF(bold).horizontalAdvance(f"{FLAG}00.00") + 6
