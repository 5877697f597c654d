"""What a training run tells those who look on; nothing here knows of screens."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class StepReport:
    """One step: its number and how many there will be, the loss a token in nats, and the pace."""

    step: int
    steps: int
    loss: float
    rate: float
    tokens_per_second: float
    seconds_left: float


@dataclass(frozen=True)
class Measures:
    """The three curves: loss a token while training (nats), accuracy when told the right prefix, exact when on its own.

    `validation_loss` is the loss on held-out sentences, without label smoothing; shares are from 0 to 1.
    """

    step: int
    training_loss: float
    validation_loss: float
    teacher_forced: float
    exact_match: float

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


class Observer:
    """Override what you want to know; `wants_stop` is asked after every step."""

    def stepped(self, report: StepReport) -> None:
        """A step is done."""

    def measured(self, measures: Measures) -> None:
        """The model was tried on held-out sentences."""

    def saved(self, path: Path) -> None:
        """A checkpoint is on the disk."""

    def wants_stop(self) -> bool:
        """Whether the run should save and end now."""
        return False
