"""A row of widgets that breaks into further rows where it is narrow."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget


class FlowLayout(QLayout):
    """Lays widgets out from left to right, and on in the next row when there is no more room."""

    def __init__(self, parent: QWidget, across: int = 12, down: int = 4) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._across, self._down = across, down
        self.setContentsMargins(0, 0, 0, 0)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return max((place.bottom() + 1 for _, place in self._places(width)), default=0)

    def sizeHint(self) -> QSize:
        sizes = [item.sizeHint() for item in self._shown()]
        width = sum(size.width() for size in sizes) + self._across * max(len(sizes) - 1, 0)
        return QSize(width, max((size.height() for size in sizes), default=0))

    def minimumSize(self) -> QSize:
        sizes = [item.minimumSize() for item in self._shown()]
        return QSize(max((size.width() for size in sizes), default=0), self.sizeHint().height())

    def setGeometry(self, area: QRect) -> None:
        super().setGeometry(area)
        for item, place in self._places(area.width()):
            item.setGeometry(place.translated(area.topLeft()))

    def _shown(self) -> list[QLayoutItem]:
        return [item for item in self._items if not item.isEmpty()]

    def _places(self, width: int) -> Iterator[tuple[QLayoutItem, QRect]]:
        """Each item and where it goes; those of one row stand on one middle line."""
        row: list[tuple[QLayoutItem, QRect]] = []
        corner, high = QPoint(0, 0), 0
        for item in self._shown():
            size = item.sizeHint()
            if row and corner.x() + size.width() > width:
                yield from _centred(row, high)
                row, corner, high = [], QPoint(0, corner.y() + high + self._down), 0
            row.append((item, QRect(corner, size)))
            corner, high = corner + QPoint(size.width() + self._across, 0), max(high, size.height())
        yield from _centred(row, high)


def _centred(row: list[tuple[QLayoutItem, QRect]], high: int) -> Iterator[tuple[QLayoutItem, QRect]]:
    for item, place in row:
        yield item, place.translated(0, (high - place.height()) // 2)
