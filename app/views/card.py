"""The card of one mistake: the code, a question, and only then what it does."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.session.catalogue import Entry
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.code_lines import CodeLine
from mlxdecoder.app.views.parts import Column, Text, button, named
from mlxdecoder.app.views.switching import advice, hindrance, switch
from mlxdecoder.app.views.verdict import Verdict


class Card(QWidget):
    """One entry of the catalogue. What it does stays folded until one has had the chance to think."""

    def __init__(self, session: Session, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._entry: Entry | None = None
        self._revealed: set[str] = set()
        self._guesses: dict[str, str] = {}
        self._make(bridge)
        self._lay_out()
        bridge.changed.connect(self.session_changed)
        self._show()

    def _make(self, bridge: Bridge) -> None:
        self._title, self._advice = Text(strong=True), Text("Choose a mistake above.")
        self.on = QCheckBox("Switched on")
        self.on.clicked.connect(self._switch)
        self._wrong_name = Text("Wrong")
        self._right, self._wrong = CodeLine("Right"), CodeLine("Wrong")
        self._question, self._effect = Text(strong=True), Text()
        self.guess = named(QLineEdit(placeholderText="What do you expect?"), "Your answer")
        self.guess.textEdited.connect(self._guessed)
        self.guess.returnPressed.connect(self._reveal)
        self.reveal = button("Show", "Show the answer, and what to look for")
        self.reveal.clicked.connect(self._reveal)
        self.verdict = Verdict(self._session, bridge)

    def _lay_out(self) -> None:
        row = QWidget()
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(self.guess, 1)
        line.addWidget(self.reveal)
        code = (Text("Right"), self._right, self._wrong_name, self._wrong)
        self._body = Column(self.on, *code, self._question, row, self._effect, self.verdict)
        column = QVBoxLayout(self)
        for widget in (self._title, self._advice, self._body):
            column.addWidget(widget)
        column.addStretch(1)

    @property
    def entry(self) -> Entry | None:
        return self._entry

    @Slot(str)
    def show_entry(self, name: str) -> None:
        """Show the card of this mistake."""
        self._entry = self._session.entries.get(name)
        if self._entry is not None:
            self.verdict.show_entry(self._entry)
            self.guess.setText(self._guesses.get(name, ""))
        self._show()

    @Slot(str)
    def session_changed(self, topic: str) -> None:
        if topic in ("document", "welcome", "model"):
            self._show()

    def _show(self) -> None:
        entry = self._entry
        self._body.setVisible(entry is not None)
        if entry is None:
            return
        self._title.say(f"{entry.number}. {entry.title}")
        why = hindrance(self._session, entry.id)
        self._advice.say(f"{why.capitalize()}." if why else advice(entry))
        self.on.setChecked(entry.id in self._session.document.mistakes)
        self._right.show_code(entry.right, entry.wrong)
        self._wrong.show_code(entry.wrong, entry.right)
        self._wrong_name.say("Just as right" if entry.harmless else "Wrong")
        self._question.say(entry.question)
        self._show_effect(entry)

    def _show_effect(self, entry: Entry) -> None:
        revealed = entry.id in self._revealed
        self.reveal.setEnabled(not revealed)
        self._effect.say(effect(entry) if revealed else "")

    @Slot(bool)
    def _switch(self, on: bool) -> None:
        if self._entry is not None:
            switch(self._session, self._entry.id, on)

    @Slot(str)
    def _guessed(self, text: str) -> None:
        if self._entry is not None:
            self._guesses[self._entry.id] = text

    @Slot()
    def _reveal(self) -> None:
        if self._entry is not None:
            self._revealed.add(self._entry.id)
            self._show_effect(self._entry)


def effect(entry: Entry) -> str:
    """The answer, and what to look for."""
    looks = {"In the heatmaps": entry.heatmap, "In the curves": entry.curves, "In what it writes": entry.generation}
    return "\n\n".join([entry.answer, *(f"{where}: {text}" for where, text in looks.items() if text)])
