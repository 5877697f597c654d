"""What a training has shown so far: three curves, and the probe sentence at each measurement."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.recording import Picture

State = str  # "idle", "running", "pausing", "paused", "stopping"


@dataclass(frozen=True)
class Measure:
    """What was measured on sentences that training does not see; accuracy and exact match are shares."""

    step: int
    loss: float
    accuracy: float
    exact: float


@dataclass(frozen=True, eq=False)
class Probe:
    """The pinned sentence as the model had it at one step."""

    step: int
    translation: str
    pictures: dict[str, Picture]


@dataclass
class TrainingLog:
    """Losses [step - 1], measures and probes in order, and where the training stands."""

    state: State = "idle"
    steps: int = 0
    step: int = 0
    rate: float = 0.0  # steps a second
    left: float = 0.0  # seconds
    folder: str = ""
    preparing: str = ""  # what is done before the first step
    checkpoint: str | None = None
    reason: str | None = None
    why: str = ""  # more about the reason, for people
    losses: list[float] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)

    def take(self, message: Message) -> None:
        """Add what a message of a training tells."""
        {
            "preparing": self._prepare,
            "training": self._begin,
            "progress": self._progress,
            "measured": self._measured,
            "probe": self._probe,
            "saved": self._saved,
            "trained": self._end,
        }[message.kind](message)

    def _prepare(self, message: Message) -> None:
        self.preparing = message["text"]

    def _begin(self, message: Message) -> None:
        self.state, self.steps, self.folder = "running", message["steps"], message["folder"]
        self.step, self.reason, self.why, self.preparing = message["at"], None, "", ""
        del self.losses[self.step :]
        self.measures = [one for one in self.measures if one.step <= self.step]
        self.probes = [one for one in self.probes if one.step < self.step]  # that of this step is told again

    def _progress(self, message: Message) -> None:
        first = message["first_step"]
        self.losses += [float("nan")] * (first - 1 - len(self.losses))
        self.losses[first - 1 :] = message["losses"]
        self.step, self.rate, self.left = len(self.losses), message["rate"], message["left"]

    def _measured(self, message: Message) -> None:
        values = (message["loss"], message["accuracy"], message["exact"])
        self.measures.append(Measure(message["step"], *(math.nan if value is None else value for value in values)))

    def _probe(self, message: Message) -> None:
        pictures = {}
        for kind in ("encoder", "decoder", "cross"):
            if f"{kind}.weights" in message.arrays:
                values, intended = message.arrays[f"{kind}.weights"], message.arrays[f"{kind}.intended"]
                queries, keys = (tuple(message[side][kind]) for side in ("queries", "keys"))
                pictures[kind] = Picture(kind, "weights", values, intended, queries, keys)
        self.probes.append(Probe(message["step"], message["translation"], pictures))

    def _saved(self, message: Message) -> None:
        self.checkpoint = message["path"]

    def _end(self, message: Message) -> None:
        self.reason, self.step, self.why = message["reason"], message["step"], message.fields.get("message", "")
        self.state = "paused" if self.reason == "paused" else "idle"
        self.checkpoint = message["path"] or self.checkpoint
