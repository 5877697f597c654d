"""A table of words, numbers and bars, for the panels beside the heatmaps: read by eye, keyboard and screen reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QKeyEvent, QKeySequence, QPainter, QPalette
from PySide6.QtWidgets import (
    QApplication,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from mlxdecoder.app.views.steps import tooltip

Index = QModelIndex | QPersistentModelIndex
BAR = Qt.ItemDataRole.UserRole
OPAQUE = 100  # of 255: the number over a bar stays readable on light and dark ground
MARGIN = 5


@dataclass(frozen=True)
class Bar:
    """A number in words, over a bar as long as its value; a value that is no number draws none."""

    text: str
    value: float


Row = Sequence[str | Bar]


class BarModel(QAbstractTableModel):
    """Rows of texts and bars under named columns; rows that come are added, so that the choice stays."""

    def __init__(self, columns: Sequence[str], parent: QWidget) -> None:
        super().__init__(parent)
        self.columns = tuple(columns)
        self.rows: list[Row] = []
        self._most: Mapping[int, float] = {}

    def fill(self, rows: Sequence[Row], most: Mapping[int, float] = MappingProxyType({})) -> None:
        """Show these rows; `most` are the values of bars that fill their cells, by column, else 1."""
        self._most = most
        before, after = len(self.rows), len(rows)
        if after > before:
            self.beginInsertRows(QModelIndex(), before, after - 1)
            self.rows = list(rows)
            self.endInsertRows()
        elif after < before:
            self.beginRemoveRows(QModelIndex(), after, before - 1)
            self.rows = list(rows)
            self.endRemoveRows()
        self.rows = list(rows)
        if rows:
            self.dataChanged.emit(self.index(0, 0), self.index(after - 1, len(self.columns) - 1))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        wanted = orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole
        return self.columns[section] if wanted else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        cell = self.rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return _text(cell)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tooltip(_text(cell))
        if role == BAR:
            return cell.value / self._most.get(index.column(), 1.0) if isinstance(cell, Bar) else None
        return None


class BarDelegate(QStyledItemDelegate):
    """Draws the bar of a cell between its ground and its text."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        share = index.data(BAR)
        if share is None:
            super().paint(painter, option, index)
            return
        cell: Any = QStyleOptionViewItem(option)  # the stubs know none of its fields
        self.initStyleOption(cell, index)
        text, cell.text = cell.text, ""
        style: QStyle = cell.widget.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, cell, painter, cell.widget)
        chosen = bool(cell.state & QStyle.StateFlag.State_Selected)
        if share > 0:
            painter.fillRect(bar_within(cell.rect, share), bar_colour(cell.palette, chosen))
        ink = QPalette.ColorRole.HighlightedText if chosen else QPalette.ColorRole.Text
        room = cell.rect.adjusted(MARGIN, 0, -MARGIN, 0)
        style.drawItemText(painter, room, Qt.AlignmentFlag.AlignVCenter, cell.palette, True, text, ink)


def bar_colour(palette: QPalette, chosen: bool) -> QColor:
    """A colour for a bar on which the text of its cell can be read, in a chosen row or another."""
    colour = palette.color(QPalette.ColorRole.Highlight)
    if not chosen:
        colour.setAlpha(OPAQUE)
        return colour
    light_text = palette.color(QPalette.ColorRole.HighlightedText).lightness() > 127
    return colour.darker(150) if light_text else colour.lighter(150)


def bar_within(cell: QRect, share: float) -> QRect:
    """Where the bar of a share lies in its cell; the smallest one can still be seen."""
    inner = cell.adjusted(2, 3, -2, -3)
    inner.setWidth(max(2, round(inner.width() * min(share, 1.0))))
    return inner


class BarTable(QTableView):
    """A `BarModel` on screen, as high as a number of rows when there is room.

    `picked` tells the row that was clicked, or on which Return was pressed.
    """

    picked = Signal(int)

    def __init__(self, name: str, columns: Sequence[str], stretched: Sequence[int], rows: int) -> None:
        super().__init__()
        self._rows = rows
        self.content = BarModel(columns, self)
        self.setModel(self.content)
        self.setItemDelegate(BarDelegate(self))
        self.setAccessibleName(name)
        self.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QTableView.SelectionMode.ExtendedSelection)
        self.setTabKeyNavigation(False)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setWordWrap(False)
        self.setShowGrid(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 8)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setResizeContentsPrecision(0)
        for column in stretched:
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setHighlightSections(False)
        self.clicked.connect(self._clicked)

    def sizeHint(self) -> QSize:
        return QSize(200, self.height_of(self._rows))

    def height_of(self, rows: int) -> int:
        """The height in which so many rows are in sight."""
        inside = rows * self.verticalHeader().defaultSectionSize()
        return self.horizontalHeader().sizeHint().height() + inside + 2 * self.frameWidth()

    def fill(self, rows: Sequence[Row], most: Mapping[int, float] = MappingProxyType({})) -> None:
        """Show these rows; `most` are the values of bars that fill their cells, by column, else 1."""
        self.content.fill(rows, most)

    def choose(self, row: int | None) -> None:
        """Mark a row and bring it into sight; None marks none."""
        if row is None:
            self.clearSelection()
        elif row != self.currentIndex().row() or not self.selectionModel().isRowSelected(row, QModelIndex()):
            self.selectRow(row)
            self.scrollTo(self.content.index(row, 0))

    @Slot()
    def copy(self) -> None:
        """Put the chosen rows, or all when none is chosen, on the clipboard, with tabs between the columns."""
        chosen = sorted(index.row() for index in self.selectionModel().selectedRows())
        rows = [self.content.columns, *(self.content.rows[row] for row in chosen or range(len(self.content.rows)))]
        QApplication.clipboard().setText("\n".join("\t".join(_text(cell) for cell in row) for row in rows))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row = self.currentIndex().row()
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and row >= 0:
            self.picked.emit(row)
        else:
            super().keyPressEvent(event)

    @Slot(QModelIndex)
    def _clicked(self, index: QModelIndex) -> None:
        self.picked.emit(index.row())


def _text(cell: str | Bar) -> str:
    return cell.text if isinstance(cell, Bar) else cell
