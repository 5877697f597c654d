"""What could come next at the chosen step, and the way to force it."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QSizePolicy, QWidget

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.session.recording import Token
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.bar_table import Bar, BarTable, Row
from mlxdecoder.app.views.panel import Panel
from mlxdecoder.app.views.parts import Text, button
from mlxdecoder.app.views.steps import chance, generate_anew, probability, read_before, token_shown
from mlxdecoder.app.views.words import label, whole

MOST = 10
HELP = (
    "The ten most probable tokens at the chosen step, with the probability that the model gives each, before "
    "temperature and the other settings of sampling. Click another one, or press Return on it, to force it: the "
    "model goes on from there. A token that was forced later is dropped, since it was meant for other words."
)

Candidate = tuple[int, str, float]


class CandidatesPanel(Panel):
    """The next-token probabilities of the chosen step."""

    topics = ("document", "recording", "token", "model")

    def __init__(self, session: Session, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(session, bridge, "next token", HELP, parent)
        self.heading = Text()
        self.table = BarTable("Most probable next tokens", ("Token", "Probability", ""), (1,), MOST + 1)
        self.table.setSelectionMode(BarTable.SelectionMode.SingleSelection)
        self.rest = Text()
        self.free_button = button("Let the model choose here")
        self.free_all_button = button("Take back everything forced")
        for widget in (self.heading, self.table, self.rest, self.free_button, self.free_all_button):
            self.column.addWidget(widget)
        self.table.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.column.addStretch(1)
        self._candidates: list[Candidate] = []
        self._shown: Token | None = None
        self.table.picked.connect(self._picked)
        self.free_button.clicked.connect(self.free)
        self.free_all_button.clicked.connect(self.free_all)
        self.refresh()

    def refresh(self) -> None:
        token, forced = token_shown(self.session), self.session.document.forced
        self.free_button.setEnabled(token is not None and token.step in forced)
        self.free_all_button.setEnabled(bool(forced))
        if token is None:
            self.heading.say("Nothing has been written yet.")
            self.rest.say("")
            self._fill([], None)
            return
        before = whole(read_before(self.session, token.step))
        self.heading.say(f"Step {token.step + 1}: what may follow “{before}”. Click another to force it.")
        candidates = _with_chosen(token)
        self.rest.say(_rest(candidates, self.session.model.vocab if self.session.model else None))
        self._fill(candidates, token)

    @Slot()
    def free(self) -> None:
        """Take back what was forced at this step, and after it."""
        token = token_shown(self.session)
        if token is not None:
            self._change("take back a forced token", self._before(token.step), token.step)

    @Slot()
    def free_all(self) -> None:
        """Take back everything that was forced."""
        self._change("take back everything forced", {}, self.session.document.view.step)

    @Slot(int)
    def _picked(self, row: int) -> None:
        chosen, token = self._candidates[row][0], self._shown
        if token is not None and chosen != token.id:
            self._change("force a token", {**self._before(token.step), token.step: chosen}, token.step)

    def _before(self, step: int) -> dict[int, int]:
        return {at: token for at, token in self.session.document.forced.items() if at < step}

    def _change(self, what: str, forced: dict[int, int], step: int | None) -> None:
        view = replace(self.session.document.view, step=step)
        self.session.change(what, forced=forced, view=view)
        generate_anew(self.session)

    def _fill(self, candidates: list[Candidate], token: Token | None) -> None:
        moved = token is not self._shown
        self._candidates, self._shown = candidates, token
        mark = "forced" if token is not None and token.step in self.session.document.forced else "chosen"
        rows = [_row(each, mark if token is not None and each[0] == token.id else "") for each in candidates]
        self.table.fill(rows)
        if token is not None and moved:  # the place of a keyboard user is kept otherwise
            self.table.choose(next(row for row, each in enumerate(candidates) if each[0] == token.id))


def _with_chosen(token: Token) -> list[Candidate]:
    """The most probable candidates, and the chosen token even when it is not one of them."""
    best = list(token.candidates[:MOST])
    if all(each[0] != token.id for each in best):
        best.append((token.id, token.text, chance(token)))
    return best


def _row(candidate: Candidate, mark: str) -> Row:
    _, text, share = candidate
    return (label(text), Bar(probability(share), share), mark)


def _rest(candidates: list[Candidate], vocabulary: int | None) -> str:
    left = 1 - sum(share for _, _, share in candidates)
    if vocabulary is None or vocabulary <= len(candidates):
        return ""
    return f"The other {vocabulary - len(candidates):,} tokens together: {probability(max(0.0, left))}"
