"""What all heatmaps draw alike: cells, frames, badges, in the colours of the palette."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPalette, QPen, QPolygonF

ON_LIGHT, ON_DARK = QColor("#b3122a"), QColor("#ff9d9d")


def draw_cells(painter: QPainter, target: QRectF, pixels: np.ndarray, cells: QRectF, block: int) -> None:
    """Stretch a rectangle of `cells` over `target` without a blur; `block` of them share a pixel of `pixels` [T, S]."""
    part = QRectF(cells.x() / block, cells.y() / block, cells.width() / block, cells.height() / block)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
    painter.drawImage(target, image_of(pixels), part)


def image_of(pixels: np.ndarray) -> QImage:
    """An image that shares the memory of `pixels` [T, S]; it serves as long as they live and stay as they are."""
    height, width = pixels.shape
    return QImage(pixels.data, width, height, pixels.strides[0], QImage.Format.Format_RGB32)


def is_dark(palette: QPalette) -> bool:
    return palette.color(QPalette.ColorRole.Base).lightness() < 128


def alarm(palette: QPalette) -> QColor:
    """The colour of what is wrong, readable on the ground of the palette."""
    return ON_DARK if is_dark(palette) else ON_LIGHT


def sharp_pen(colour: QColor, width: float) -> QPen:
    """A pen whose lines end where they are said to end, and have corners."""
    return QPen(colour, width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap, Qt.PenJoinStyle.MiterJoin)


def draw_frame(painter: QPainter, around: QRectF, palette: QPalette, focused: bool) -> None:
    """The frame of what is chosen, outside of it; thicker, with a line of text colour, where the keyboard is."""
    colour = palette.color(QPalette.ColorRole.Highlight)
    for width, out, ink in ((2.0, 2.0, colour), (1.0, 3.5, palette.color(QPalette.ColorRole.Text))):
        if width == 2.0 or focused:
            painter.setPen(sharp_pen(ink, width))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(around.adjusted(-out, -out, out, out))


def draw_leak(painter: QPainter, centre: QPointF, size: float, palette: QPalette) -> None:
    """The badge of weight outside the mask: a triangle with an exclamation mark."""
    colour, half = alarm(palette), size / 2
    corners = [centre + QPointF(0, -half), centre + QPointF(half, half), centre + QPointF(-half, half)]
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    painter.drawPolygon(QPolygonF(corners))
    painter.setPen(sharp_pen(palette.color(QPalette.ColorRole.Base), size / 8))
    painter.drawLine(centre + QPointF(0, -size * 0.18), centre + QPointF(0, size * 0.18))
    painter.drawLine(centre + QPointF(0, size * 0.26), centre + QPointF(0, size * 0.38))


def draw_sink(painter: QPainter, centre: QPointF, size: float, palette: QPalette) -> None:
    """The badge of a sink: a funnel in the colour of the text."""
    ink, half = palette.color(QPalette.ColorRole.Text), size / 2
    funnel = [(-half, -half), (half, -half), (size / 8, 0), (size / 8, half), (-size / 8, half), (-size / 8, 0)]
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(ink)
    painter.drawPolygon(QPolygonF([centre + QPointF(x, y) for x, y in funnel]))
