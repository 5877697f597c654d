"""The main thread of the worker: one job after another; long ones let short ones in between their steps."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.worker.link import LONG, Inbox, Link
from mlxdecoder.errors import UserError

if TYPE_CHECKING:
    from mlxdecoder.app.worker.engine import Engine

Job: TypeAlias = "Callable[[Engine, Message, Link], None]"


def _later(module: str, name: str) -> Job:
    """A job whose module is imported when it is first done: the first picture must not wait for all of them."""

    def job(engine: Engine, message: Message, link: Link) -> None:
        getattr(import_module(f"mlxdecoder.app.worker.{module}"), name)(engine, message, link)

    return job


BESIDE = frozenset({"inspect"})  # what reads files alone, has a thread of its own: a disk may be slow, or never answer
JOBS: dict[str, Job] = {
    "open": _later("opening", "open_model"),
    "generate": _later("generation", "generate"),
    "shapes": _later("shapes", "tell_shapes"),
    "cost": _later("cost", "tell_cost"),
    "export": _later("exporting", "export"),
    "inspect": _later("inspecting", "inspect"),
    "train": _later("training", "train"),
    "twin": _later("twins", "twin"),
    "compare": _later("breaking", "compare"),
    "verdict": _later("breaking", "verdict"),
    "diagnose": _later("breaking", "diagnose"),
}


class Loop:
    """Does what stands in the inbox until nobody is there any more."""

    def __init__(self, engine: Engine, inbox: Inbox, send: Callable[[Message], None]) -> None:
        self._engine, self._inbox, self._send = engine, inbox, send

    def run(self) -> None:
        while message := self._inbox.next():
            self._do(message, self._serve if message.kind in LONG else None)

    def _serve(self) -> None:
        while message := self._inbox.next_short():
            self._do(message, None)

    def _do(self, message: Message, serve: Callable[[], None] | None) -> None:
        """Do one job, or begin one that is done beside the others."""
        if message.kind in BESIDE:
            threading.Thread(target=self._answer, args=(message, None), daemon=True).start()
        else:
            self._answer(message, serve)

    def _answer(self, message: Message, serve: Callable[[], None] | None) -> None:
        """Whatever goes wrong in a job is told, and the next one has its turn."""
        link = Link(message.run, self._inbox, self._send, serve)
        try:
            if message.kind not in JOBS:
                raise UserError(f"request: {message.kind!r} found; known are {', '.join(JOBS)}.")
            JOBS[message.kind](self._engine, message, link)
        except UserError as error:
            link.tell("refused", message=str(error))
        except OSError as error:
            link.tell("refused", message=f"{error.filename}: {error.strerror}." if error.filename else str(error))
        except Exception as error:
            link.tell("broken", message=f"{type(error).__name__}: {error}", details=traceback.format_exc())
        finally:
            self._inbox.forget(message.run)
