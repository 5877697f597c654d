"""What was asked of the worker and is still wanted."""

from __future__ import annotations

from typing import Any

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.topics import LAST, Listener, Send


class Requests:
    """Each request has a number, its run, and a purpose, for which only the newest is listened to.

    `send` takes messages for the worker, `tell` is told when the worker owes more answers, or fewer.
    """

    def __init__(self, send: Send, tell: Listener) -> None:
        self._send, self._tell = send, tell
        self._last_run = 0
        self._purposes: dict[int, str] = {}  # of the runs that are still wanted

    def ask(self, kind: str, purpose: str = "", /, **fields: Any) -> int:
        """Ask for something; a newer request of the same kind, or for the same purpose, makes the older one stale."""
        purpose = purpose or kind
        self._drop(purpose)
        self._last_run += 1
        self._purposes[self._last_run] = purpose
        self._send(Message(kind, self._last_run, fields))
        self._tell("busy")
        return self._last_run

    def control(self, purpose: str, command: str) -> None:
        """Have what runs for a purpose "pause", "resume" or "stop"."""
        for run in self._runs(purpose):
            self._send(Message(command, fields={"of": run}))

    def cancel(self, *purposes: str) -> None:
        """Stop what runs for these purposes; what it still tells is not listened to."""
        for purpose in purposes:
            self._drop(purpose)
        self._tell("busy")

    def end(self, purpose: str) -> None:
        """Expect no more answers for a purpose."""
        for run in self._runs(purpose):
            del self._purposes[run]

    def forget(self) -> None:
        """Expect no more answers at all: there is nobody who could give them."""
        self._purposes.clear()

    def busy(self, purpose: str | None = None) -> bool:
        """Whether the worker owes an answer, at all or for one purpose."""
        return bool(self._purposes) if purpose is None else bool(self._runs(purpose))

    def accept(self, message: Message) -> str | None:
        """The purpose of what the worker tells, None where nobody waits for it; after the last answer nobody does."""
        purpose = self._purposes.get(message.run)
        if message.kind in LAST:
            self._purposes.pop(message.run, None)
        return purpose

    def confirm(self, message: Message) -> None:
        """Tell the worker that a frame was taken, so that it may send another."""
        self._send(Message("seen", fields={"of": message.run}))

    def _drop(self, purpose: str) -> None:
        self.control(purpose, "stop")
        self.end(purpose)

    def _runs(self, purpose: str) -> list[int]:
        return [run for run, wanted in self._purposes.items() if wanted == purpose]
