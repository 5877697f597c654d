"""The training: the commands that begin, hold up and end it, what it has shown, and how to go on after a break."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from mlxdecoder.app.paths import is_file
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.requests import Requests
from mlxdecoder.app.session.topics import Listener
from mlxdecoder.app.session.training_log import TrainingLog

INDEX = "run.json"  # in the folder of a training, as soon as it has saved something
STATES = {"pause": "pausing", "resume": "running", "stop": "stopping"}


class Training:
    """`log` is what the newest training has shown; `interrupted` is what to ask to go on with one that was cut off."""

    def __init__(self, requests: Requests, tell: Listener) -> None:
        self.log = TrainingLog()
        self.interrupted: dict[str, Any] | None = None
        self._asked: dict[str, Any] = {}  # what to ask to go on with the newest
        self._requests, self._tell = requests, tell

    @property
    def unfinished(self) -> dict[str, Any] | None:
        """What to ask to go on with the training that runs, waits or was cut off; None when there is none."""
        return self.interrupted if self.log.state == "idle" else self._asked

    def begin(self, **fields: Any) -> None:
        """Train, or go on; see `train` in messages.py."""
        if not fields.get("resume"):
            self.log = TrainingLog()
        self.log.state, self.log.reason = "running", None
        self._asked = {**fields, "resume": True}
        self._requests.ask("train", "training", **fields)
        self._tell("training")

    def go_on(self) -> None:
        """Go on with the training that was cut off, from its last checkpoint."""
        if self.interrupted is not None:
            self.begin(**self.interrupted)

    def control(self, command: Literal["pause", "resume", "stop"]) -> None:
        """Pause, go on or stop; the state changes at once, the worker follows."""
        if self._requests.busy("training"):
            self.log.state = STATES[command]
            self._requests.control("training", command)
        elif command == "stop":
            self.log.state = "idle"  # it was paused, and is not gone on with
        self._tell("training")

    def reset(self) -> None:
        """Forget what the training has shown, and that it could go on; what it saved stays where it is."""
        self._requests.cancel("training")
        self.log, self.interrupted = TrainingLog(), None
        self._tell("training")

    def take(self, message: Message) -> None:
        """What the worker tells of the training."""
        self.log.take(message)
        if message.kind == "training":
            self.interrupted = None  # it goes on, or something else has taken its place
        self._tell("training")

    def cut_off(self) -> None:
        """It has ended without a last word of its own: whatever it saved can be gone on with."""
        if self.log.state == "idle":
            return
        self.log.state = "idle"
        if is_file(Path(str(self._asked.get("folder", ""))) / INDEX):
            self.interrupted = self._asked
        self._tell("training")
