"""The panel that breaks a model on purpose: toggles above; the card, a comparison and twins below."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QSplitter, QTabWidget, QVBoxLayout, QWidget

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.card import Card
from mlxdecoder.app.views.comparison import Comparison
from mlxdecoder.app.views.diagnosis import DiagnosisDialog
from mlxdecoder.app.views.mistake_tree import MistakeTree
from mlxdecoder.app.views.parts import Column, Scrolled, Text, button, named
from mlxdecoder.app.views.switching import switch
from mlxdecoder.app.views.twin import TwinView


class BreakPanel(QWidget):
    """The catalogue of mistakes. `wanted` says that something here is to be seen, for whoever holds the panel."""

    wanted = Signal()

    def __init__(self, session: Session, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.setAccessibleName("Mistakes to switch on")
        self._make(bridge)
        self._lay_out()
        bridge.changed.connect(self.session_changed)
        self.session_changed("welcome")

    def _make(self, bridge: Bridge) -> None:
        self.search = named(QLineEdit(placeholderText="Find a mistake", clearButtonEnabled=True), "Find a mistake")
        self.diagnose_button = button("Diagnose…", "Find out what is wrong with the model as it is now")
        self.tree = MistakeTree()
        self.card = Card(self._session, bridge)
        self.comparison = Comparison(self._session, bridge)
        self.twin = TwinView(self._session, bridge)
        self.diagnosis = DiagnosisDialog(self._session, bridge, self)
        self._nothing = Text()
        self.search.textChanged.connect(self._find)
        self.diagnose_button.clicked.connect(self.diagnosis.diagnose)
        self.tree.switched.connect(self._switch)
        self.tree.chosen.connect(self.card.show_entry)
        self.diagnosis.card_wanted.connect(self.show_card)

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.addWidget(self.search, 1)
        row.addWidget(self.diagnose_button)
        self.tabs = named(QTabWidget(), "About the mistakes")
        self.tabs.tabBar().setAccessibleName("About the mistakes")
        self.tabs.setDocumentMode(True)
        for name, view in (("Card", self.card), ("Compare", self.comparison), ("Twins", self.twin)):
            self.tabs.addTab(Scrolled(view, name), name)
        parts = QSplitter(Qt.Orientation.Vertical)
        parts.setChildrenCollapsible(False)
        for widget, share in ((Column(self._nothing, self.tree), 2), (self.tabs, 3)):
            parts.addWidget(widget)
            parts.setStretchFactor(parts.count() - 1, share)
        column = QVBoxLayout(self)
        column.addLayout(row)
        column.addWidget(parts, 1)

    @Slot(str)
    def session_changed(self, topic: str) -> None:
        if topic == "welcome":
            self.tree.fill(self._session.entries)
            self._find(self.search.text())
        if topic in ("welcome", "document"):
            self.tree.mark(self._session.document.mistakes)
        if topic in ("welcome", "worker"):
            self.diagnose_button.setEnabled(self._session.alive)

    @Slot(str)
    def show_card(self, name: str) -> None:
        """Go to the card of a mistake."""
        self.tree.choose(name)
        self.card.show_entry(name)
        self.tabs.setCurrentIndex(0)
        self.wanted.emit()

    @Slot(str)
    def _find(self, text: str) -> None:
        found = self.tree.search(text)
        self._nothing.say("" if found or not self._session.entries else f"No mistake has all of: {text}")

    @Slot(str, bool)
    def _switch(self, name: str, on: bool) -> None:
        switch(self._session, name, on)
        self.card.show_entry(name)
