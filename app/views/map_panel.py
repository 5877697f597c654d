"""One head large: its map, with labels, sums and a cursor that mouse and keys move."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PySide6.QtCore import QEvent, QLineF, QPointF, QSize, Qt, Signal
from PySide6.QtGui import (
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from mlxdecoder.app.views.map_cells import outline_of
from mlxdecoder.app.views.map_gutters import gutters_of, label_font
from mlxdecoder.app.views.map_layout import MapLayout
from mlxdecoder.app.views.map_painter import MapPainter
from mlxdecoder.app.views.raster import Pixels
from mlxdecoder.app.views.scrolled import ScrolledPicture
from mlxdecoder.app.views.shown import Head

PAGE, FAR = 10, 10**6
MOVES = {  # rows down, columns to the right
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
    Qt.Key.Key_Home: (0, -FAR),
    Qt.Key.Key_End: (0, FAR),
    Qt.Key.Key_PageUp: (-PAGE, 0),
    Qt.Key.Key_PageDown: (PAGE, 0),
}
ZOOMS = {Qt.Key.Key_Plus: 1.25, Qt.Key.Key_Equal: 1.25, Qt.Key.Key_Minus: 0.8, Qt.Key.Key_0: 0.0}
PIXELS_A_NOTCH = 120


class MapPanel(ScrolledPicture):
    """Shows a `Head`; tells of the cell that is pointed at, and of a wish to zoom (by a factor; 0 fits the window)."""

    pointed = Signal(int, int)
    left = Signal()
    zoomed = Signal(float)
    scrolled = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._head: Head | None = None
        self._layout: MapLayout | None = None
        self._pixels: Pixels | None = None
        self._lines: list[QLineF] = []
        self._cursor: tuple[int, int] | None = None
        self._zoom = 1.0
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.viewport().setMouseTracking(True)
        self.viewport().setBackgroundRole(QPalette.ColorRole.Base)

    @property
    def head(self) -> Head | None:
        return self._head

    @property
    def cursor_cell(self) -> tuple[int, int] | None:
        """The row and column that are pointed at, as far as there is such a cell."""
        there = self._cursor is not None and self._head is not None and self._head.has(*self._cursor)
        return self._cursor if there else None

    @property
    def map_layout(self) -> MapLayout | None:
        return self._layout

    def show_head(self, head: Head | None) -> None:
        """Draw this head from now on; the cursor stays where it is."""
        self._head, self._pixels = head, None
        self._lines = [] if head is None else outline_of(head.intended)
        self._lay_out()

    def set_zoom(self, zoom: float) -> None:
        """So many times as large as what fits; the cell that is pointed at stays in sight."""
        self._zoom = zoom
        self._lay_out()
        self._reveal()

    def point(self, cell: tuple[int, int] | None) -> None:
        """Mark a cell and bring it in sight."""
        self._cursor = cell
        self._reveal()
        self.viewport().update()

    def minimumSizeHint(self) -> QSize:
        return QSize(220, 180)

    def sizeHint(self) -> QSize:
        return QSize(480, 420)

    # Where things are -------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        head = self._head
        self._layout = None
        if head is not None:
            # Cells that shrank when a scroll bar came would fit without it: it would come and go for ever.
            room, seen = self.maximumViewportSize(), self.viewport().size()
            size, shape = (float(room.width()), float(room.height())), (head.room, head.values.shape[1])
            whole = MapLayout.fitting(
                shape, size, gutters_of(head, label_font(self.font())), self.devicePixelRatioF(), self._zoom
            )
            fits = max(whole.beyond) <= 0
            layout = whole if fits else replace(whole, width=float(seen.width()), height=float(seen.height()))
            self._set_scroll_bars(layout)
            self._layout = self._scrolled(layout)
        self.viewport().update()

    def _set_scroll_bars(self, layout: MapLayout) -> None:
        area = layout.area
        for bar, beyond, page in (
            (self.horizontalScrollBar(), layout.beyond[0], area.width()),
            (self.verticalScrollBar(), layout.beyond[1], area.height()),
        ):
            bar.setRange(0, max(0, round(beyond)))
            bar.setPageStep(round(page))
            bar.setSingleStep(max(1, round(layout.cell)))

    def _scrolled(self, layout: MapLayout) -> MapLayout:
        return replace(layout, scrolled=(self.horizontalScrollBar().value(), self.verticalScrollBar().value()))

    def _clamped(self, row: int, column: int) -> tuple[int, int]:
        assert self._head is not None
        rows, columns = self._head.values.shape
        return min(max(row, 0), rows - 1), min(max(column, 0), columns - 1)

    def _reveal(self) -> None:
        if self.cursor_cell is None or self._layout is None:
            return
        beside = self._layout.cell  # its neighbours are to be seen too
        cell = self._layout.cells(*self.cursor_cell).adjusted(-beside, -beside, beside, beside)
        area = self._layout.area
        for bar, start, end, first, last in (
            (self.horizontalScrollBar(), cell.left(), cell.right(), area.left(), area.right()),
            (self.verticalScrollBar(), cell.top(), cell.bottom(), area.top(), area.bottom()),
        ):
            bar.setValue(round(bar.value() + max(0.0, end - last) - max(0.0, first - start)))

    # Pointing ---------------------------------------------------------------------------------------------------

    def _shown_at(self, position: QPointF) -> tuple[int, int] | None:
        if self._layout is None or self._head is None:
            return None
        found = self._layout.at(position)
        return found if found is not None and found[0] < len(self._head.queries) else None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        found = self._shown_at(event.position())
        if found is not None and found != self._cursor:
            self.pointed.emit(*found)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        event.accept()  # the press was ours

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        if not self.hasFocus():
            self.left.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, modifiers = Qt.Key(event.key()), event.modifiers()
        held = modifiers & ~(Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.ShiftModifier)
        if self._head is None or held not in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier):
            super().keyPressEvent(event)
        elif key in MOVES and self.cursor_cell is None:
            self.pointed.emit(*self._clamped(self._head.newest or 0, 0))
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End) and held:
            self.pointed.emit(*self._clamped(*((FAR, FAR) if key == Qt.Key.Key_End else (0, 0))))
        elif key in MOVES and not held and self._cursor is not None:
            self.pointed.emit(*self._clamped(*np.add(self._cursor, MOVES[key]).tolist()))
        elif key in ZOOMS:
            self.zoomed.emit(ZOOMS[key])
        else:
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.zoomed.emit(1.25 ** (event.angleDelta().y() / PIXELS_A_NOTCH))
            event.accept()
        else:
            super().wheelEvent(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), self._hint(QPointF(event.pos())), self)
            return True
        return super().viewportEvent(event)

    def _hint(self, position: QPointF) -> str:
        """The whole token of a label, or the value of a cell."""
        head, layout = self._head, self._layout
        if head is None or layout is None:
            return ""
        found = self._shown_at(position)
        if found is not None:
            return head.tell(*found)
        row, column = layout.row_at(position.y()), layout.column_at(position.x())
        if row is not None and row < len(head.queries):
            return head.tell_row(row)
        return "" if column is None or position.y() > layout.top else head.tell_key(column)

    # Drawing ----------------------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._lay_out()
        self._reveal()

    def restyle(self) -> None:
        self._lay_out()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        if self._layout is not None:
            self._layout = self._scrolled(self._layout)
        self.viewport().update()
        if dx or dy:
            self.scrolled.emit(self.horizontalScrollBar().value(), self.verticalScrollBar().value())

    def paintEvent(self, event: QPaintEvent) -> None:
        head, layout = self._head, self._layout
        if head is None or layout is None:
            return
        if self._pixels is None or self._pixels.block != layout.block:
            self._pixels = Pixels(head.scale, layout.block)
            self._pixels.grow(head.values)
        with QPainter(self.viewport()) as painter:
            drawing = MapPainter(painter, head, layout, self.palette(), label_font(self.font()))
            drawing.draw(self._pixels.array, self._lines, self.cursor_cell, self.hasFocus())
