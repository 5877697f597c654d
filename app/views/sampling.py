"""How the next token is chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Slot
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QDoubleSpinBox, QFormLayout, QWidget

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.session.document import Sampling
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.panel import Panel
from mlxdecoder.app.views.parts import Text, button
from mlxdecoder.app.views.steps import generate_anew

PATIENCE = 300  # milliseconds without a further step of a spin box
LARGEST_SEED = 2**31 - 1
HOTTEST, WIDEST_BEAM, VOCABULARY = 5.0, 16, 1_000_000
HELP = (
    "The model gives every token a probability; these settings say how one is taken. At temperature 0 it is the most "
    "probable one, and the same each time. Above 0 it is drawn, from what top-k and top-p leave. A beam keeps several "
    "translations going, and takes the one that is most probable as a whole."
)
EXPLANATIONS = {
    "temperature": "0 takes the most probable token; 1 draws as the model says; more makes it bolder.",
    "top_k": "Draw from so many of the most probable tokens only; 0 from all.",
    "top_p": "Draw from the fewest tokens that hold this share of the probability; 1 from all.",
    "beam": "Search with so many translations at once; 1 does not search.",
    "seed": "The same seed draws the same tokens again.",
}
TITLES = {
    "temperature": "&Temperature",
    "top_k": "Top-&k",
    "top_p": "Top-&p",
    "beam": "&Beam",
    "seed": "See&d",
}


class SamplingPanel(Panel):
    """Temperature, top-k, top-p, beam and seed; a change generates anew."""

    topics = ("document", "model")

    def __init__(self, session: Session, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(session, bridge, "sampling", HELP, parent)
        self.fields = {
            "temperature": Number(0.0, HOTTEST, 0.1, decimals=2),
            "top_k": Number(0, VOCABULARY, least_name="0, all"),
            "top_p": Number(0.01, 1.0, 0.05, decimals=2),
            "beam": Number(1, WIDEST_BEAM),
            "seed": Number(0, LARGEST_SEED),
        }
        self.most_probable_button = button("Take the most probable")
        self.again_button = button("Draw again", "Draw with the next seed")
        self.unused = Text()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(PATIENCE)
        self._timer.timeout.connect(self.apply)
        self._lay_out()
        for field in self.fields.values():
            field.valueChanged.connect(self._touched)
            field.editingFinished.connect(self.apply)
        self.most_probable_button.clicked.connect(self.take_most_probable)
        self.again_button.clicked.connect(self.draw_again)
        self.refresh()

    def refresh(self) -> None:
        if self.session.model is not None:
            self.fields["top_k"].setMaximum(self.session.model.vocab)
        if not self._timer.isActive():
            self._show(self.session.document.sampling)
        self._show_use()

    @Slot()
    def apply(self) -> None:
        """Take what the fields say, if it is new."""
        self._timer.stop()
        before = self.session.document.sampling
        # A value that a field cannot show to the last digit was not changed by showing it.
        changed: dict[str, Any] = {
            name: type(getattr(before, name))(field.value())
            for name, field in self.fields.items()
            if field.value() != field.rounded(getattr(before, name))
        }
        if changed:
            what = f"change the {next(iter(changed)).replace('_', '-')}"
            self.session.change(what, merge=True, sampling=replace(before, **changed))
            generate_anew(self.session)

    @Slot()
    def take_most_probable(self) -> None:
        """No drawing and no search: the most probable token at each step."""
        self._become("take the most probable tokens", Sampling(seed=self.session.document.sampling.seed))

    @Slot()
    def draw_again(self) -> None:
        """Draw other tokens, with the next seed."""
        sampling = self.session.document.sampling
        self._become("draw again", replace(sampling, seed=(sampling.seed + 1) % LARGEST_SEED))

    def _become(self, what: str, sampling: Sampling) -> None:
        self._timer.stop()
        if sampling != self.session.document.sampling:
            self.session.change(what, sampling=sampling)
            generate_anew(self.session)
        self._show(self.session.document.sampling)

    @Slot()
    def _touched(self) -> None:
        self._timer.start()
        self._show_use()

    def _show(self, sampling: Sampling) -> None:
        for name, field in self.fields.items():
            field.show_value(getattr(sampling, name))

    def _show_use(self) -> None:
        searching = self.fields["beam"].value() > 1
        greedy = self.fields["temperature"].value() == 0
        self.again_button.setEnabled(not searching and not greedy)
        if searching:
            self.unused.say("A beam does not draw: temperature, top-k, top-p and seed are not used.")
        elif greedy:
            self.unused.say("At temperature 0 nothing is drawn: top-k, top-p and seed are not used.")
        else:
            self.unused.say("")

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        for name, field in self.fields.items():
            field.setParent(self)
            field.setAccessibleName(TITLES[name].replace("&", ""))
            field.setAccessibleDescription(EXPLANATIONS[name])
            field.setToolTip(EXPLANATIONS[name])
            form.addRow(TITLES[name], field)
            form.addRow(Text(EXPLANATIONS[name]))
        self.column.addLayout(form)
        self.column.addWidget(self.unused)
        self.column.addWidget(self.again_button)
        self.column.addWidget(self.most_probable_button)
        self.column.addStretch(1)


class Number(QDoubleSpinBox):
    """A number, whole unless decimals are given; the wheel scrolls the panel unless the field has the focus."""

    def __init__(self, least: float, most: float, step: float = 1, decimals: int = 0, least_name: str = "") -> None:
        super().__init__()
        self.setDecimals(decimals)
        self.setRange(least, most)
        self.setSingleStep(step)
        self.setSpecialValueText(least_name)
        self.setKeyboardTracking(False)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def rounded(self, value: float) -> float:
        """What the field shows for a value."""
        return round(min(max(value, self.minimum()), self.maximum()), self.decimals())

    def show_value(self, value: float) -> None:
        """Show a value that nobody typed; what is being typed stays when it is none other."""
        if self.rounded(value) != self.value():
            with QSignalBlocker(self):
                self.setValue(value)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()
