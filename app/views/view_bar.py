"""What the heatmaps show: kind, stage, side, average, words; and the scale of colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QLabel, QWidget

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.messages import KINDS, STAGES
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.session.word_picture import MERGED_STAGES
from mlxdecoder.app.views import words
from mlxdecoder.app.views.colours import scale_of
from mlxdecoder.app.views.flow import FlowLayout
from mlxdecoder.app.views.legend import Legend
from mlxdecoder.app.views.shown import side_shown

TOPICS = ("document", "recording", "token", "model")
SIDES = ("wrong", "right", "change")
READINGS = {
    True: (
        "All at once",
        "Every token is read at once, as in training: there a token that sees ahead has something to see.",
    ),
    False: ("Step by step", "Each token as it was written, through the cache: nothing comes after the newest one."),
}
AVERAGE = (
    "One map a layer: the mean of its heads. It hides what single heads do: a sharp head and a blurred one look like "
    "two that are half sharp."
)
WORDS = (
    "The pieces of the vocabulary are merged into words: rows averaged, columns summed. Only for what can be added: "
    "weights, and weights × value size."
)


class ViewBar(QWidget):
    """Chooses what is looked at; the side only while mistakes are on."""

    def __init__(self, session: Session, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._kind, self._stage, self._side = QComboBox(), QComboBox(), QComboBox()
        self._side_pair = _named("&Show", self._side)
        self._reading = QComboBox()
        self._reading_pair = _named("&Read", self._reading)
        self._average, self._words, self._legend = QCheckBox("Mean of &heads"), QCheckBox("W&ords"), Legend()
        self._put_together()
        _fill(self._stage, STAGES, words.STAGES)
        _fill(self._side, SIDES, words.SIDES)
        _fill(self._reading, tuple(READINGS), READINGS)
        bridge.changed.connect(self.session_changed)
        self._refresh()

    @Slot(str)
    def session_changed(self, topic: str) -> None:
        if topic in TOPICS:
            self._refresh()

    @property
    def legend(self) -> Legend:
        return self._legend

    def _put_together(self) -> None:
        row = FlowLayout(self)
        for box, pair, name in (
            (self._kind, _named("Attentio&n", self._kind), "Kind of attention"),
            (self._stage, _named("Sta&ge", self._stage), "Stage of attention"),
            (self._side, self._side_pair, "Correct, mistaken or their difference"),
            (self._reading, self._reading_pair, "How the tokens are read"),
        ):
            box.setAccessibleName(name)
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)  # another model has other kinds
            box.activated.connect(self._chosen)
            row.addWidget(pair)
        switches = ((self._average, AVERAGE, self._averaged), (self._words, WORDS, self._merged))
        for switch, explanation, act in switches:
            switch.setToolTip(explanation)
            switch.setAccessibleDescription(explanation)
            switch.clicked.connect(act)
            row.addWidget(switch)
        row.addWidget(self._legend)

    @Slot()
    def _chosen(self) -> None:
        self._session.look(
            kind=self._kind.currentData(),
            stage=self._stage.currentData(),
            side=self._side.currentData(),
            at_once=self._reading.currentData(),
        )

    @Slot(bool)
    def _averaged(self, checked: bool) -> None:
        self._session.look(average=checked)

    @Slot(bool)
    def _merged(self, checked: bool) -> None:
        self._session.look(words=checked)

    def _refresh(self) -> None:
        session, view = self._session, self._session.document.view
        kinds = session.model.kinds if session.model else KINDS
        known = {kind: words.KINDS[kind] for kind in kinds} if len(kinds) > 1 else {kinds[0]: words.ALONE}
        _fill(self._kind, kinds, known)
        chosen = (
            (self._kind, view.kind),
            (self._stage, view.stage),
            (self._side, view.side),
            (self._reading, view.at_once),
        )
        for box, value in chosen:
            box.setCurrentIndex(box.findData(value))
            box.setToolTip(box.currentData(Qt.ItemDataRole.ToolTipRole) or "")
        self._side_pair.setVisible(bool(session.document.mistakes))
        self._reading_pair.setVisible(session.generation.compared is not None and view.stage == "weights")
        self._average.setChecked(view.average)
        self._words.setChecked(view.words)
        self._words.setEnabled(view.stage in MERGED_STAGES)
        side = side_shown(session)
        unit = "mistaken minus correct" if side == "change" else words.UNITS[view.stage]
        self._legend.show_scale(scale_of(view.stage, side, session.generation.reach()), unit, view.stage)


def _named(name: str, box: QComboBox) -> QWidget:
    """A box with its name before it, which stay together."""
    pair, label = QWidget(), QLabel(name)
    label.setBuddy(box)
    row = QHBoxLayout(pair)
    row.setContentsMargins(0, 0, 0, 0)
    row.addWidget(label)
    row.addWidget(box)
    return pair


def _fill(box: QComboBox, choices: Sequence[Any], known: Mapping[Any, tuple[str, str]]) -> None:
    if [box.itemData(at) for at in range(box.count())] == list(choices):
        return
    box.clear()
    for choice in choices:
        text, explanation = known[choice]
        box.addItem(text, choice)
        box.setItemData(box.count() - 1, explanation, Qt.ItemDataRole.ToolTipRole)
