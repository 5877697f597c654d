"""How far a training run has come, and what its measurements say about going on."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from mlxdecoder.training.observer import Measures


@dataclass
class Progress:
    """What a checkpoint keeps of a run besides its arrays.

    `step` counts from the beginning, `place` the batches of this `epoch`; `best` is the lowest loss on held-out
    sentences (nats a token), and `waited` counts the measurements after it. `loss_sum` adds up the losses of the steps
    `since` the last measurement.
    """

    step: int = 0
    epoch: int = 0
    place: int = 0
    best: float = math.inf
    waited: int = 0
    since: int = 0
    loss_sum: float = 0.0
    history: list[Measures] = field(default_factory=list)

    def add_step(self, loss: float) -> None:
        self.step += 1
        self.since += 1
        self.loss_sum += loss

    def add_measures(self, loss: float, accuracy: float, matched: float) -> bool:
        """Keep what was measured on held-out sentences; tells whether it is the best so far.

        Without held-out sentences the loss is NaN, and the newest is the best.
        """
        self.history.append(Measures(self.step, self.loss_sum / max(self.since, 1), loss, accuracy, matched))
        self.loss_sum, self.since = 0.0, 0
        best = not loss >= self.best
        self.waited = 0 if best else self.waited + 1
        if best and math.isfinite(loss):
            self.best = loss
        return best

    def to_dict(self) -> dict[str, Any]:
        """As JSON knows it: null for a `best` that is not there yet."""
        return asdict(self) | {"best": self.best if math.isfinite(self.best) else None}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Progress:
        """Read what `to_dict` gave, from among other values."""
        progress = cls(**{one.name: values[one.name] for one in fields(cls)})
        progress.best = math.inf if progress.best is None else progress.best
        progress.history = [Measures(**measures) for measures in values["history"]]
        return progress
