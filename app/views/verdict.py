"""The contracts that find a mistake, and what they say of the model at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.session.catalogue import Entry
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.parts import Text, button

MARKS = {True: "holds", False: "FAILS", None: "not tried"}


class Verdict(QWidget):
    """A button that tries the contracts of one mistake, and their answers while these are still true."""

    def __init__(self, session: Session, bridge: Bridge) -> None:
        super().__init__()
        self._session = session
        self._entry: Entry | None = None
        self._run = 0
        self._asked_of: object = None
        self._found_by, self._answer = Text(), Text()
        self.ask = button("Try on this model", "Try these contracts on the model as it is now")
        self.ask.clicked.connect(self._ask)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        for widget in (self._found_by, self.ask, self._answer):
            column.addWidget(widget)
        bridge.changed.connect(self.session_changed)

    def show_entry(self, entry: Entry) -> None:
        """Be about this mistake."""
        self._entry, self._run = entry, 0
        found = ", ".join(entry.contracts)
        self._found_by.say(f"Found by {found}." if found else "There is nothing to find.")
        self.ask.setVisible(bool(found))
        self._show()

    @property
    def _state(self) -> object:
        """What the answer is about: the model and what is switched on in it."""
        return self._session.document.fingerprint, self._session.document.mistakes

    @Slot(str)
    def session_changed(self, topic: str) -> None:
        if topic in ("verdict", "busy", "document", "worker", "welcome"):
            self._show()

    @Slot()
    def _ask(self) -> None:
        if self._entry is not None:
            self._asked_of = self._state
            self._run = self._session.requests.ask(
                "verdict", of=self._entry.id, mistakes=list(self._session.document.mistakes)
            )
            self._show()

    def _show(self) -> None:
        waits = self._run > 0 and self._session.requests.busy("verdict")
        self.ask.setEnabled(self._session.alive and not waits)
        self._answer.say(self._said(waits))

    def _said(self, waits: bool) -> str:
        told = self._session.told.get("verdict")
        if not self._run or self._asked_of != self._state:
            return ""
        if told is not None and told.run == self._run:
            return "\n\n".join(map(_line, told["contracts"]))
        return "Trying…" if waits else f"Could not be tried. {self._session.notice}"


def _line(contract: Mapping[str, Any]) -> str:
    rule = f": {contract['states']}" if contract["states"] else ""
    return f"{contract['name']} on the {contract['on']} {MARKS[contract['holds']]}{rule}\n{contract['proof']}"
