"""The panel that trains a model: where it stands, what can be done with it, and how it is getting on."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Slot
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QGridLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.paths import may_be_corpus
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.announcing import announce
from mlxdecoder.app.views.curves import Curves
from mlxdecoder.app.views.dropping import dropped
from mlxdecoder.app.views.parts import Column, Scrolled, Text, button, named
from mlxdecoder.app.views.probe import ProbeView
from mlxdecoder.app.views.series import TRAINING
from mlxdecoder.app.views.train_settings import TrainSettings
from mlxdecoder.app.views.train_states import available, pace, told

BUTTONS = {  # command: what is written on it, what it does
    "start": ("Start", "Train a new model"),
    "pause": ("Pause", "Save, and wait"),
    "stop": ("Stop", "Save, and end here"),
    "resume": ("Resume", "Go on from what was saved"),
    "reset": ("Reset", "Clear the curves for a new training; what was saved stays where it is"),
    "use": ("Use this model", "Open the model that was trained"),
}


class TrainPanel(QWidget):
    """Training from start to use; its controls never move, whatever is below them."""

    def __init__(self, session: Session, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._announced = "idle"  # the state that a screen reader was told last
        self._began = False  # whether a training was asked for that has not ended
        self.setAcceptDrops(True)
        self.setAccessibleName("Training")
        self._make(bridge)
        column = QVBoxLayout(self)
        for widget in (self._buttons(), self._state, self._progress, self._pace, self._kept):
            column.addWidget(widget)
        # The curves stay where they are when the training ends, and the settings come back.
        inside = Column(self.curves, self.settings, self.probe, stretched=False)
        column.addWidget(Scrolled(inside, "Curves, settings and probe"), 1)
        bridge.changed.connect(self.session_changed)
        self.settings.changed.connect(self._show)
        self._show()

    def _make(self, bridge: Bridge) -> None:
        self._state = Text("Not started", strong=True)
        self._state.setAccessibleName("State of the training")
        self._progress = named(QProgressBar(textVisible=False), "Progress of the training")
        self._pace, self._kept = Text(), Text()
        self.settings = TrainSettings(self._session, bridge)
        self.curves = Curves(TRAINING, "Curves of the training")
        self.probe = ProbeView(self._session, bridge)
        self.buttons: dict[str, QPushButton] = {}

    def _buttons(self) -> QWidget:
        made = QWidget()
        grid = QGridLayout(made)
        grid.setContentsMargins(0, 0, 0, 0)
        for place, (command, (text, tip)) in enumerate(BUTTONS.items()):
            self.buttons[command] = button(text, tip)
            self.buttons[command].clicked.connect(getattr(self, f"_{command}"))
            grid.addWidget(self.buttons[command], place // 3, place % 3)
        return made

    @Slot(str)
    def session_changed(self, topic: str) -> None:
        if topic == "notice":
            self._refused()
        if topic == "training":
            self._heard()
        if topic in ("training", "welcome", "worker", "busy"):
            self._show()

    @Slot()
    def _show(self) -> None:
        log = self._session.training.log
        left_over = self._session.training.interrupted is not None or self.settings.holds_run
        able = available(log, self._session.alive, left_over, self.settings.holds_run)
        if self._session.requests.busy("twin"):
            able -= {"start", "resume"}
        for command, pressed in self.buttons.items():
            pressed.setEnabled(command in able)
        self.settings.setVisible(log.state == "idle")
        self._progress.setRange(0, log.steps or (0 if log.state == "running" else 1))
        self._progress.setValue(log.step)
        self._tell()
        self.curves.setVisible(log.state != "idle" or bool(log.losses))
        self.curves.show_logs({"training": log})

    def _tell(self) -> None:
        log = self._session.training.log
        waiting = log.state == "idle" and not log.folder and self._session.training.interrupted
        self._state.say("A training was cut off: resume it" if waiting else told(log))
        if log.state != self._announced:
            self._announced = log.state
            announce(self._state, self._state.text())
        self._pace.say(self._aside())
        self._kept.say(f"Kept in {log.folder}" if log.folder else "")

    def _aside(self) -> str:
        """What there is to say beside the state."""
        log = self._session.training.log
        if log.state in ("idle", "paused") and self._session.requests.busy("twin"):
            return "Twins are being trained: this has to wait until they end."
        return pace(log) or log.preparing or log.why

    def _refused(self) -> None:
        """Say here, beside the button that was pressed, why nothing came of it."""
        if self._began and self._session.training.log.state == "idle":
            self._began = False
            self._session.training.log.why = self._session.notice
            self._show()

    def _heard(self) -> None:
        """A folder that is taken is offered no more; a training that has ended was not refused."""
        log = self._session.training.log
        if log.folder and log.folder == str(self.settings.folder) and log.state != "idle":
            self.settings.propose_folder()
        if log.reason is not None and log.state in ("idle", "paused"):
            self._began = False

    @Slot()
    def _start(self) -> None:
        self._train(self.settings.folder, resume=False)

    @Slot()
    def _pause(self) -> None:
        self._session.training.control("pause")

    @Slot()
    def _stop(self) -> None:
        self._session.training.control("stop")

    @Slot()
    def _resume(self) -> None:
        if self._session.requests.busy("training"):
            self._session.training.control("resume")
        elif self._session.training.interrupted is not None:
            self._session.training.go_on()
        elif self.settings.holds_run:
            self._session.training.reset()
            self._train(self.settings.folder, resume=True)
        else:
            self._train(Path(self._session.training.log.folder), resume=True)

    @Slot()
    def _reset(self) -> None:
        self._session.training.reset()
        self.settings.propose_folder()

    @Slot()
    def _use(self) -> None:
        self._session.open_model(self._session.training.log.checkpoint)

    def _train(self, folder: Path, resume: bool) -> None:
        self._began = True
        self._session.training.begin(
            preset=self._session.document.preset,
            **self._session.document.corpus.wishes,
            folder=str(folder),
            steps=None if resume else self.settings.steps.value(),
            resume=resume,
            probe=self._session.document.probe,
            mistakes=self.settings.mistakes,
        )

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _corpora_of(event) and self._session.training.log.state == "idle":
            event.acceptProposedAction()
        else:
            event.ignore()  # sessions and models are for the window

    def dropEvent(self, event: QDropEvent) -> None:
        self.settings.take_corpus(*_corpora_of(event))
        event.acceptProposedAction()


def _corpora_of(event: QDropEvent) -> list[Path]:
    """The one file of sentences that is dropped, or the two, if it is so."""
    paths = dropped(event)
    return paths if len(paths) <= 2 and all(map(may_be_corpus, paths)) else []
