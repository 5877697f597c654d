"""The session: what the window shows and what it asks of the worker. No Qt: views listen, and call its commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from mlxdecoder.app.paths import is_file
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.catalogue import Entry, Model, Preset, entry_of, model_of
from mlxdecoder.app.session.compared import Compared, compared_of
from mlxdecoder.app.session.corpora import Corpora
from mlxdecoder.app.session.document import Document
from mlxdecoder.app.session.history import History
from mlxdecoder.app.session.recording import Picture, Recording, difference
from mlxdecoder.app.session.topics import LAST, TRAINING, Listener, Send, Topic
from mlxdecoder.app.session.training_log import TrainingLog
from mlxdecoder.app.session.word_picture import MERGED_STAGES, merged

OPEN = "open another model"
INDEX = "run.json"  # in the folder of a training, as soon as it has saved something


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
        self.recordings: dict[str, Recording] = {}
        self.comparison: Message | None = None
        self.compared: Compared | None = None  # what the heatmaps show while mistakes are on
        self.seeks = False  # whether to turn to where a mistake shows, as soon as that is known
        self.training = TrainingLog()
        self.corpora = Corpora(self, self._tell)
        self.twins: dict[str, TrainingLog] = {}
        self.told: dict[str, Message] = {}  # the newest verdict, diagnosis, shapes, cost, exported, welcome
        self.notice = ""
        self._unfit = ""  # what was said of the newest generation that was refused
        self.alive = False
        self.runs = Path("runs")  # where trainings keep their folders; the settings say
        self.interrupted: dict[str, Any] | None = None  # what to ask to go on with a training that was cut off
        self._trains: dict[str, Any] = {}  # the same of the newest training
        self._send = send
        self._last_run = 0
        self._purposes: dict[int, str] = {}  # of the runs that are still wanted

    @property
    def document(self) -> Document:
        return self.history.value

    # What is looked at ------------------------------------------------------------------------------------------

    def change(self, what: str, merge: bool = False, **changes: Any) -> None:
        """Change the document; `what` names the change for undo."""
        self._become(replace(self.document, **changes), what, merge)

    def look(self, **changes: Any) -> None:
        """Look at something else, at the nearest layer where there are fewer; such changes are undone together."""
        view = replace(self.document.view, **changes)
        if self.model is not None:
            view = replace(view, layer=min(view.layer, self.model.layers_of(view.kind) - 1))
        self._become(replace(self.document, view=view), "look elsewhere", merge=True)

    def undo(self) -> None:
        self._step_through_history(self.history.undo)

    def redo(self) -> None:
        self._step_through_history(self.history.redo)

    def start_over(self, document: Document, path: Path | None = None) -> None:
        """Put another session in the place of this one."""
        self.history, self.path = History(document), path
        self._tell("document")
        if self.alive:
            self.ask("open", path=document.model)

    def save(self, path: Path) -> None:
        """Write the session to a file; raises `OSError`."""
        self.document.save(path)
        self.path, self.history.saved = path, self.document
        self._tell("document")

    def open_model(self, path: str | None) -> None:
        """Open a checkpoint or a training run; None is the packaged model."""
        self.change(OPEN, model=path, fingerprint="", forced={})
        self.ask("open", path=path)

    def picture(self, side: str | None = None, *, whole: bool = False) -> Picture | None:
        """What the heatmaps show now, of one side or of the one that is chosen; `whole` with the steps after it too.

        "change" is the mistaken minus the right one; without the right one there is none.
        """
        side = side or self.document.view.side
        found = self._difference(whole) if side == "change" else self._picture(side, whole)
        return merged(found) if self.merges_words and found is not None and found.values.size else found

    @property
    def merges_words(self) -> bool:
        """Whether the heatmaps show words instead of pieces."""
        view = self.document.view
        return view.words and view.stage in MERGED_STAGES

    @property
    def reads_at_once(self) -> bool:
        """Whether the heatmaps are of all tokens read together: many mistakes do not show one token at a time."""
        view = self.document.view
        return self.compared is not None and view.at_once and view.stage == "weights"

    def reach(self) -> float:
        """The largest size of any value of the kind and stage that are looked at, on either side."""
        view = self.document.view
        return max((one.reach(view.kind, view.stage) for one in self.recordings.values()), default=0.0)

    def _difference(self, whole: bool) -> Picture | None:
        pair = [self._picture(one, whole) for one in ("right", "wrong")]
        return difference(*pair) if "right" in self.recordings and all(pair) else None  # type: ignore[arg-type]

    def _picture(self, side: str, whole: bool) -> Picture | None:
        view = self.document.view
        if self.compared is not None and self.reads_at_once:
            found = self.compared.sides[side].get(view.kind)
        else:
            recording = self.recordings.get(side) or self.recordings.get("wrong")
            rows = None if whole or view.step is None else view.step + 1
            found = recording.picture(view.kind, view.stage, rows) if recording else None
        return found.averaged if found is not None and view.average else found

    # What is asked ----------------------------------------------------------------------------------------------

    def generate(self) -> None:
        """Generate anew, with the mistakes that are on, and beside it without; then compare the two."""
        self.cancel("wrong", "right", "pictures")
        self.recordings, self.compared = {"wrong": Recording()}, None
        if self._unfit and self.notice == self._unfit:
            self.say("")
        self._ask("wrong", "generate", self._generation(self.document.mistakes))
        if self.document.mistakes:
            self.recordings["right"] = Recording()
            self._ask("right", "generate", self._generation(()))
            compared = {"sentence": self.document.sentence, "mistakes": list(self.document.mistakes)}
            self._ask("pictures", "compare", compared)
        self._tell("recording")

    def ask(self, kind: str, purpose: str = "", /, **fields: Any) -> int:
        """Ask for something; a newer request of the same kind, or for the same purpose, makes the older one stale."""
        self.cancel(purpose or kind)
        return self._ask(purpose or kind, kind, fields)

    def train(self, **fields: Any) -> None:
        """Train, or go on; see `train` in messages.py."""
        if not fields.get("resume"):
            self.training = TrainingLog()
        self.training.state, self.training.reason = "running", None
        self._trains = {**fields, "resume": True}
        self._ask("training", "train", fields)
        self._tell("training")

    @property
    def unfinished(self) -> dict[str, Any] | None:
        """What to ask to go on with the training that runs, waits or was cut off; None when there is none."""
        return self.interrupted if self.training.state == "idle" else self._trains

    def go_on_training(self) -> None:
        """Go on with the training that was cut off, from its last checkpoint."""
        if self.interrupted is not None:
            self.train(**self.interrupted)

    def control_training(self, command: Literal["pause", "resume", "stop"]) -> None:
        """Pause, go on or stop; the state changes at once, the worker follows."""
        states = {"pause": "pausing", "resume": "running", "stop": "stopping"}
        for run in self._runs("training"):
            self.training.state = states[command]
            self._send(Message(command, fields={"of": run}))
        if command == "stop" and not self._runs("training"):
            self.training.state = "idle"  # it was paused, and is not gone on with
        self._tell("training")

    def reset_training(self) -> None:
        """Forget what the training has shown, and that it could go on; what it saved stays where it is."""
        self.cancel("training")
        self.training, self.interrupted = TrainingLog(), None
        self._tell("training")

    def twin(self, steps: int) -> None:
        """Train a right and a mistaken model beside each other."""
        self.cancel("twin")
        self.twins = {"right": TrainingLog(state="running"), "wrong": TrainingLog(state="running")}
        self._ask("twin", "twin", {"mistakes": list(self.document.mistakes), "steps": steps})
        self._tell("twin")

    def cancel(self, *purposes: str) -> None:
        """Stop what runs for these purposes; what it still tells is not listened to."""
        for purpose in purposes:
            for run in self._runs(purpose):
                del self._purposes[run]
                self._send(Message("stop", fields={"of": run}))
        self._tell("busy")

    def busy(self, purpose: str | None = None) -> bool:
        """Whether the worker owes an answer, at all or for one purpose."""
        return bool(self._purposes) if purpose is None else bool(self._runs(purpose))

    # What is told -----------------------------------------------------------------------------------------------

    def receive(self, message: Message) -> None:
        """Take a message of the worker; those of stale runs are dropped."""
        if message.kind == "welcome":
            self._welcome(message)
            return
        purpose = self._purposes.get(message.run)
        if purpose is None:
            return
        if message.kind in LAST:
            del self._purposes[message.run]
        self._take(purpose, message)
        if message.kind in LAST:
            self._tell("busy")

    def worker_ended(self, why: str) -> None:
        """The worker is gone: nothing that was asked will be answered."""
        self.alive = False
        self._purposes.clear()
        self.corpora.worker_ended()
        if self.training.state != "idle":
            self._cut_off()
        for twin in self.twins.values():
            twin.state = "idle"
        self.say(why)
        self._tell("worker")
        self._tell("busy")

    def _cut_off(self) -> None:
        """A training has ended without a last word of its own: whatever it saved can be gone on with."""
        self.training.state = "idle"
        if is_file(Path(str(self._trains.get("folder", ""))) / INDEX):
            self.interrupted = self._trains
        self._tell("training")

    def say(self, notice: str) -> None:
        """Something for people to read."""
        self.notice = notice
        self._tell("notice")

    def _take(self, purpose: str, message: Message) -> None:
        if purpose in self.corpora.logs:
            self.corpora.take(purpose, message)
            if message.kind == "broken":
                self._refused(purpose, message)
        elif message.kind in ("refused", "broken"):
            self._refused(purpose, message)
        elif purpose in ("wrong", "right"):
            self.recordings[purpose].take(message)
            self._send(Message("seen", fields={"of": message.run}))
            self._tell("token" if message.kind == "token" else "recording")
        elif purpose == "training" and message.kind in TRAINING:
            self.training.take(message)
            if message.kind == "training":
                self.interrupted = None  # it goes on, or something else has taken its place
            self._tell("training")
            if message.kind == "trained" and message.fields.get("message"):
                self.say(message["message"])
        elif purpose == "twin":
            self._twinned(message)
        elif message.kind == "model":
            self._opened(message)
        elif purpose == "pictures":
            self.compared = compared_of(message)
            self._look_where_it_shows()
            self._tell("recording")
        elif message.kind == "compared":
            self.comparison = message
            self._tell("comparison")
        else:
            self.told[message.kind] = message
            self._tell(message.kind)  # type: ignore[arg-type]

    def _look_where_it_shows(self) -> None:
        """After a mistake was switched on: turn to weight outside the mask, else to where most has changed."""
        if self.compared is None or not (self.seeks and self.reads_at_once):
            return
        self.seeks = False
        self.look(kind=self.compared.kind_to_look_at(self.document.view.kind))

    def _refused(self, purpose: str, message: Message) -> None:
        if purpose == "pictures" and message.kind == "refused":
            return  # the pictures of the generation are there all the same
        if purpose == "training":
            self._cut_off()
        if purpose == "twin":
            self.twins = {}
            self._tell("twin")
        if purpose in self.recordings:
            self.recordings[purpose].reason, self._unfit = "refused", message["message"]
            self._tell("recording")
        if purpose == "open":
            self._keep_model()
        self.told[message.kind] = message
        self.say(message["message"])

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
            self.ask("open", path=None)

    def _twinned(self, message: Message) -> None:
        log = self.twins[message["side"]]
        if "losses" in message.fields:
            log.take(Message("progress", fields={"rate": 0.0, "left": 0.0, **message.fields}))
        elif "loss" in message.fields:
            log.take(Message("measured", fields=message.fields))
        if message.fields.get("done"):
            log.state, log.reason = "idle", message.fields.get("reason")
            if all(twin.state == "idle" for twin in self.twins.values()):
                self._purposes.pop(message.run, None)
                self._tell("busy")
        self._tell("twin")

    def _welcome(self, message: Message) -> None:
        self.alive = True
        self._purposes.clear()  # what was asked while nobody was there
        self.entries = {entry["id"]: entry_of(entry) for entry in message["catalogue"]}
        self.presets = tuple(Preset(**preset) for preset in message["presets"])
        self.told["welcome"] = message
        self._tell("welcome")
        self.ask("open", path=self.document.model)

    def _opened(self, message: Message) -> None:
        self.model = model_of(message.fields)
        view = self.document.view
        kind = view.kind if view.kind in self.model.kinds else self.model.kinds[-1]
        layer = min(view.layer, self.model.layers_of(kind) - 1)
        looked = replace(view, kind=kind, layer=layer, head=min(view.head, self.model.heads - 1))
        if self.document.fingerprint not in ("", self.model.fingerprint) and self.document.model == self.model.path:
            self.say(f"{self.model.name} has changed since this session was saved; pictures may differ.")
        self.history.settle(
            replace(self.document, model=self.model.path, fingerprint=self.model.fingerprint, view=looked)
        )
        self._tell("document")
        self._tell("model")
        self.generate()

    def _generation(self, mistakes: tuple[str, ...]) -> dict[str, Any]:
        document, sampling = self.document, self.document.sampling
        return {
            "sentence": document.sentence,
            "forced": {str(step): token for step, token in document.forced.items()},
            "sampling": vars(sampling).copy(),
            "mistakes": list(mistakes),
            "max_tokens": None,
        }

    def _ask(self, purpose: str, kind: str, fields: Mapping[str, Any]) -> int:
        self._last_run += 1
        self._purposes[self._last_run] = purpose
        self._send(Message(kind, self._last_run, fields))
        self._tell("busy")
        return self._last_run

    def _runs(self, purpose: str) -> list[int]:
        return [run for run, wanted in self._purposes.items() if wanted == purpose]

    def _become(self, document: Document, what: str, merge: bool = False) -> None:
        self.history.do(document, what, merge)
        self._tell("document")

    def _step_through_history(self, step: Callable[[], None]) -> None:
        before = self.document
        step()
        self._tell("document")
        if _asks_anew(before, self.document) and self.alive:
            if before.model != self.document.model:
                self.ask("open", path=self.document.model)
            else:
                self.generate()

    def _tell(self, topic: Topic) -> None:
        for listener in list(self.listeners):
            listener(topic)


def _asks_anew(before: Document, after: Document) -> bool:
    """Whether what was generated for one document does not fit the other."""
    return replace(before, view=after.view, probe=after.probe, preset=after.preset, corpus=after.corpus) != after
