"""The session: what the window shows and what it asks of the worker. No Qt: views listen, and call its commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.catalogue import Entry, Model, Preset, entry_of, model_of
from mlxdecoder.app.session.corpora import Corpora
from mlxdecoder.app.session.document import Document
from mlxdecoder.app.session.generation import PURPOSES, Generation
from mlxdecoder.app.session.history import History
from mlxdecoder.app.session.requests import Requests
from mlxdecoder.app.session.topics import LAST, Listener, Send, Topic
from mlxdecoder.app.session.training import Training
from mlxdecoder.app.session.twins import Twins

OPEN = "open another model"


class Session:
    """One document, what the worker has told about it, and the commands that change either.

    `send` takes messages for the worker. Listeners are told a topic after something of it has changed.
    """

    def __init__(self, send: Send, document: Document | None = None) -> None:
        self.history = History(document or Document())
        self.path: Path | None = None
        self.listeners: list[Listener] = []
        self.model: Model | None = None
        self.entries: dict[str, Entry] = {}
        self.presets: tuple[Preset, ...] = ()
        self.requests = Requests(send, self._tell)
        self.generation = Generation(self, self._tell)
        self.training = Training(self.requests, self._tell)
        self.twins = Twins(self.requests, self._tell)
        self.corpora = Corpora(self, self._tell)
        self.comparison: Message | None = None
        self.told: dict[str, Message] = {}  # the newest verdict, diagnosis, shapes, cost, exported, welcome
        self.notice = ""
        self.alive = False
        self.runs = Path("runs")  # where trainings keep their folders; the settings say

    @property
    def document(self) -> Document:
        return self.history.value

    # What the user does -----------------------------------------------------------------------------------------

    def change(self, what: str, merge: bool = False, **changes: Any) -> None:
        """Change the document; `what` names the change for undo."""
        self.history.do(replace(self.document, **changes), what, merge)
        self._tell("document")

    def look(self, **changes: Any) -> None:
        """Look at something else, or what the model has nearest to it; such changes are undone together."""
        view = replace(self.document.view, **changes)
        self.change("look elsewhere", merge=True, view=self.model.nearest(view) if self.model else view)

    def undo(self) -> None:
        self._step_through_history(self.history.undo)

    def redo(self) -> None:
        self._step_through_history(self.history.redo)

    def start_over(self, document: Document, path: Path | None = None) -> None:
        """Put another session in the place of this one."""
        self.history, self.path = History(document), path
        self._tell("document")
        if self.alive:
            self.requests.ask("open", path=document.model)

    def save(self, path: Path) -> None:
        """Write the session to a file; raises `OSError`."""
        self.document.save(path)
        self.path, self.history.saved = path, self.document
        self._tell("document")

    def open_model(self, path: str | None) -> None:
        """Open a checkpoint or a training run; None is the packaged model."""
        self.change(OPEN, model=path, fingerprint="", forced={})
        self.requests.ask("open", path=path)

    def say(self, notice: str) -> None:
        """Something for people to read."""
        self.notice = notice
        self._tell("notice")

    # What the worker tells --------------------------------------------------------------------------------------

    def receive(self, message: Message) -> None:
        """Take a message of the worker; those of stale runs are dropped."""
        if message.kind == "welcome":
            self._welcome(message)
            return
        purpose = self.requests.accept(message)
        if purpose is None:
            return
        self._take(purpose, message)
        if message.kind in LAST:
            self._tell("busy")

    def worker_ended(self, why: str) -> None:
        """The worker is gone: nothing that was asked will be answered."""
        self.alive = False
        self.requests.forget()
        self.corpora.worker_ended()
        self.training.cut_off()
        self.twins.worker_ended()
        self.say(why)
        self._tell("worker")
        self._tell("busy")

    def _take(self, purpose: str, message: Message) -> None:
        if purpose in self.corpora.logs:
            self.corpora.take(purpose, message)
            if message.kind == "broken":
                self._tell_refusal(message)
        elif message.kind in ("refused", "broken"):
            self._refused(purpose, message)
        elif purpose in PURPOSES:
            self.generation.take(purpose, message)
        elif purpose == "training":
            self.training.take(message)
            if message.kind == "trained" and message.fields.get("message"):
                self.say(message["message"])
        elif purpose == "twin":
            self.twins.take(message)
        elif message.kind == "model":
            self._opened(message)
        elif message.kind == "compared":
            self.comparison = message
            self._tell("comparison")
        else:
            self.told[message.kind] = message
            self._tell(message.kind)  # type: ignore[arg-type]

    def _refused(self, purpose: str, message: Message) -> None:
        if purpose == "pictures" and message.kind == "refused":
            return  # the pictures of the generation are there all the same
        if purpose == "training":
            self.training.cut_off()
        elif purpose == "twin":
            self.twins.refused()
        elif purpose in self.generation.recordings:
            self.generation.refused(purpose, message)
        elif purpose == "open":
            self._keep_model()
        self._tell_refusal(message)

    def _tell_refusal(self, message: Message) -> None:
        self.told[message.kind] = message
        self.say(message["message"])

    # The model --------------------------------------------------------------------------------------------------

    def _welcome(self, message: Message) -> None:
        self.alive = True
        self.requests.forget()  # what was asked while nobody was there
        self.entries = {entry["id"]: entry_of(entry) for entry in message["catalogue"]}
        self.presets = tuple(Preset(**preset) for preset in message["presets"])
        self.told["welcome"] = message
        self._tell("welcome")
        self.requests.ask("open", path=self.document.model)

    def _opened(self, message: Message) -> None:
        self.model = model_of(message.fields)
        path, fingerprint, view = self.model.path, self.model.fingerprint, self.model.nearest(self.document.view)
        if self.document.fingerprint not in ("", fingerprint) and self.document.model == path:
            self.say(f"{self.model.name} has changed since this session was saved; pictures may differ.")
        self.history.settle(replace(self.document, model=path, fingerprint=fingerprint, view=view))
        self._tell("document")
        self._tell("model")
        self.generation.begin()

    def _keep_model(self) -> None:
        """What was to be opened could not be: stay with what is open, or begin with the packaged model.

        A session that names a model which is gone keeps its name in the file until it is saved anew.
        """
        if self.model is not None and self.history.undoable == OPEN:
            self.history.take_back()
        else:
            path, fingerprint = (self.model.path, self.model.fingerprint) if self.model else (None, "")
            there = replace(self.document, model=path, fingerprint=fingerprint, forced={})
            self.history.do(there, "use another model")
        self._tell("document")
        if self.model is None:
            self.requests.ask("open", path=None)

    # Inside -----------------------------------------------------------------------------------------------------

    def _step_through_history(self, step: Callable[[], None]) -> None:
        before = self.document
        step()
        self._tell("document")
        if before.generates_like(self.document) or not self.alive:
            return
        if before.model != self.document.model:
            self.requests.ask("open", path=self.document.model)
        else:
            self.generation.begin()

    def _tell(self, topic: Topic) -> None:
        for listener in list(self.listeners):
            listener(topic)
