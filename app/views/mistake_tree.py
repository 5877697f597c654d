"""The catalogue of mistakes as toggles, grouped by stage; what only looks like a mistake stands apart."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSignalBlocker, QSize, Qt, Signal, Slot
from PySide6.QtGui import QPainter, QPalette
from PySide6.QtWidgets import (
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
)

from mlxdecoder.app.session.catalogue import Entry
from mlxdecoder.app.views.painting import is_dark
from mlxdecoder.app.views.switching import advice, shows_in

ID = Qt.ItemDataRole.UserRole
ROOM = 12  # pixels beside a title
HARMLESS = "Looks wrong, is not"


class MistakeTree(QTreeWidget):
    """Toggles; `switched` tells of those that somebody pressed, `chosen` of the one whose card is wanted."""

    switched = Signal(str, bool)
    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Mistakes")
        self.setColumnCount(2)
        self.setHeaderLabels(["Mistake", "Only in"])
        self.setWordWrap(True)
        self.setItemDelegate(Wrapping(self))
        self.setIndentation(14)
        self.header().setStretchLastSection(False)
        self.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.header().sectionResized.connect(self.scheduleDelayedItemsLayout)
        self.itemChanged.connect(self._changed)
        self.currentItemChanged.connect(self._current_changed)

    def fill(self, entries: dict[str, Entry]) -> None:
        """Show these entries, in their order."""
        with QSignalBlocker(self):
            self.clear()
            groups: dict[str, QTreeWidgetItem] = {}
            for entry in sorted(entries.values(), key=lambda entry: entry.harmless):
                name = HARMLESS if entry.harmless else entry.stage.capitalize()
                if name not in groups:
                    groups[name] = _group(self, name)
                _item(groups[name], entry)
        self.expandAll()

    def mark(self, mistakes: tuple[str, ...]) -> None:
        """Show which are on."""
        with QSignalBlocker(self):
            for item in self.items():
                on = item.data(0, ID) in mistakes
                item.setCheckState(0, Qt.CheckState.Checked if on else Qt.CheckState.Unchecked)
        self.viewport().update()

    def choose(self, name: str) -> None:
        """Go to an entry, even if it was filtered out."""
        for group in self._groups():
            for item in _children(group):
                if item.data(0, ID) == name:
                    group.setHidden(False)
                    item.setHidden(False)
                    self.setCurrentItem(item)
                    self.scrollToItem(item)

    def search(self, text: str) -> int:
        """Show only what has all these words in its title, stage, number or code; gives how many those are."""
        words = text.casefold().split()
        for item in self.items():
            item.setHidden(not all(word in item.data(1, ID) for word in words))
        for group in self._groups():
            group.setHidden(all(item.isHidden() for item in _children(group)))
        return sum(not item.isHidden() for item in self.items())

    def items(self) -> Iterator[QTreeWidgetItem]:
        """The toggles, without the headings."""
        for group in self._groups():
            yield from _children(group)

    def _groups(self) -> list[QTreeWidgetItem]:
        return _children(self.invisibleRootItem())

    @Slot(QTreeWidgetItem, int)
    def _changed(self, item: QTreeWidgetItem, column: int) -> None:
        if column == 0 and item.data(0, ID) is not None:
            self.switched.emit(item.data(0, ID), item.checkState(0) == Qt.CheckState.Checked)

    @Slot(QTreeWidgetItem, QTreeWidgetItem)
    def _current_changed(self, item: QTreeWidgetItem | None, before: QTreeWidgetItem | None) -> None:
        if item is not None and item.data(0, ID) is not None:
            self.chosen.emit(item.data(0, ID))


class Wrapping(QStyledItemDelegate):
    """Rows as high as their titles, which Qt wraps without making room for it; and boxes that are seen."""

    def __init__(self, tree: QTreeWidget) -> None:
        super().__init__(tree)
        self._tree = tree

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        hint = super().sizeHint(option, index)
        if index.column() or not index.parent().isValid():
            return hint
        box = self._tree.style().pixelMetric(QStyle.PixelMetric.PM_IndicatorWidth)
        width = self._tree.columnWidth(0) - 2 * self._tree.indentation() - box - ROOM
        text = str(index.data())
        lines = self._tree.fontMetrics().boundingRect(0, 0, max(width, box), 1000, Qt.TextFlag.TextWordWrap, text)
        return QSize(hint.width(), max(hint.height(), lines.height() + 2))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().paint(painter, option, index)
        # Fusion draws the box of a dark palette dark on dark.
        if index.data(ID) is not None and is_dark(option.palette) and self._tree.style().name() == "fusion":
            self.initStyleOption(option, index)
            element = QStyle.SubElement.SE_ItemViewItemCheckIndicator
            painter.setPen(option.palette.color(QPalette.ColorRole.PlaceholderText))
            painter.drawRect(self._tree.style().subElementRect(element, option, self._tree).adjusted(0, 0, -1, -1))


def _children(item: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    children = (item.child(place) for place in range(item.childCount()))
    return [child for child in children if child is not None]


def _group(tree: QTreeWidget, name: str) -> QTreeWidgetItem:
    group = QTreeWidgetItem(tree, [name])
    group.setFlags(Qt.ItemFlag.ItemIsEnabled)
    font = tree.font()
    font.setBold(True)
    group.setFont(0, font)
    group.setFirstColumnSpanned(True)
    return group


def _item(group: QTreeWidgetItem, entry: Entry) -> QTreeWidgetItem:
    item = QTreeWidgetItem(group, [entry.title, shows_in(entry)])
    item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsUserCheckable)
    item.setData(0, ID, entry.id)
    searched = (entry.title, entry.id, entry.stage, str(entry.number), entry.right, entry.wrong, shows_in(entry))
    item.setData(1, ID, " ".join(searched).casefold())
    item.setCheckState(0, Qt.CheckState.Unchecked)
    for column in (0, 1):
        item.setToolTip(column, entry.title)
    item.setData(0, Qt.ItemDataRole.AccessibleDescriptionRole, advice(entry))
    return item
