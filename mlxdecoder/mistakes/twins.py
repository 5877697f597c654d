"""Twins: the same model, seed and batches, once right and once with mistakes from the first training step on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mlxdecoder.generate import generate
from mlxdecoder.mistakes import Mistake, find, switch_on
from mlxdecoder.models import Translator
from mlxdecoder.recipe import RIGHT, Recipe
from mlxdecoder.training.batches import Example
from mlxdecoder.training.evaluation import exact_match
from mlxdecoder.training.observer import Measures, Observer, StepReport
from mlxdecoder.training.prepare import Prepared, fresh_model
from mlxdecoder.training.presets import Preset
from mlxdecoder.training.trainer import Diverged, Trainer

N_TRANSLATED = 100  # held-out sentences that each twin translates
PADDED_WIDTH = 16  # to which sources are padded where padding is given
EARLY = (50, 100, 200)  # steps at which the training loss is told, beside the last one
Progress = Callable[[str, StepReport], None]
"""Is told which twin is trained, and each of its steps; it may raise to stop the training."""


@dataclass(frozen=True)
class Twin:
    """One of the two: how its training went, and what it translates exactly.

    `losses` holds the training loss of every step; `broke` says why training ended early, when it did. `alone` and
    `padded` are the shares of held-out sentences translated exactly, each by itself or padded to 16 tokens; NaN where
    nothing was learnt that could translate.
    """

    losses: list[float]
    history: list[Measures]
    alone: float
    padded: float
    broke: str | None = None

    def loss_at(self, step: int) -> float:
        """The mean training loss of the ten steps up to this one; NaN where training had ended."""
        return float(np.mean(self.losses[max(step - 10, 0) : step])) if len(self.losses) >= step else float("nan")

    @property
    def teacher_forced(self) -> float:
        return self.history[-1].teacher_forced if self.history else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """All but the model, as JSON knows it: null for what is no number."""
        return {
            "loss": {str(step): finite(self.loss_at(step)) for step in (*EARLY, max(len(self.losses), 1))},
            "teacher_forced": finite(self.teacher_forced),
            "exact_match": finite(self.alone),
            "exact_match_padded": finite(self.padded),
            "broke": self.broke,
            "history": [
                {name: finite(value) for name, value in measures.to_dict().items()} for measures in self.history
            ],
        }


@dataclass(frozen=True)
class Twins:
    """Both, and the right one with the mistakes switched on after its training: what it still translates exactly."""

    mistakes: tuple[str, ...]
    seed: int
    steps: int
    correct: Twin
    mistaken: Twin
    switched_alone: float
    switched_padded: float
    models: tuple[Translator, Translator] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "mistakes": list(self.mistakes),
            "seed": self.seed,
            "steps": self.steps,
            "correct": self.correct.to_dict(),
            "mistaken": self.mistaken.to_dict(),
            "switched_on_after_training": {
                "exact_match": finite(self.switched_alone),
                "exact_match_padded": finite(self.switched_padded),
            },
        }


class TwinTraining:
    """Trains twins on prepared text; the right ones are kept, for mistakes that are tried in the same setting."""

    def __init__(self, preset: Preset, prepared: Prepared, progress: Progress | None = None) -> None:
        self.preset, self.prepared, self._progress = preset, prepared, progress
        self._kept: dict[str, tuple[Translator, Twin]] = {}

    def run(self, names: Sequence[str | int]) -> Twins:
        """Train both twins in the setting that the mistakes ask for, and measure them."""
        mistakes = [find(name) for name in names]
        preset = setting_of(self.preset, mistakes)
        right, correct = self._right(preset)
        alone, padded = self._switched(right, names)
        wrong, mistaken = right, replace(correct, alone=alone, padded=padded)
        if not all(mistake.generates_only for mistake in mistakes):
            wrong, mistaken = self._train(preset, switch_on(names), "mistaken")
        ids = tuple(mistake.id for mistake in mistakes)
        training = preset.training
        return Twins(ids, training.seed, training.steps, correct, mistaken, alone, padded, (right, wrong))

    def _switched(self, model: Translator, names: Sequence[str | int]) -> tuple[float, float]:
        """What a right model translates exactly with the mistakes on."""
        model.recipe = switch_on(names)
        try:
            return self._exact(model)
        finally:
            model.recipe = RIGHT

    def _right(self, preset: Preset) -> tuple[Translator, Twin]:
        key = repr(preset)
        if key not in self._kept:
            self._kept[key] = self._train(preset, RIGHT, "correct")
        return self._kept[key]

    def _train(self, preset: Preset, recipe: Recipe, name: str) -> tuple[Translator, Twin]:
        model = fresh_model(preset.model, self.prepared.tokenizer, preset.training.seed)
        model.recipe = recipe
        recorder = _Recorder(name, self._progress)
        trainer = Trainer(
            model,
            self.prepared.tokenizer,
            self.prepared.train,
            self.prepared.validation,
            preset.training,
            observer=recorder,
        )
        try:
            trainer.run()
        except Diverged as error:  # which is what some mistakes do
            broke = f"step {error.step}: loss or weights are no longer numbers"
            return model, Twin(recorder.losses, trainer.history, math.nan, math.nan, broke)
        return model, Twin(recorder.losses, trainer.history, *self._exact(model))

    def _exact(self, model: Translator) -> tuple[float, float]:
        examples = self.prepared.validation[:N_TRANSLATED]
        return exact_match(model, examples, batch_size=1), exact_match_padded(model, examples)


class _Recorder(Observer):
    def __init__(self, name: str, progress: Progress | None) -> None:
        self.losses: list[float] = []
        self._name, self._progress = name, progress

    def stepped(self, report: StepReport) -> None:
        self.losses.append(report.loss)
        if self._progress:
            self._progress(self._name, report)


def finite(number: float) -> float | None:
    """A number as JSON knows it."""
    return number if math.isfinite(number) else None


def setting_of(preset: Preset, mistakes: Sequence[Mistake]) -> Preset:
    """The preset with what the mistakes need to show: heads, dropout, padding, packing."""
    model: dict[str, Any] = {}
    training: dict[str, Any] = {}
    for mistake in mistakes:
        model |= mistake.setting.get("model", {})
        training |= mistake.setting.get("training", {})
    return replace(preset, model=replace(preset.model, **model), training=replace(preset.training, **training))


def exact_match_padded(model: Translator, examples: Sequence[Example]) -> float:
    """Share of sources that are translated exactly in batches in which each is padded to 16 tokens, or more."""
    longest = max(len(example.target) for example in examples)
    filler = [4] * max(PADDED_WIDTH, *(len(example.source) + 1 for example in examples))
    hits = []
    for begin in range(0, len(examples), 32):
        rows = examples[begin : begin + 32]
        made = generate(model, [*(list(row.source) for row in rows), filler], max_tokens=longest + 1)
        hits += [tuple(one.tokens) == row.target for one, row in zip(made, rows, strict=False)]
    return float(np.mean(hits))
