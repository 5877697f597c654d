"""The trainer: steps, snapshots, measures, checkpoints; the same seed gives the same run, stopped or not."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx.utils import tree_flatten

from mlxdecoder import blas
from mlxdecoder.errors import UserError
from mlxdecoder.models import Translator
from mlxdecoder.text.protocol import TextTokenizer
from mlxdecoder.training.averaging import Snapshots
from mlxdecoder.training.batches import Batch, Example, fingerprint, make_batch, plan_epoch
from mlxdecoder.training.checkpoint import TrainingState, load_training, save_checkpoint
from mlxdecoder.training.evaluation import exact_match, teacher_forced
from mlxdecoder.training.observer import Measures, Observer, StepReport
from mlxdecoder.training.options import TrainingOptions
from mlxdecoder.training.parameters import AdamW, FlatParameters
from mlxdecoder.training.peers import ALONE, Peers
from mlxdecoder.training.progress import Progress
from mlxdecoder.training.run_folder import RunFolder
from mlxdecoder.training.step import GradientStep
from mlxdecoder.training.tokenizers import check_fits

N_TRANSLATED = 200  # held-out sentences that are translated for the exact match


class Diverged(UserError):
    """A loss or weights that are no numbers any more, after `step` steps."""

    def __init__(self, step: int, rate: float) -> None:
        self.step = step
        super().__init__(
            f"step {step}: loss or weights are no longer numbers; earlier checkpoints are kept. "
            f"Train again with a learning rate below {rate:g}."
        )


class Trainer:
    """Trains a translator on examples; `run` goes on from wherever the state is, to the end or until stopped.

    With a `folder`, a checkpoint is saved at every evaluation, and when the run ends. The weights that are measured and
    saved are the average of the last snapshots; training itself goes on from its own. `origin` says where the examples
    came from; it is kept in the checkpoints for those who resume.
    """

    def __init__(
        self,
        model: Translator,
        tokenizer: TextTokenizer,
        train: Sequence[Example],
        validation: Sequence[Example],
        options: TrainingOptions,
        *,
        folder: RunFolder | None = None,
        observer: Observer | None = None,
        origin: dict[str, Any] | None = None,
    ) -> None:
        _check(model, tokenizer, train)
        self.model, self.tokenizer, self.options = model, tokenizer, options
        self.examples, self._validation = train, validation
        self._folder, self._observer, self._origin = folder, observer or Observer(), origin or {}
        self._parameters = FlatParameters(model)
        self._gradient = GradientStep(model, self._parameters, options.label_smoothing)
        self._optimizer = AdamW(weight_decay=options.weight_decay, clip=options.clip)
        self._weights = self._parameters.join(model.trainable_parameters())
        self._moments = (mx.zeros_like(self._weights), mx.zeros_like(self._weights))
        mx.eval(self._weights, self._moments)  # another thread may train, and could not compute what was begun here
        self._snapshots = Snapshots(options.snapshot_every, options.average)
        self._progress, self._peers = Progress(), ALONE

    @property
    def step(self) -> int:
        """How many steps are done, from the beginning of the run."""
        return self._progress.step

    @property
    def history(self) -> list[Measures]:
        return self._progress.history

    def run(self, peers: Peers = ALONE) -> list[Measures]:
        """Train to the last step, until patience ends or the observer wants to stop; gives all measures so far.

        With `peers`, each process computes a share of every batch; all must begin in the same state, and the first
        one alone measures. Raises `UserError` when the loss is no number, or when one of the peers has gone; the
        checkpoints from before stay as they are.
        """
        blas.warn_when_slow()
        self._peers = peers
        self._began, self._first, self._tokens = time.monotonic(), self.step, 0.0
        with blas.one_thread():
            for batch in self._batches():
                measured = self._train_on(batch)
                if peers.stops(self._observer.wants_stop()) or (measured and peers.any(self._out_of_patience)):
                    if not measured:
                        self._save(best=not self.history)
                    break
        self._show(self._average)
        return self.history

    def resume(self, path: Path) -> None:
        """Take up the state of a checkpoint; raises `UserError` when it was trained on other text or another model."""
        self.take_up(load_training(path), str(path))

    def take_up(self, state: TrainingState, name: str) -> None:
        """Go on from what `state` gave; `name` stands in the message of the `UserError` for what does not fit."""
        if state.values.get("examples") != fingerprint(self.examples):
            raise UserError(f"{name}: was trained on other text; give the same corpus and tokenizer to resume.")
        self.options.check_resumes(TrainingOptions.from_dict(state.values["options"], name), name)
        if state.arrays["weights"].shape != self._weights.shape:
            raise UserError(f"{name}: its training state is that of another model.")
        self._weights = state.arrays["weights"]
        self._moments = state.arrays["moment1"], state.arrays["moment2"]
        self._snapshots.kept.extend(state.arrays[f"snapshot{i}"] for i in range(state.values["snapshots"]))
        self._progress = Progress.from_dict(state.values)

    def _batches(self) -> Iterator[Batch]:
        """The batches from the present place on; the place moves before a batch is used."""
        done = self._progress
        while self.step < self.options.steps:
            plan = plan_epoch(self.examples, self.options, done.epoch)
            while done.place < len(plan) and self.step < self.options.steps:
                done.place += 1
                examples = [self.examples[i] for i in plan[done.place - 1]]
                yield make_batch(examples, self.model.config, self.model.recipe, self.options)
            if done.place == len(plan):
                done.epoch, done.place = done.epoch + 1, 0

    def _train_on(self, batch: Batch) -> bool:
        """One step and all that is due after it; tells whether the model was measured."""
        loss = self._advance(batch)
        self._tokens += float(batch.weights.sum())
        self._observer.stepped(self._report(loss))
        self._snapshots.add(self.step, self._weights)
        due = self.step % self.options.evaluate_every == 0 or self.step == self.options.steps
        if due and self._peers.rank == 0:
            self._measure()
        return due

    def _advance(self, batch: Batch) -> float:
        """One step; what dropout draws depends on the seed, on the step, and on which of the peers this is."""
        self.model.train()
        self.model.update(self._parameters.split(self._weights))
        digest = hashlib.sha256(f"{self.options.seed}/{self.step}".encode()).digest()
        mx.random.seed(int.from_bytes(digest[:8]) ^ self._peers.rank)
        loss, gradient = self._gradient(batch, self._peers)
        rate = self.options.rate(self.step + 1)
        weights, moments = self._optimizer.update(self._weights, gradient, self._moments, rate, self.step + 1)
        mx.eval(loss, weights, moments)
        if not math.isfinite(loss.item()) or not mx.isfinite(weights).all().item():
            raise Diverged(self.step + 1, self.options.learning_rate)
        self._weights, self._moments = weights, moments
        self._progress.add_step(loss.item())
        return float(loss.item())

    def _report(self, loss: float) -> StepReport:
        seconds, done = max(time.monotonic() - self._began, 1e-9), self.step - self._first
        left = (self.options.steps - self.step) * seconds / done
        rate = self.options.rate(self.step)
        return StepReport(self.step, self.options.steps, loss, rate, self._tokens / seconds, left)

    def _measure(self) -> None:
        self._show(self._average)
        loss, accuracy = teacher_forced(self.model, self._validation, self.options.pad_multiple)
        matched = exact_match(self.model, self._validation[:N_TRANSLATED])
        self._save(best=self._progress.add_measures(loss, accuracy, matched))
        self._observer.measured(self.history[-1])

    @property
    def _out_of_patience(self) -> bool:
        """Only the first of the peers measures, so that only it knows."""
        patience = self.options.patience if self._peers.rank == 0 else 0
        return patience > 0 and self._progress.waited >= patience

    @property
    def _average(self) -> mx.array:
        return self._snapshots.mean(self.step, self._weights)

    def _show(self, weights: mx.array) -> None:
        self.model.update(self._parameters.split(weights))
        self.model.eval()
        mx.eval(self.model.parameters())

    def _save(self, best: bool) -> None:
        if self._folder is None:
            return
        weights = dict(tree_flatten(self._parameters.split(self._average)))

        def write(path: Path) -> None:
            save_checkpoint(path, self.model.config, weights, self.tokenizer, self.state())

        self._observer.saved(self._folder.add(self.step, write, best))

    def state(self) -> TrainingState:
        """All that another trainer needs to go on from here, with the same model, tokenizer and examples."""
        arrays = {"weights": self._weights, "moment1": self._moments[0], "moment2": self._moments[1]}
        arrays |= {f"snapshot{i}": snapshot for i, snapshot in enumerate(self._snapshots.kept)}
        values: dict[str, Any] = {
            "options": asdict(self.options),
            "origin": self._origin,
            "examples": fingerprint(self.examples),
            "snapshots": len(self._snapshots.kept),
        }
        return TrainingState(values | self._progress.to_dict(), arrays)


def _check(model: Translator, tokenizer: TextTokenizer, train: Sequence[Example]) -> None:
    if not train:
        raise UserError("train: no examples found; at least one is wanted.")
    check_fits(model.config, tokenizer)
    if any(array.dtype != mx.float32 for _, array in tree_flatten(model.trainable_parameters())):
        raise UserError("model: half types found; train in float32, and call set_dtype afterwards.")
