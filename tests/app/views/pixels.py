"""What is on the screen, by value."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtWidgets import QAbstractScrollArea

from mlxdecoder.app.views.colours import Scale
from mlxdecoder.app.views.raster import to_rgb32


def colour_at(area: QAbstractScrollArea, point: QPointF) -> int:
    """The RGB32 that is drawn at a point of what the area shows."""
    image = area.viewport().grab().toImage()
    ratio = image.devicePixelRatio()
    return image.pixel(int(point.x() * ratio), int(point.y() * ratio))


def corner_of(cell: QRectF) -> QPointF:
    """A point inside a cell, away from its border and from the number in its middle."""
    return cell.topLeft() + QPointF(cell.width() * 0.2, cell.height() * 0.2)


def colour_of(value: float, scale: Scale) -> int:
    return int(to_rgb32([[value]], scale)[0, 0])  # type: ignore[arg-type]
