"""The shapes through the block, with the numbers of the sentence at hand."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QWidget

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.bar_table import BarTable, Row
from mlxdecoder.app.views.panel import Panel
from mlxdecoder.app.views.parts import Text, button

HELP = (
    "Every array on the way through one decoder block, in the order in which they arise, with its axes and its size "
    "for this sentence. B is the batch, T the queries, S the keys, H the heads, Hkv the heads of keys and values, d "
    "the width of the model, dh that of one head. Copy puts the table on the clipboard, or the rows that you chose."
)


class ShapesPanel(Panel):
    """A table of names, axes and shapes; it asks anew when it is looked at and the sentence is another."""

    topics = ("document", "model", "shapes", "busy", "worker")

    def __init__(self, session: Session, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(session, bridge, "shapes", HELP, parent)
        self.state = Text()
        self.table = BarTable("Shapes through the block", ("Array", "Axes", "Shape"), (0,), 8)
        self.copy_button = button("Copy")
        self.copy_button.setAccessibleName("Copy the shapes")
        for widget in (self.state, self.table, self.copy_button):
            self.column.addWidget(widget)
        self._asked: tuple[Any, ...] | None = None
        self.copy_button.clicked.connect(self.table.copy)

    def refresh(self) -> None:
        self._ask()
        told = self.session.told.get("shapes")
        busy = self.session.requests.busy("shapes")
        rows = [] if told is None or busy else [_row(*row) for row in told["rows"]]
        self.table.fill(rows)
        self.copy_button.setEnabled(bool(rows))
        self.state.say("Tracing the shapes…" if busy else "" if rows else "No shapes yet.")

    def _ask(self) -> None:
        model, document = self.session.model, self.session.document
        if model is None or not self.session.alive:
            self._asked = None
            return
        wanted = (model.fingerprint, document.sentence)
        if wanted != self._asked:
            self._asked = wanted
            self.session.requests.ask("shapes", sentence=document.sentence)


def _row(name: str, axes: str | list[str], shape: list[int]) -> Row:
    letters = axes if isinstance(axes, str) else " ".join(axes)
    return (name, letters, " × ".join(str(length) for length in shape))
