"""The KV cache at work: what each step reads and adds, and what a generation without it would cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, Slot
from PySide6.QtWidgets import QWidget

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.recording import Recording, Token
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.bar_table import Bar, BarTable, Row
from mlxdecoder.app.views.panel import Panel
from mlxdecoder.app.views.parts import Text, button
from mlxdecoder.app.views.steps import recording_shown, size, step_shown, token_shown
from mlxdecoder.app.views.wording import counted
from mlxdecoder.app.views.words import label

HELP = (
    "Attention needs the keys and values of all positions before. The KV cache keeps them, so that a step computes "
    "those of one new position only: it adds them, and reads all that are there. What the cache holds includes room "
    "that was made ahead. Without it, every step computes the keys and values of all positions anew. Measure runs "
    "this sentence both ways in turn; times on a busy computer vary, the counts do not."
)


class CachePanel(Panel):
    """The cache step by step, and its use against its absence."""

    topics = ("document", "recording", "token", "cost", "busy", "model", "worker")

    def __init__(self, session: Session, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(session, bridge, "the KV cache", HELP, parent)
        self.now = Text()
        self.steps = BarTable("The KV cache, step by step", ("Step", "Token", "Reads", "Adds", "Holds"), (2, 4), 5)
        self.steps.setSelectionMode(BarTable.SelectionMode.SingleSelection)
        self.measure_button = button("Measure with and without the cache")
        self.summary = Text()
        self.costs = BarTable("Time of each step, with and without the cache", ("Step", "With", "Without"), (1, 2), 4)
        for widget in (self.now, self.steps, self.measure_button, self.summary, self.costs):
            self.column.addWidget(widget)
        self.column.setStretchFactor(self.steps, 3)
        self.column.setStretchFactor(self.costs, 2)
        self._recording, self._rows, self._costs = Recording(), list[Row](), list[Sequence[Any]]()
        self._filling = False
        self._measured: str | None = None  # the sentence that the costs are of
        self.steps.selectionModel().currentRowChanged.connect(self._row_chosen)
        self.measure_button.clicked.connect(self.measure)
        self.refresh()

    def refresh(self) -> None:
        self._show_steps()
        self.now.say(_now(token_shown(self.session), len(recording_shown(self.session).source)))
        self._show_costs()

    @Slot()
    def measure(self) -> None:
        """Ask for the cost of this sentence with and without the cache."""
        self._measured = self.session.document.sentence
        self.session.requests.ask("cost", sentence=self._measured)

    @Slot(QModelIndex, QModelIndex)
    def _row_chosen(self, current: QModelIndex, _: QModelIndex) -> None:
        if current.isValid() and not self._filling:
            self.session.look(step=current.row())

    def _show_steps(self) -> None:
        recording = recording_shown(self.session)
        if recording is not self._recording:
            self._recording, self._rows = recording, []
        self._rows += [_step(token) for token in recording.tokens[len(self._rows) :]]
        self._filling = True
        self.steps.fill(self._rows, {2: _most(recording.tokens, "read"), 4: _most(recording.tokens, "held")})
        self.steps.choose(step_shown(self.session))
        self._filling = False

    def _show_costs(self) -> None:
        busy = self.session.requests.busy("cost")
        self.measure_button.setEnabled(self.session.alive and not busy)
        cost = self.session.told.get("cost")
        fits = self._measured == self.session.document.sentence
        if busy:
            self.summary.say("Measuring…")
        elif cost is None or not fits:
            self.summary.say("Not measured for this sentence yet.")
        else:
            self.summary.say(_summary(cost))
        rows = cost["rows"] if cost is not None and fits and not busy else []
        if rows is not self._costs:
            self._costs = rows
            most = max((max(row[1:]) for row in rows), default=0.0) or 1.0
            self.costs.fill([_cost(*row) for row in rows], {1: most, 2: most})


def _now(token: Token | None, source: int) -> str:
    if token is None:
        return "Nothing has been written yet."
    read, added, held = (size(token.cache[name]) for name in ("read", "added", "held"))
    positions = f"{counted(len(token.slots), 'position')} of its own" + (
        f" and {source} of the source" if source else ""
    )
    return f"Step {token.step + 1} looks at {positions}: it adds {added}, reads {read}; the cache then holds {held}."


def _step(token: Token) -> Row:
    read, held = (Bar(size(token.cache[name]), token.cache[name]) for name in ("read", "held"))
    return (str(token.step + 1), label(token.text), read, size(token.cache["added"]), held)


def _most(tokens: Sequence[Token], name: str) -> float:
    return max((token.cache[name] for token in tokens), default=0) or 1.0


def _cost(step: int, cached: float, uncached: float) -> Row:
    return (str(step + 1), Bar(f"{cached:.1f} ms", cached), Bar(f"{uncached:.1f} ms", uncached))


def _summary(cost: Message) -> str:
    cached, uncached = (sum(row[side] for row in cost["rows"]) for side in (1, 2))
    if not cached:
        return "Nothing was written, so nothing was measured."
    times = f"{cached:.1f} ms with the cache, {uncached:.1f} ms without: {uncached / cached:.1f} times as long."
    again = sum(cost["recomputed"])
    return f"{times} Without it, each layer makes {again:,} keys and values again that the cache would have kept."
