"""The trainer: steps, snapshots, measures, checkpoints; the same seed gives the same run, stopped or not."""

from __future__ import annotations

import hashlib
import math
import time
from collections import deque
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
from mlxdecoder.training.batches import Batch, Example, make_batch, plan_epoch
from mlxdecoder.training.checkpoint import TrainingState, check_fits, load_training, save_checkpoint
from mlxdecoder.training.evaluation import exact_match, teacher_forced
from mlxdecoder.training.observer import Measures, Observer, StepReport
from mlxdecoder.training.options import TrainingOptions
from mlxdecoder.training.parameters import AdamW, FlatParameters
from mlxdecoder.training.run_folder import RunFolder
from mlxdecoder.training.step import GradientStep

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
        if not train:
            raise UserError("train: no examples found; at least one is wanted.")
        check_fits(model.config, tokenizer)
        if any(array.dtype != mx.float32 for _, array in tree_flatten(model.trainable_parameters())):
            raise UserError("model: half types found; train in float32, and call set_dtype afterwards.")
        self.model, self.tokenizer, self.options = model, tokenizer, options
        self._train, self._validation = train, validation
        self._folder, self._observer, self._origin = folder, observer or Observer(), origin or {}
        self._parameters = FlatParameters(model)
        self._gradient = GradientStep(model, self._parameters, options.label_smoothing)
        self._optimizer = AdamW(weight_decay=options.weight_decay, clip=options.clip)
        self._weights = self._parameters.join(model.trainable_parameters())
        self._moments = (mx.zeros_like(self._weights), mx.zeros_like(self._weights))
        mx.eval(self._weights, self._moments)  # another thread may train, and could not compute what was begun here
        self._snapshots: deque[mx.array] = deque(maxlen=options.average)
        self.step, self._epoch, self._place = 0, 0, 0
        self._best, self._waited, self._since = math.inf, 0, 0
        self._loss_sum = 0.0
        self.history: list[Measures] = []

    def run(self) -> list[Measures]:
        """Train to the last step, until patience ends or the observer wants to stop; gives all measures so far.

        Raises `UserError` when the loss is no number; the checkpoints from before stay as they are.
        """
        blas.warn_when_slow()
        self._began, self._first, self._tokens = time.monotonic(), self.step, 0.0
        with blas.one_thread():
            for batch in self._batches():
                measured = self._train_on(batch)
                if self._observer.wants_stop() or (measured and self._out_of_patience):
                    if not measured:
                        self._save(best=not self.history)
                    break
        self._show(self._average())
        return self.history

    def resume(self, path: Path) -> None:
        """Take up the state of a checkpoint; raises `UserError` when it was trained on other text or another model."""
        state = load_training(path)
        if state.values.get("examples") != self._fingerprint():
            raise UserError(f"{path}: was trained on other text; give the same corpus and tokenizer to resume.")
        self._check_options(state.values["options"], path)
        if state.arrays["weights"].shape != self._weights.shape:
            raise UserError(f"{path}: its training state is that of another model.")
        self._weights = state.arrays["weights"]
        self._moments = state.arrays["moment1"], state.arrays["moment2"]
        self._snapshots.extend(state.arrays[f"snapshot{i}"] for i in range(state.values["snapshots"]))
        for name in ("step", "_epoch", "_place", "_waited", "_since", "_loss_sum"):
            setattr(self, name, state.values[name.lstrip("_")])
        self._best = math.inf if state.values["best"] is None else state.values["best"]
        self.history = [Measures(**measures) for measures in state.values["history"]]

    def _check_options(self, before: dict[str, Any], path: Path) -> None:
        now, before = asdict(self.options), asdict(TrainingOptions.from_dict(before, str(path)))
        changed = [name for name in now if name != "steps" and now[name] != before[name]]
        if changed:
            found = f"{changed[0]} = {now[changed[0]]!r}"
            raise UserError(f"{path}: was trained with {changed[0]} = {before[changed[0]]!r}; {found} found.")

    def _batches(self) -> Iterator[Batch]:
        """The batches from the present place on; the place moves before a batch is used."""
        while self.step < self.options.steps:
            plan = plan_epoch(self._train, self.options, self._epoch)
            while self._place < len(plan) and self.step < self.options.steps:
                self._place += 1
                examples = [self._train[i] for i in plan[self._place - 1]]
                yield make_batch(examples, self.model.config, self.model.recipe, self.options)
            if self._place == len(plan):
                self._epoch, self._place = self._epoch + 1, 0

    def _train_on(self, batch: Batch) -> bool:
        """One step and all that is due after it; tells whether the model was measured."""
        loss = self._advance(batch)
        self._tokens += float(batch.weights.sum())
        self._observer.stepped(self._report(loss))
        if self.step % self.options.snapshot_every == 0:
            self._snapshots.append(self._weights)
        due = self.step % self.options.evaluate_every == 0 or self.step == self.options.steps
        if due:
            self._measure()
        return due

    def _advance(self, batch: Batch) -> float:
        """One step; what dropout draws from `mx.random` depends on the seed and the step alone."""
        self.model.train()
        self.model.update(self._parameters.split(self._weights))
        mx.random.seed(int.from_bytes(hashlib.sha256(f"{self.options.seed}/{self.step}".encode()).digest()[:8]))
        loss, gradient = self._gradient(batch)
        rate = self.options.rate(self.step + 1)
        weights, moments = self._optimizer.update(self._weights, gradient, self._moments, rate, self.step + 1)
        mx.eval(loss, weights, moments)
        if not math.isfinite(loss.item()) or not mx.isfinite(weights).all().item():
            raise Diverged(self.step + 1, self.options.learning_rate)
        self.step += 1
        self._weights, self._moments = weights, moments
        self._loss_sum, self._since = self._loss_sum + loss.item(), self._since + 1
        return float(loss.item())

    def _report(self, loss: float) -> StepReport:
        seconds, done = max(time.monotonic() - self._began, 1e-9), self.step - self._first
        left = (self.options.steps - self.step) * seconds / done
        rate = self.options.rate(self.step)
        return StepReport(self.step, self.options.steps, loss, rate, self._tokens / seconds, left)

    def _measure(self) -> None:
        self._show(self._average())
        loss, accuracy = teacher_forced(self.model, self._validation, self.options.pad_multiple)
        matched = exact_match(self.model, self._validation[:N_TRANSLATED])
        training_loss = self._loss_sum / max(self._since, 1)
        self._loss_sum, self._since = 0.0, 0
        best = not loss >= self._best  # without held-out examples, the newest
        if best:
            self._best, self._waited = (loss if math.isfinite(loss) else self._best), 0
        else:
            self._waited += 1
        self.history.append(Measures(self.step, training_loss, loss, accuracy, matched))
        self._save(best)
        self._observer.measured(self.history[-1])

    @property
    def _out_of_patience(self) -> bool:
        return bool(self.options.patience) and self._waited >= self.options.patience

    def _average(self) -> mx.array:
        """The mean of the last snapshots, of which the present weights are always one."""
        latest = [] if self.step and self.step % self.options.snapshot_every == 0 else [self._weights]
        kept = [*self._snapshots, *latest][-self.options.average :]
        return sum(kept[1:], kept[0]) / len(kept)

    def _show(self, weights: mx.array) -> None:
        self.model.update(self._parameters.split(weights))
        self.model.eval()
        mx.eval(self.model.parameters())

    def _save(self, best: bool) -> None:
        if self._folder is None:
            return
        weights = dict(tree_flatten(self._parameters.split(self._average())))

        def write(path: Path) -> None:
            save_checkpoint(path, self.model.config, weights, self.tokenizer, self._state())

        self._observer.saved(self._folder.add(self.step, write, best))

    def _state(self) -> TrainingState:
        arrays = {"weights": self._weights, "moment1": self._moments[0], "moment2": self._moments[1]}
        arrays |= {f"snapshot{i}": snapshot for i, snapshot in enumerate(self._snapshots)}
        values: dict[str, Any] = {
            "options": asdict(self.options),
            "origin": self._origin,
            "examples": self._fingerprint(),
            "step": self.step,
            "epoch": self._epoch,
            "place": self._place,
            "snapshots": len(self._snapshots),
            "best": self._best if math.isfinite(self._best) else None,
            "waited": self._waited,
            "since": self._since,
            "loss_sum": self._loss_sum,
            "history": [measures.to_dict() for measures in self.history],
        }
        return TrainingState(values, arrays)

    def _fingerprint(self) -> str:
        """Of the examples and their order."""
        digest = hashlib.sha256()
        for example in self._train:
            digest.update(repr((example.source, example.target)).encode())
        return digest.hexdigest()[:16]
