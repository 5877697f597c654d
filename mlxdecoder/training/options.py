"""What a training run is told, and how the learning rate moves."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Literal

from mlxdecoder.errors import UserError

Schedule = Literal["cosine", "inverse_sqrt"]


@dataclass(frozen=True)
class TrainingOptions:
    """Lengths are in tokens, intervals in steps; `patience` counts evaluations without a better loss, 0 = endless.

    `average` is how many snapshots, taken every `snapshot_every` steps and at the end, make the weights that are kept.
    Lengths are padded to multiples of `pad_multiple`; `pack` is how many pairs share a row of a batch.
    """

    steps: int = 1000
    tokens_per_batch: int = 2048
    pad_multiple: int = 4
    pack: int = 1
    learning_rate: float = 3e-3
    warmup: int = 200
    schedule: Schedule = "cosine"
    label_smoothing: float = 0.1
    weight_decay: float = 0.0
    clip: float = 1.0
    evaluate_every: int = 200
    snapshot_every: int = 50
    average: int = 5
    patience: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            value, whole = getattr(self, field.name), isinstance(field.default, int)
            right = isinstance(value, int if whole else int | float | str) and not isinstance(value, bool)
            _require(right, field.name, value, "a whole number" if whole else "a number, or the name of a schedule")
        _require(self.seed < 2**63, "seed", self.seed, "below 2 ** 63")
        counts = ("steps", "tokens_per_batch", "pad_multiple", "pack", "evaluate_every", "snapshot_every", "average")
        for name in counts:
            _require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        for name in ("warmup", "patience", "weight_decay", "seed"):
            _require(getattr(self, name) >= 0, name, getattr(self, name), "at least 0")
        for name in ("learning_rate", "clip"):
            _require(getattr(self, name) > 0, name, getattr(self, name), "above 0")
        _require(0 <= self.label_smoothing < 1, "label_smoothing", self.label_smoothing, "at least 0 and below 1")
        _require(self.schedule in ("cosine", "inverse_sqrt"), "schedule", self.schedule, "cosine or inverse_sqrt")

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 1: up in a line for `warmup` steps, then down.

        "cosine" falls to nothing at the last step (Loshchilov and Hutter 2016), "inverse_sqrt" with 1 / sqrt(step)
        (Vaswani et al. 2017, equation 3).
        """
        if step <= self.warmup:
            return self.learning_rate * step / self.warmup
        if self.schedule == "inverse_sqrt":
            return float(self.learning_rate * (max(self.warmup, 1) / step) ** 0.5)
        done = (step - self.warmup) / max(self.steps - self.warmup, 1)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))

    def check_resumes(self, before: TrainingOptions, name: str) -> None:
        """Raise `UserError` unless a run that began with options `before` can go on: with the same, but for `steps`."""
        for field in fields(self):
            now, then = getattr(self, field.name), getattr(before, field.name)
            if field.name != "steps" and now != then:
                raise UserError(f"{name}: was trained with {field.name} = {then!r}; {field.name} = {now!r} found.")

    @classmethod
    def from_dict(cls, values: dict[str, Any], name: str = "options") -> TrainingOptions:
        """Read what `asdict` gave; `name` stands in the message of the `UserError` for what does not fit."""
        try:
            return cls(**values)
        except (TypeError, UserError) as error:
            raise UserError(f"{name}: {error}") from None


def _require(holds: bool, name: str, found: object, wanted: str) -> None:
    if not holds:
        raise UserError(f"{name} = {found!r}: wanted {wanted}.")
