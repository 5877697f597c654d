"""A map of one side under its name, as one of several beside each other."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from mlxdecoder.app.views import words
from mlxdecoder.app.views.map_panel import MapPanel
from mlxdecoder.app.views.shown import Head


class HeadColumn(QWidget):
    """A map under its name."""

    def __init__(self, side: str) -> None:
        super().__init__()
        self.side = side
        self.panel = MapPanel()
        self.panel.setAccessibleName("Heatmap")
        self._name = line("title")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(self._name)
        column.addWidget(self.panel, 1)
        self.hide()

    def show_head(self, head: Head | None, alone: bool) -> None:
        """Show a head; without one, take no room. `alone` leaves out the name of the side."""
        self.panel.show_head(head)
        self.setVisible(head is not None)
        if head is None:
            return
        name = words.SIDES[self.side][0]
        self._name.setText(name)
        self._name.setVisible(not alone or self.side == "change")
        findings = head.findings()
        self.panel.setAccessibleName(f"Heatmap: {head.title}, {name.lower()}. {' '.join(findings)}".strip())


def line(name: str) -> QLabel:
    """A line of text, bold where it is a title."""
    label = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
    label.setObjectName(name)
    label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    if name == "title":
        font = label.font()
        font.setBold(True)
        label.setFont(font)
    return label
