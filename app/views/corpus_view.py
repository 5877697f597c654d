"""What is known of a corpus: what it is, what training drops and how it begins; or how far it is read."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from mlxdecoder.app.session.corpora import CHOOSE, Which
from mlxdecoder.app.session.corpus_log import CorpusLog
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.announcing import announce
from mlxdecoder.app.views.bar_table import BarTable
from mlxdecoder.app.views.parts import Text, button
from mlxdecoder.app.views.wording import counted


class CorpusView(QWidget):
    """A corpus of a session with its first `rows` pairs; `other_wanted` asks for the other side of a file with one."""

    other_wanted = Signal()

    def __init__(self, session: Session, which: Which, name: str, rows: int) -> None:
        super().__init__()
        self._session, self._which, self._rows = session, which, rows
        self._announced = ""
        self.recognised, self.counted, self.why = Text(), Text(), Text(strong=True)
        self.why.setAccessibleName(f"{name}: why it cannot be read")
        self.preview = BarTable(f"{name}: how it begins", ("Source", "Target"), stretched=(0, 1), rows=rows)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        for widget in (self.recognised, self.counted, self.why, self._buttons(name), self.preview):
            column.addWidget(widget)

    def _buttons(self, name: str) -> QWidget:
        made = QWidget()
        row = QHBoxLayout(made)
        row.setContentsMargins(0, 0, 0, 0)
        self.buttons: dict[str, QPushButton] = {}
        for command, text, tip in (
            ("stop", "Stop", "Count no further; training can begin all the same"),
            ("again", "Read again", "Read it once more"),
            ("other", "Add the other side…", "Choose a second file, with the translations line by line"),
            ("back", "Back", "Back to what was chosen before"),
        ):
            self.buttons[command] = button(text, tip)
            self.buttons[command].setAccessibleName(f"{name}: {text.rstrip('…').lower()}")
            self.buttons[command].clicked.connect(getattr(self, f"_{command}"))
            row.addWidget(self.buttons[command])
        row.addStretch(1)
        self._bar = made
        return made

    def show_log(self, log: CorpusLog) -> None:
        """Show what is known now."""
        self.recognised.say(log.text)
        self.counted.say(_told(log))
        self.why.say(_why(log))
        self._show_buttons(log)
        pairs = log.preview[: self._rows]
        self.preview.fill(pairs)
        self.preview.setVisible(bool(pairs))
        self.preview.setFixedHeight(self.preview.height_of(len(pairs)))
        said = log.why or log.counted
        if said != self._announced:
            self._announced = said
            announce(self, said)

    def _show_buttons(self, log: CorpusLog) -> None:
        refused, one = log.state == "refused", len(log.asked.get("corpus", ())) == 1
        shown = {
            "stop": log.state == "reading",
            "again": refused or log.state == "stopped",
            "other": refused and one and not log.offered,
            "back": refused and self._which == "corpus" and self._session.history.undoable == CHOOSE,
        }
        for command, visible in shown.items():
            self.buttons[command].setVisible(visible)
        self._bar.setVisible(any(shown.values()))

    @Slot()
    def _stop(self) -> None:
        self._session.corpora.stop(self._which)

    @Slot()
    def _again(self) -> None:
        self._session.corpora.read_again(self._which)

    @Slot()
    def _other(self) -> None:
        self.other_wanted.emit()

    @Slot()
    def _back(self) -> None:
        self._session.undo()


def _why(log: CorpusLog) -> str:
    """Why it cannot be read; where the files are stands above."""
    why = log.why
    for file in log.asked.get("corpus", ()):
        why = why.replace(file, Path(file).name)
    return why


def _told(log: CorpusLog) -> str:
    """How far it is read, or what came of it."""
    rows = counted(log.rows, "row")
    if log.state == "reading":
        return f"Reading: {rows} so far…" if log.rows else "Reading…"
    if log.state == "stopped":
        return f"Not counted to the end: stopped after {rows}." if log.rows else "Not counted."
    return log.counted
