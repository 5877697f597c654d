"""The scale of colours, with its numbers, and what the colours beside it mean."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QSizePolicy, QWidget

from mlxdecoder.app.views import words
from mlxdecoder.app.views.colours import LEVELS, MASKED, NO_VALUE, Scale
from mlxdecoder.app.views.painting import draw_cells

BAR, HIGH, GAP = 130.0, 12.0, 10.0


class Legend(QWidget):
    """From the lowest to the highest number of a scale; then masked cells and cells without a value, if need be."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._scale: Scale | None = None
        self._swatches: list[tuple[int, str]] = []
        self.setAccessibleName("Colour scale")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def show_scale(self, scale: Scale | None, unit: str, stage: str) -> None:
        """Show this scale; `unit` is what its numbers are."""
        self._scale = scale
        before = stage in ("scores", "scaled", "masked")
        masked = [(MASKED, "masked (−∞)")] if scale is not None and scale.masks and stage == "masked" else []
        self._swatches = masked + ([(NO_VALUE, "no value")] if before else [])
        if scale is not None:
            told = f"{unit} from {words.tick(scale.low)} to {words.tick(scale.high)}"
            self.setAccessibleDescription(told)
            self.setToolTip(f"Colours: {told}. The same for all layers, heads and sides.")
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(self.font())
        beside = sum(HIGH + 4 + metrics.horizontalAdvance(text) + GAP for _, text in self._swatches)
        ends = 2 * metrics.horizontalAdvance("−0.00")
        return QSize(round(BAR + ends + beside), round(HIGH + metrics.height() + 6))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._scale is None:
            return
        with QPainter(self) as painter:
            ink = self.palette().color(QPalette.ColorRole.WindowText)
            painter.setPen(ink)
            left = self._draw_bar(painter, self._scale)
            metrics = QFontMetricsF(self.font())
            for colour, text in self._swatches:
                square = QRectF(left, 2, HIGH, HIGH)
                painter.fillRect(square, QColor(colour))
                if colour == NO_VALUE:
                    painter.fillRect(square, Qt.BrushStyle.BDiagPattern)
                width = metrics.horizontalAdvance(text)
                place = QRectF(left + HIGH + 4, 2 + HIGH / 2 - metrics.height() / 2, width + 1, metrics.height())
                painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, text)
                left += HIGH + 4 + width + GAP

    def _draw_bar(self, painter: QPainter, scale: Scale) -> float:
        """The bar and its numbers; gives where it ends."""
        metrics = QFontMetricsF(self.font())
        margin = metrics.horizontalAdvance("−0.00") / 2
        bar = QRectF(margin, 2, BAR, HIGH)
        draw_cells(painter, bar, np.ascontiguousarray(scale.table[None]), QRectF(0, 0, LEVELS, 1), 1)
        for share in (0.0, 0.5, 1.0):
            text = words.tick(scale.low + share * (scale.high - scale.low))
            x = bar.left() + share * BAR
            painter.drawLine(int(x), int(bar.bottom()), int(x), int(bar.bottom()) + 2)
            place = QRectF(x - 40, bar.bottom() + 2, 80, metrics.height())
            painter.drawText(place, Qt.AlignmentFlag.AlignHCenter, text)
        return bar.right() + margin + GAP
