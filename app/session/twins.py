"""Twins: a right and a mistaken model that are trained beside each other, and what each has shown."""

from __future__ import annotations

from collections.abc import Sequence

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.requests import Requests
from mlxdecoder.app.session.topics import Listener
from mlxdecoder.app.session.training_log import TrainingLog


class Twins:
    """`logs` has what the "right" and the "wrong" twin have shown; nothing before there are some."""

    def __init__(self, requests: Requests, tell: Listener) -> None:
        self.logs: dict[str, TrainingLog] = {}
        self._requests, self._tell = requests, tell

    def begin(self, mistakes: Sequence[str], steps: int) -> None:
        """Train both, so many steps each."""
        self.logs = {side: TrainingLog(state="running") for side in ("right", "wrong")}
        self._requests.ask("twin", mistakes=list(mistakes), steps=steps)
        self._tell("twin")

    def take(self, message: Message) -> None:
        """What the worker tells of one of the two."""
        log = self.logs[message["side"]]
        if "losses" in message.fields:
            log.take(Message("progress", fields={"rate": 0.0, "left": 0.0, **message.fields}))
        elif "loss" in message.fields:
            log.take(Message("measured", fields=message.fields))
        if message.fields.get("done"):
            log.state, log.reason = "idle", message.fields.get("reason")
            self._end_together()
        self._tell("twin")

    def refused(self) -> None:
        """There will be none."""
        self.logs = {}
        self._tell("twin")

    def worker_ended(self) -> None:
        """Neither goes on."""
        for log in self.logs.values():
            log.state = "idle"

    def _end_together(self) -> None:
        if all(log.state == "idle" for log in self.logs.values()):
            self._requests.end("twin")
            self._tell("busy")
