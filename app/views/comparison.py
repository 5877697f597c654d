"""Right and mistaken beside each other, in words: what each writes, and where they part."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.parts import Text, button
from mlxdecoder.app.views.wording import isolated


class Comparison(QWidget):
    """Asks for a comparison, and shows it as long as it is about what is on screen."""

    def __init__(self, session: Session, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._run = 0
        self._asked_of: object = None
        self._hint, self._right, self._wrong, self._rest = Text("Compare"), Text(strong=True), Text(strong=True), Text()
        self._names = (Text("Right"), Text("Mistaken"))
        self.ask = button("Compare", "Write it with and without the mistakes that are on")
        self.ask.clicked.connect(self._ask)
        column = QVBoxLayout(self)
        for widget in (self._hint, self.ask, self._names[0], self._right, self._names[1], self._wrong, self._rest):
            column.addWidget(widget)
        column.addStretch(1)
        bridge.changed.connect(self.session_changed)
        self._show()

    @property
    def _state(self) -> object:
        document = self._session.document
        return document.fingerprint, document.sentence, document.mistakes

    @Slot(str)
    def session_changed(self, topic: str) -> None:
        if topic in ("document", "comparison", "busy", "worker", "welcome"):
            self._show()

    @Slot()
    def _ask(self) -> None:
        document = self._session.document
        self._asked_of = self._state
        self._run = self._session.requests.ask("compare", sentence=document.sentence, mistakes=list(document.mistakes))
        self._show()

    def _show(self) -> None:
        waits = self._run > 0 and self._session.requests.busy("compare")
        on = bool(self._session.document.mistakes)
        self.ask.setEnabled(on and self._session.alive and not waits)
        self._show_found(self._found())
        self._hint.say(self._advice(on, waits))

    def _found(self) -> Message | None:
        told = self._session.comparison
        current = self._asked_of == self._state
        return told if told is not None and told.run == self._run and current else None

    def _show_found(self, found: Message | None) -> None:
        right, wrong = found["translations"] if found is not None else ("", "")
        for name, text, translation in zip(self._names, (self._right, self._wrong), (right, wrong), strict=True):
            name.setVisible(found is not None)
            text.say("" if found is None else isolated(translation) if translation.strip() else "(nothing)")
        self._rest.say("" if found is None else in_words(found))

    def _advice(self, on: bool, waits: bool) -> str:
        if not on:
            return "Switch a mistake on, to compare it with the correct model."
        if waits:
            return "Comparing…"
        if self._run and self._asked_of == self._state and self._found() is None:
            return f"Could not be compared. {self._session.notice}"
        return ""


def in_words(found: Message) -> str:
    """Where the two part, how that was found, and what else is to be known."""
    first = found["first_difference"]
    parted = "Both write the same tokens." if first is None else f"They part at token {first + 1}."
    how = f"How it was found: {found['how']}." if found["how"] else ""
    return "\n".join(line for line in (parted, how, *found["notes"]) if line)
