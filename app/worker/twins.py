"""Twins: a right training and a mistaken one, some steps of the one and some of the other, so that both curves grow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.worker.engine import Engine
from mlxdecoder.app.worker.link import Link
from mlxdecoder.app.worker.looking_on import Losses, measures_told
from mlxdecoder.errors import UserError
from mlxdecoder.mistakes import find, switch_on
from mlxdecoder.mistakes.experiments import experiment_preset, toy_text
from mlxdecoder.mistakes.twins import setting_of
from mlxdecoder.training.observer import Measures, Observer, StepReport
from mlxdecoder.training.prepare import Prepared, fresh_model
from mlxdecoder.training.presets import Preset
from mlxdecoder.training.trainer import Diverged, Trainer

TURN = 5  # steps of one twin before the other has its turn


def twin(engine: Engine, message: Message, link: Link) -> None:
    """The job: trains both on the toy grammar, with the same seed and batches, in the setting the mistakes ask for."""
    mistakes = [find(name) for name in message["mistakes"]]
    if not mistakes:
        raise UserError("mistakes: none is on, so both twins would be right; switch one on.")
    preset = setting_of(experiment_preset(message["steps"]), mistakes)
    prepared = _text()
    sides = [Side("right", (), preset, prepared, link)]
    sides.append(Side("wrong", [mistake.id for mistake in mistakes], preset, prepared, link))
    while not link.stopped() and (going := [side for side in sides if not side.done]):
        for side in going:
            side.go_on()


@cache
def _text() -> Prepared:
    return toy_text(experiment_preset())


class Side(Observer):
    """One of the two: a trainer that goes on a few steps at a time, and tells its curve."""

    def __init__(self, name: str, mistakes: Sequence[str], preset: Preset, prepared: Prepared, link: Link) -> None:
        self.done = False
        self._name, self._link, self._left = name, link, 0
        self._losses = Losses(self._told)
        model = fresh_model(preset.model, prepared.tokenizer, preset.training.seed)
        model.recipe = switch_on(mistakes)
        text = prepared.train, prepared.validation
        self._trainer = Trainer(model, prepared.tokenizer, *text, preset.training, observer=self)

    def go_on(self) -> None:
        """Some more steps; a trainer that was stopped goes on where it was."""
        self._left = TURN
        try:
            self._trainer.run()
        except Diverged:  # which is what some mistakes do
            self._end("diverged")
        if self._trainer.step >= self._trainer.options.steps:
            self._end("done")

    def stepped(self, report: StepReport) -> None:
        self._left -= 1
        self._losses.add(report)
        self._link.breathe()

    def measured(self, measures: Measures) -> None:
        self._losses.flush()
        self._link.tell("twinned", side=self._name, **measures_told(measures))

    def wants_stop(self) -> bool:
        return self._left <= 0 or self._link.stopped()

    def _told(self, first_step: int, losses: list[float], report: StepReport) -> None:
        self._link.tell("twinned", side=self._name, first_step=first_step, losses=losses)

    def _end(self, reason: str) -> None:
        self.done = True
        self._losses.flush()
        self._link.tell("twinned", side=self._name, done=True, reason=reason)
