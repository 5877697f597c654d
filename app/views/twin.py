"""Twins: the same model, seed and batches, trained right and mistaken, with their curves over each other."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QSpinBox, QVBoxLayout, QWidget

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.session.training_log import TrainingLog
from mlxdecoder.app.views.curves import Curves
from mlxdecoder.app.views.parts import Text, button, named
from mlxdecoder.app.views.series import TWINS
from mlxdecoder.app.views.switching import title

STEPS = 350  # enough for the toy sentences to be learnt
MOST_STEPS = 100_000
NAMES = {"right": "right", "wrong": "mistaken"}


class TwinView(QWidget):
    """Trains twins with what is switched on, and shows how they fare."""

    def __init__(self, session: Session, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._steps_asked = STEPS
        self._mistakes: tuple[str, ...] = ()
        self._began, self._refusal = False, ""  # twins were asked for; why nothing came of it
        self._make()
        self._lay_out()
        bridge.changed.connect(self.session_changed)
        self._show()

    def _make(self) -> None:
        self.steps = named(QSpinBox(minimum=1, maximum=MOST_STEPS, value=STEPS), "Steps of the twins")
        self.start = button("Train a twin", "Train two models alike, one right and one with what is switched on")
        self.stop = button("Stop", "End the training of the twins")
        self.start.clicked.connect(self._start)
        self.stop.clicked.connect(self._stop)
        self._state = Text("Twins")
        self._state.setAccessibleName("State of the twins")
        self._progress = named(QProgressBar(textVisible=False), "Progress of the twins")
        self.curves = Curves(TWINS, "Curves of the twins")

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        label = QLabel("Steps")
        label.setBuddy(self.steps)
        for widget in (label, self.steps, self.start, self.stop):
            row.addWidget(widget)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.addLayout(row)
        for below in (self._state, self._progress, self.curves):
            column.addWidget(below)
        column.addStretch(1)

    @Slot(str)
    def session_changed(self, topic: str) -> None:
        if topic == "notice" and self._began and not self._session.requests.busy("twin"):
            self._began, self._refusal = False, self._session.notice
        if topic in ("document", "twin", "training", "busy", "worker", "welcome"):
            self._show()

    @Slot()
    def _start(self) -> None:
        self._mistakes, self._steps_asked = self._session.document.mistakes, self.steps.value()
        self._began, self._refusal = True, ""
        self._session.twins.begin(self._mistakes, self._steps_asked)

    @Slot()
    def _stop(self) -> None:
        self._session.requests.cancel("twin")

    def _show(self) -> None:
        running = self._session.requests.busy("twin")
        able = self._session.alive and bool(self._session.document.mistakes) and not self._occupied
        self.start.setEnabled(able and not running)
        self.stop.setEnabled(running)
        self.steps.setEnabled(not running)
        self._state.say(self._told(running))
        done = self._done()
        self._progress.setRange(0, 2 * self._steps_asked if done or not running else 0)
        self._progress.setValue(done)
        self._progress.setVisible(running)
        self.curves.setVisible(bool(self._session.twins.logs))
        self.curves.show_logs(self._session.twins.logs)

    @property
    def _occupied(self) -> bool:
        """Whether another training has the worker."""
        return self._session.training.log.state in ("running", "pausing", "stopping")

    def _done(self) -> int:
        """The steps that both have made, together."""
        return sum(len(log.losses) for log in self._session.twins.logs.values())

    def _told(self, running: bool) -> str:
        twins = self._session.twins.logs
        if not running and self._occupied:
            return "A model is being trained: twins have to wait until it ends or pauses."
        if not twins:
            if self._refusal:
                return self._refusal
            ready = "Both start alike and see the same toy sentences, in the same order."
            return ready if self._session.document.mistakes else "Switch a mistake on, to train a twin with it."
        ended = all(log.state == "idle" for log in twins.values())
        state = "Training" if running else "Done" if ended else "Stopped"
        names = "; ".join(title(self._session, name) for name in self._mistakes)
        sides = "; ".join(f"{NAMES[side]} {_stand(log)}" for side, log in twins.items())
        return f"{state}, of {self._steps_asked:,} steps: {sides}. Mistaken by: {names}"


def _stand(log: TrainingLog) -> str:
    ended = ", where its loss was no longer a number" if log.reason == "diverged" else ""
    return f"at {len(log.losses):,}{ended}"
