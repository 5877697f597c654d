"""A heatmap as a table: the form for screen readers, and for whoever wants numbers."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QAbstractItemView, QTableView, QWidget

from mlxdecoder.app.views import words
from mlxdecoder.app.views.shown import Head

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()


class HeadModel(QAbstractTableModel):
    """The values of a head as text: a row for each query, a column for each key, and the sums where there are any."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._head: Head | None = None

    def show_head(self, head: Head | None) -> None:
        """Hold this head from now on."""
        self.beginResetModel()
        self._head = head
        self.endResetModel()

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() or self._head is None else self._head.values.shape[0]

    def columnCount(self, parent: Index = ROOT) -> int:
        if parent.isValid() or self._head is None:
            return 0
        return self._head.values.shape[1] + len(self._extra(self._head))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        head = self._head
        if head is None or not index.isValid():
            return None
        row, column = index.row(), index.column()
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        in_map = column < head.values.shape[1]
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(head, row, column) if in_map else self._extra_text(head, row, column)
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
            return head.tell(row, column) if in_map else head.tell_row(row)
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if self._head is None or role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return None
        tokens = self._head.queries if orientation == Qt.Orientation.Vertical else self._head.keys
        if section >= len(tokens):
            return self._extra(self._head)[section - len(tokens)]
        spell = words.label if role == Qt.ItemDataRole.DisplayRole else words.whole
        return f"{section} {spell(tokens[section])}"

    def _text(self, head: Head, row: int, column: int) -> str:
        outside = "" if head.intended[row, column] else "◂ "
        return outside + words.number(float(head.values[row, column]), head.scale.signed)

    def _extra(self, head: Head) -> list[str]:
        return [] if head.sums is None else ["sum", "outside the mask"]

    def _extra_text(self, head: Head, row: int, column: int) -> str:
        assert head.sums is not None
        if column == head.values.shape[1]:
            return ("○ " if row in head.wrong_sums else "") + words.number(float(head.sums[row]))
        return words.number(float(head.outside[row]))


class HeadTable(QTableView):
    """A head in numbers; ◂ stands before what lies outside the intended mask, ○ before a wrong sum."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._numbers = HeadModel(self)
        self.setModel(self._numbers)
        self.setAccessibleName("Values of the chosen head as a table")
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)  # Tab leaves the table

    def show_head(self, head: Head | None) -> None:
        """Show this head, and stay where the reader is."""
        here = self.currentIndex()
        self._numbers.show_head(head)
        if self._numbers.hasIndex(here.row(), here.column()):
            self.setCurrentIndex(self._numbers.index(here.row(), here.column()))
