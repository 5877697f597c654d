"""What a job is given to talk with, and the inbox in which requests wait for their turn."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlxdecoder.app.protocol import Message

LONG = frozenset({"train", "twin"})
SAVING = LONG | {"export"}  # what has a file to lose when it is cut off
CONTROL = frozenset({"pause", "resume", "stop", "seen", "quit"})
LAST_WORDS = frozenset({"generated", "saved", "trained", "refused", "broken"})  # what is told even of a stopped run
NO_ARRAYS: Mapping[str, np.ndarray] = {}


@dataclass
class Run:
    """How a request stands that was not yet answered to the end; `unseen` frames are on their way to the eye."""

    kind: str = ""
    stopped: bool = False
    paused: bool = False
    unseen: int = 0


class Stopped(Exception):
    """The window wants no more of what it has asked for."""


class Inbox:
    """Filled by the thread that reads, emptied by the one that computes; what controls a run acts at once."""

    def __init__(self) -> None:
        self.closed = False
        self._waiting: list[Message] = []
        self._runs: dict[int, Run] = {}
        self._news = threading.Condition()

    def put(self, message: Message) -> None:
        """Take what the window sends."""
        with self._news:
            if message.kind not in CONTROL:
                self._waiting.append(message)
                self._runs[message.run] = Run(message.kind)
            elif message.kind == "quit":
                self.closed = True
            elif run := self._runs.get(message.fields.get("of", 0)):
                _control(run, message.kind)
            self._news.notify_all()

    def close(self) -> None:
        """Nobody is there any more: everything that runs is to end."""
        with self._news:
            self.closed = True
            self._news.notify_all()

    def next(self) -> Message | None:
        """The next request, as soon as there is one; None when no more is to be done."""
        while not self.closed:
            self.wait_for(lambda: bool(self._waiting))
            if message := self._take(lambda message: True):  # none when all that waited was stopped
                return message
        return None

    def next_short(self) -> Message | None:
        """A request that waits and is no long one; None when there is none."""
        return self._take(lambda message: message.kind not in LONG)

    def has_short(self) -> bool:
        return any(message.kind not in LONG for message in self._waiting)

    def has_saving(self) -> bool:
        """Whether a request that saves something runs or waits."""
        return any(run.kind in SAVING for run in list(self._runs.values()))

    def run(self, number: int) -> Run:
        """How a request stands; one that is not known has been forgotten, so that it is stopped."""
        return self._runs.get(number) or Run(stopped=True)

    def forget(self, number: int) -> None:
        """A request has been answered to the end."""
        with self._news:
            self._runs.pop(number, None)

    def sent(self, number: int) -> None:
        """One more frame of a run is on its way."""
        with self._news:
            self.run(number).unseen += 1

    def wait_for(self, holds: Callable[[], bool]) -> None:
        """Block until something holds, which is asked after each message; at the latest until nobody is there."""
        with self._news:
            self._news.wait_for(lambda: self.closed or holds())

    def _take(self, wanted: Callable[[Message], bool]) -> Message | None:
        with self._news:
            while not self.closed:
                message = next(filter(wanted, self._waiting), None)
                if message is None:
                    return None
                self._waiting.remove(message)
                if message.kind in LONG or not self.run(message.run).stopped:
                    return message
                self._runs.pop(message.run, None)  # stopped before it began: nobody waits for it
            return None


class Link:
    """How the job of one run talks with the window.

    `serve` does the short requests that wait; only long jobs have one. All but `breathe` and what waits may be called
    from any thread.
    """

    def __init__(
        self, run: int, inbox: Inbox, send: Callable[[Message], None], serve: Callable[[], None] | None = None
    ) -> None:
        self.run = run
        self._inbox, self._send, self._serve = inbox, send, serve

    def tell(self, kind: str, /, arrays: Mapping[str, np.ndarray] = NO_ARRAYS, **fields: Any) -> None:
        """Tell the window; of a run that was stopped, only its last words."""
        if self.stopped() and kind not in LAST_WORDS:
            return
        self._inbox.sent(self.run)
        self._send(Message(kind, self.run, fields, arrays))

    def stopped(self) -> bool:
        """Whether this run was asked to end, or nobody is there any more; an export is finished even then."""
        run = self._inbox.run(self.run)
        return run.stopped or (self._inbox.closed and run.kind != "export")

    def paused(self) -> bool:
        return self._inbox.run(self.run).paused

    def wait_while_paused(self) -> None:
        """Block, serving others meanwhile, until this run is to go on or to end."""
        self._wait_until(lambda: not self.paused())

    def wait_for_room(self, most: int = 30) -> None:
        """Block, serving others meanwhile, while more than `most` frames of this run have not been seen."""
        self._wait_until(lambda: self._inbox.run(self.run).unseen <= most)

    def breathe(self) -> None:
        """Let short requests that wait be served now; for long jobs, between two steps. In a short one, nothing."""
        if self._serve is not None:
            self._serve()

    def _wait_until(self, holds: Callable[[], bool]) -> None:
        while not (self.stopped() or holds()):
            self.breathe()
            others = self._inbox.has_short if self._serve else lambda: False
            self._inbox.wait_for(lambda: self.stopped() or holds() or others())  # noqa: B023  asked within this turn


def _control(run: Run, kind: str) -> None:
    if kind == "stop":
        run.stopped = True
    elif kind == "seen":
        run.unseen -= 1
    else:
        run.paused = kind == "pause"
