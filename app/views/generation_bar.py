"""The tokens in the order they were written, and the keys to walk through them."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.step_button import StepButton
from mlxdecoder.app.views.steps import generating, read_before, recording_shown, step_shown
from mlxdecoder.app.views.token_strip import TokenStrip
from mlxdecoder.app.views.what_this_shows import WhatThisShows
from mlxdecoder.app.views.words import whole

SPEEDS = (1, 2, 4, 8, 16)  # steps a second
HELP = (
    "Each token is one step: the decoder reads the token before it, attends, and writes this one, with the "
    "probability that is written below. Choose a token, walk with the arrow keys, or press Space to play; the heatmaps "
    "show the steps up to the chosen one. While mistakes are on and all is read at once, they show every token of the "
    "right translation instead. A line under a token says that you forced it.\n\n"
    "What attention weights do not show: why a token was chosen. They say in which shares a head mixes the values of "
    "the positions it looks at. A value may be small, cancel against another, or count for nothing later (the norms "
    "take its size into account, nothing more); the residual path and the feed-forward layers carry much of the "
    "work and have no weights to look at; other weights can lead to the same token; and from the second layer on a "
    "position no longer stands for its own token alone. A mean over heads hides heads that disagree."
)


class GenerationBar(QWidget):
    """Walks through the steps of the generation: by click, by key, or by itself."""

    def __init__(self, session: Session, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self._recording = recording_shown(session)
        self.strip = TokenStrip(self)
        self.first_button = StepButton("First step", "|<", self)
        self.back_button = StepButton("Step back", "‹", self)
        self.play_button = StepButton("Play", ">", self)
        self.forward_button = StepButton("Step forward", "›", self)
        self.last_button = StepButton("Last step, and follow what comes", ">|", self)
        self.speed = _speeds(self)
        self.place = QLabel(self)
        self.place.setTextFormat(Qt.TextFormat.PlainText)
        self.what_this_shows = WhatThisShows("the steps of the generation", HELP, self)
        self.timer = QTimer(self)
        self._lay_out()
        self._connect(bridge)
        self._show_steps()

    @property
    def playing(self) -> bool:
        return self.timer.isActive()

    @Slot()
    def first(self) -> None:
        self._go(0)

    @Slot()
    def back(self) -> None:
        self._walk(-1)

    @Slot()
    def forward(self) -> None:
        self._walk(1)

    @Slot()
    def last(self) -> None:
        """Look at the newest step, and at those that come."""
        self._pause()
        self.session.look(step=None)
        self.strip.reveal_chosen()

    @Slot()
    def play(self) -> None:
        """Walk on by itself, from the start when the end is on show; or pause."""
        if self.playing:
            self._pause()
            return
        step = step_shown(self.session)
        if step is None:
            return
        if step == self._newest and not generating(self.session):
            self.session.look(step=0)
        self.timer.start(1000 // self.speed.currentData())
        self._show_buttons()

    @Slot(str)
    def session_changed(self, topic: str) -> None:
        if topic in ("document", "recording", "token", "busy", "model"):
            self._show_steps()

    @property
    def _newest(self) -> int:
        return len(recording_shown(self.session).tokens) - 1

    def _go(self, step: int) -> None:
        self._pause()
        if 0 <= step <= self._newest:
            self.session.look(step=step)
            self.strip.reveal_chosen()

    def _walk(self, steps: int) -> None:
        step = step_shown(self.session)
        if step is not None:
            self._go(step + steps)

    @Slot()
    def _play_on(self) -> None:
        step = step_shown(self.session)
        if step is not None and step + 1 < self._newest:
            self.session.look(step=step + 1)
        else:  # caught up: what still comes is followed
            self.last()

    @Slot(int)
    def _picked(self, step: int) -> None:
        self._go(step)

    @Slot(int)
    def _speed_chosen(self, _: int) -> None:
        self.timer.setInterval(1000 // self.speed.currentData())

    def _pause(self) -> None:
        self.timer.stop()
        self._show_buttons()

    def _show_steps(self) -> None:
        recording = recording_shown(self.session)
        if recording is not self._recording:
            self._recording = recording
            self.timer.stop()
        self.strip.show_tokens(recording, self.session.document.forced, step_shown(self.session))
        self._show_buttons()

    def _show_buttons(self) -> None:
        step, newest = step_shown(self.session), self._newest
        for button in (self.first_button, self.back_button):
            button.setEnabled(step is not None and step > 0)
        self.forward_button.setEnabled(step is not None and step < newest)
        self.last_button.setEnabled(step is not None and self.session.document.view.step is not None)
        self.play_button.setEnabled(step is not None)
        self.play_button.show_shape("||" if self.playing else ">", "Pause" if self.playing else "Play")
        self.place.setText(_place(self.session))

    def _connect(self, bridge: Bridge) -> None:
        self.first_button.clicked.connect(self.first)
        self.back_button.clicked.connect(self.back)
        self.play_button.clicked.connect(self.play)
        self.forward_button.clicked.connect(self.forward)
        self.last_button.clicked.connect(self.last)
        self.strip.picked.connect(self._picked)
        self.strip.played.connect(self.play)
        self.speed.currentIndexChanged.connect(self._speed_chosen)
        self.timer.timeout.connect(self._play_on)
        bridge.changed.connect(self.session_changed)

    def _lay_out(self) -> None:
        controls = QHBoxLayout()
        controls.setSpacing(2)
        controls.addWidget(self.what_this_shows)
        controls.addWidget(self.place, 1)
        for button in (
            self.first_button,
            self.back_button,
            self.play_button,
            self.forward_button,
            self.last_button,
        ):
            controls.addWidget(button)
        controls.addWidget(self.speed)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 4, 8, 4)
        column.addWidget(self.strip)
        column.addLayout(controls)
        self.place.setMinimumWidth(0)
        self.place.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)


def _speeds(parent: QWidget) -> QComboBox:
    box = QComboBox(parent)
    for speed in SPEEDS:
        box.addItem("1 step a second" if speed == 1 else f"{speed} steps a second", speed)
    box.setCurrentIndex(SPEEDS.index(2))
    box.setAccessibleName("Speed")
    box.view().setAccessibleName("Speeds")
    box.setToolTip("How fast Play walks through the steps")
    return box


def _place(session: Session) -> str:
    step, recording = step_shown(session), recording_shown(session)
    if step is None:
        return "No step yet"
    reads, writes = whole(read_before(session, step)), whole(recording.tokens[step].text)
    return f"Step {step + 1} of {len(recording.tokens)}: reads “{reads}”, writes “{writes}”"
