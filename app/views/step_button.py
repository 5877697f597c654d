"""A button with the sign of a player."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QPen, QPolygon
from PySide6.QtWidgets import QToolButton, QWidget


class StepButton(QToolButton):
    """A button with the sign of a player, drawn in the colour of the palette so that it reads on any ground."""

    def __init__(self, name: str, shape: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.show_shape(shape, name)

    def show_shape(self, shape: str, name: str) -> None:
        """Draw `shape` (|< ‹ > › >| ||), named so for those who do not see it."""
        self.shape = shape
        self.setAccessibleName(name)
        self.setToolTip(name)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(30, 26)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ink = self.palette().color(QPalette.ColorRole.ButtonText)
        painter.setPen(QPen(ink, 2))
        painter.setBrush(ink)
        middle = self.rect().center() + QPoint(1, 1)
        for place, sign in enumerate(self.shape):
            _draw_sign(painter, sign, middle + QPoint(8 * place - 4 * (len(self.shape) - 1), 0))


def _draw_sign(painter: QPainter, sign: str, middle: QPoint) -> None:
    if sign == "|":
        painter.fillRect(QRect(middle.x() - 1, middle.y() - 6, 3, 12), painter.brush())
        return
    tip = 4 if sign in ">›" else -4
    corners = QPolygon([middle + QPoint(-tip, -6), middle + QPoint(tip, 0), middle + QPoint(-tip, 6)])
    if sign in "<>":
        painter.drawPolygon(corners)
    else:
        painter.drawPolyline(corners)
