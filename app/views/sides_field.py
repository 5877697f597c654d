"""Which columns, languages or files of a corpus are source and target."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QWidget

from mlxdecoder.app.session.corpus_log import CorpusLog
from mlxdecoder.app.views.parts import button, named, unwheeled
from mlxdecoder.labels import elided

WIDEST = 40  # columns of a name
NAMES = {"columns": "column", "languages": "language", "files": "file"}


class SidesField(QWidget):
    """Two choices out of what a corpus offers, and what makes them change places.

    `chosen` tells the places of source and target, once both are there.
    """

    chosen = Signal(int, int)

    def __init__(self) -> None:
        super().__init__()
        self._sides = self._made(), self._made()
        self._taken = (-1, -1)  # what was chosen before, -1 is nothing
        self._swap = named(button("⇄", "Let source and target change places"), "Swap source and target")
        self._swap.setFixedWidth(self._swap.fontMetrics().horizontalAdvance("⇄⇄⇄⇄"))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        for widget, stretch in ((self._sides[0], 1), (self._swap, 0), (self._sides[1], 1)):
            row.addWidget(widget, stretch)
        self.setFocusProxy(self._sides[0])
        self._swap.clicked.connect(self._turn)

    def show_log(self, log: CorpusLog) -> None:
        """Show what is offered, and what of it is chosen."""
        self._taken = log.chosen or (-1, -1)
        for box, side, place in zip(self._sides, ("source", "target"), self._taken, strict=True):
            named(box, f"{NAMES.get(log.sides, 'column').capitalize()} of the {side}")
            self._fill(box, log)
            box.setCurrentIndex(place)
            box.setToolTip(f"{side.capitalize()}: {box.currentText()}" if place >= 0 else f"Choose the {side}")
        self._swap.setEnabled(log.chosen is not None)

    def _made(self) -> QComboBox:
        box = QComboBox(minimumContentsLength=4)
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setPlaceholderText("Choose…")
        box.activated.connect(self._picked)
        return unwheeled(box)

    def _fill(self, box: QComboBox, log: CorpusLog) -> None:
        names = [_label(name, log.sides) for name in log.offered]
        if names != [box.itemText(place) for place in range(box.count())]:
            box.clear()
            box.addItems(names)
            for place, name in enumerate(log.offered):
                box.setItemData(place, name, Qt.ItemDataRole.ToolTipRole)

    @Slot(int)
    def _picked(self, place: int) -> None:
        """What is taken for one side is free on the other, which gets what this one had."""
        here = 0 if self.sender() is self._sides[0] else 1
        there = 1 - here
        if self._sides[there].currentIndex() == place:
            self._sides[there].setCurrentIndex(self._taken[here])
        self._taken = self._sides[0].currentIndex(), self._sides[1].currentIndex()
        if min(self._taken) >= 0:
            self.chosen.emit(*self._taken)

    @Slot()
    def _turn(self) -> None:
        self.chosen.emit(self._taken[1], self._taken[0])


def _label(name: str, sides: str) -> str:
    """A name in one line; a number by itself would say nothing."""
    return f"Column {name}" if sides == "columns" and name.isdecimal() else elided(name, WIDEST)
