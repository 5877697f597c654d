"""What is wrong with the model at hand, as far as the contracts can tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.parts import Text, button, fixed_font, named

ID = Qt.ItemDataRole.UserRole


class DiagnosisDialog(QDialog):
    """Shows what the contracts say of the model; each suspect leads to its card, of which `card_wanted` tells."""

    card_wanted = Signal(str)

    def __init__(self, session: Session, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._waiting = False
        self._before: Message | None = None  # what was told when the newest diagnosis was asked for
        self._answer: Message | None = None
        self._asked_of: object = None
        self.setWindowTitle("Diagnosis")
        self.setModal(False)
        self.resize(620, 460)
        self._make()
        bridge.changed.connect(self.session_changed)

    def _make(self) -> None:
        self._state = Text("Diagnosis", strong=True)
        self.suspects = named(QListWidget(), "Suspects")
        self.suspects.setWordWrap(True)
        self.suspects.itemActivated.connect(self._open_card)
        self.suspects.currentItemChanged.connect(self._show)
        self.report = named(QPlainTextEdit(readOnly=True), "What the contracts say")
        self.report.setFont(fixed_font())
        self.report.setTabChangesFocus(True)
        self.card = button("Show its card", "Go to the card of the suspect")
        self.again = button("Diagnose again", "Run the contracts on the model as it is now")
        self.card.clicked.connect(self._open_card)
        self.again.clicked.connect(self.diagnose)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.addButton(self.card, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.addButton(self.again, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.rejected.connect(self.close)
        column = QVBoxLayout(self)
        for widget, stretch in ((self._state, 0), (self.suspects, 1), (self.report, 2), (buttons, 0)):
            column.addWidget(widget, stretch)

    @property
    def _of_now(self) -> object:
        return self._session.document.fingerprint, self._session.document.mistakes

    @Slot()
    def diagnose(self) -> None:
        """Look at the model as it is now."""
        self._session.requests.ask("diagnose", mistakes=list(self._session.document.mistakes))

    @Slot(str)
    def session_changed(self, topic: str) -> None:
        if topic in ("busy", "diagnosis"):
            self._follow()
        if topic in ("busy", "diagnosis", "document", "worker", "welcome"):
            self._show()

    def _follow(self) -> None:
        """Open when a diagnosis is asked for, by whomever, and take its answer."""
        busy, told = self._session.requests.busy("diagnose"), self._session.told.get("diagnosis")
        if busy and not self._waiting:
            self._waiting, self._before, self._answer, self._asked_of = True, told, None, self._of_now
            self._fill([], "")
            self._come_up()
        elif self._waiting and not busy:
            self._waiting = False
            self._answer = None if told is self._before else told
            if self._answer is not None:
                self._fill(self._answer["suspects"], self._answer["text"])

    def _come_up(self) -> None:
        self.show()
        self.raise_()
        self.activateWindow()

    @Slot()
    def _show(self) -> None:
        self._state.say(self._told(None if self._answer is None else self._answer["holds"]))
        self.again.setEnabled(self._session.alive and not self._waiting)
        self.card.setEnabled(self.suspects.currentItem() is not None)

    def _told(self, holds: bool | None) -> str:
        if self._waiting:
            return "Trying the contracts on this model…"
        if holds is None:
            return f"Could not be diagnosed. {self._session.notice}"
        found = "Nothing says that something is wrong." if holds else "Something is wrong."
        return found if self._asked_of == self._of_now else f"{found} The model has changed since: diagnose again."

    def _fill(self, suspects: Sequence[Mapping[str, Any]], text: str) -> None:
        self.suspects.clear()
        for suspect in suspects:
            item = QListWidgetItem(f"{suspect['title']}\n{suspect['why']}", self.suspects)
            item.setData(ID, suspect["id"])
        self.suspects.setCurrentRow(0 if suspects else -1)
        self.suspects.setVisible(bool(suspects))
        self.report.setPlainText(text)

    @Slot()
    def _open_card(self) -> None:
        if (item := self.suspects.currentItem()) is not None:
            self.card_wanted.emit(item.data(ID))
