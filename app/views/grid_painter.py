"""Draws all heads as small maps, with their names, badges and the frame of the chosen one."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QFont, QPainter, QPalette, QPen, QRegion

from mlxdecoder.app.views.grid_layout import BADGES, GridLayout
from mlxdecoder.app.views.painting import draw_cells, draw_frame, draw_leak, draw_sink
from mlxdecoder.app.views.small_maps import SmallMaps

BADGE = 11.0


class GridPainter:
    """One drawing of the grid; each method draws one of its parts."""

    def __init__(self, painter: QPainter, maps: SmallMaps, layout: GridLayout, palette: QPalette, font: QFont) -> None:
        self._painter, self._maps, self._layout, self._palette, self._font = painter, maps, layout, palette, font

    def names(self, origin: QPointF, chosen: tuple[int, int], averaged: bool) -> None:
        """L0, L1 ... and H0, H1 ... in the gutters, those of the chosen map bold."""
        layout = self._layout
        for head in range(layout.heads):
            left = layout.map(0, head).left() + origin.x()
            name = "mean" if averaged else f"H{head}"
            if left >= layout.left:
                place = QRectF(left, 0, layout.across - BADGES, layout.top)
                self._name(place, name, head == chosen[1], Qt.AlignmentFlag.AlignLeft)
        for layer in range(layout.layers):
            top = layout.map(layer, 0).top() + origin.y()
            if top >= layout.top - 1:
                place = QRectF(0, top, layout.left - 4, layout.top)
                self._name(place, f"L{layer}", layer == chosen[0], Qt.AlignmentFlag.AlignRight)

    def _name(self, place: QRectF, name: str, chosen: bool, side: Qt.AlignmentFlag) -> None:
        font = QFont(self._font)
        font.setBold(chosen)
        self._painter.setFont(font)
        self._painter.drawText(place, side | Qt.AlignmentFlag.AlignVCenter, name)

    def maps(self, origin: QPointF, region: QRegion, size: QSize) -> None:
        """The maps that the region touches; from here on the gutters are out of bounds."""
        layout = self._layout
        self._painter.setClipRect(QRectF(layout.left, layout.top, size.width(), size.height()))
        self._painter.translate(origin)
        for layer in range(layout.layers):
            for head in range(layout.heads):
                if region.intersects(layout.box(layer, head).translated(origin).toAlignedRect()):
                    self._map(layout.map(layer, head), layer, head)
                    self._badges(layout.badges(layer, head), layer, head)

    def frame(self, layer: int, head: int, focused: bool) -> None:
        """What marks the chosen map."""
        draw_frame(self._painter, self._layout.map(layer, head), self._palette, focused)

    def _map(self, place: QRectF, layer: int, head: int) -> None:
        painter, layout, rows = self._painter, self._layout, self._maps.shown.rows
        painter.setPen(QPen(self._palette.color(QPalette.ColorRole.Mid), 0))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(place.adjusted(-1, -1, 0, 0))
        filled = QRectF(place.topLeft(), QSizeF(place.width(), rows * layout.cell))
        cells = QRectF(0, 0, layout.columns, rows)
        draw_cells(painter, filled, self._maps.pixels(layer, head), cells, layout.block)

    def _badges(self, strip: QRectF, layer: int, head: int) -> None:
        self._painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        centre = QPointF(strip.left() + 6 + BADGE / 2, strip.top() + BADGE / 2)
        if self._maps.outside(layer, head) is not None:
            draw_leak(self._painter, centre, BADGE, self._palette)
        if (layer, head) in self._maps.sinks:
            draw_sink(self._painter, centre + QPointF(0, BADGE + 4), BADGE, self._palette)
        self._painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
