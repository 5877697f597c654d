"""Our training step against PyTorch's, for the same model on the same batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import mlx.core as mx
import numpy as np

from mlxdecoder import blas
from mlxdecoder.bench.peer import peer
from mlxdecoder.bench.timing import paired
from mlxdecoder.config import ModelConfig
from mlxdecoder.models import Translator
from mlxdecoder.recipe import Layout
from mlxdecoder.training.batches import Batch
from mlxdecoder.training.parameters import AdamW, FlatParameters
from mlxdecoder.training.step import GradientStep

LENGTH = 16
SMOOTHING = 0.1


@dataclass(frozen=True)
class Case:
    """One size: `rows` sentences of 16 tokens a side; `d_ff` is four times `d_model`."""

    name: str
    d_model: int
    vocab: int
    rows: int

    @property
    def config(self) -> ModelConfig:
        return ModelConfig(d_model=self.d_model, d_ff=4 * self.d_model, target_vocab=self.vocab, dropout=0.1)


CASES = (Case("d 64, V 400, 128 rows", 64, 400, 128), Case("d 128, V 2,500, 64 rows", 128, 2500, 64))


def measure(rounds: int = 25) -> list[tuple[str, float, float, float]]:
    """For each case its name, our seconds, PyTorch's, and the first divided by the second; nothing without torch.

    PyTorch has a process of its own: in ours, its products would go to the BLAS that was loaded for MLX, and be slower.
    """
    if find_spec("torch") is None:
        return []
    rows = []
    for i, case in enumerate(CASES):
        with peer("mlxdecoder.bench.torch_twin", str(i), MLXDECODER_BLAS="off") as ask, blas.one_thread():
            rows.append((case.name, *paired(our_step(case, make_batch(case)), lambda: ask(""), rounds, case.name)))
    return rows


def make_batch(case: Case) -> Batch:
    random = np.random.default_rng(0)
    source, rows = (random.integers(4, case.vocab, (case.rows, LENGTH + extra)) for extra in (0, 1))
    weights = np.ones((case.rows, LENGTH), np.float32)
    return Batch(source, rows[:, :-1], rows[:, 1:], weights, Layout())


def our_step(case: Case, batch: Batch) -> Callable[[], None]:
    """What the trainer does in one step."""
    model = Translator(case.config)
    parameters, optimizer = FlatParameters(model), AdamW()
    gradient = GradientStep(model, parameters, SMOOTHING)
    weights = parameters.join(model.trainable_parameters())
    state: dict[str, Any] = {"weights": weights, "moments": (mx.zeros_like(weights), mx.zeros_like(weights)), "step": 0}

    def step() -> None:
        model.train()
        model.update(parameters.split(state["weights"]))
        loss, flat = gradient(batch)
        state["step"] += 1
        state["weights"], state["moments"] = optimizer.update(
            state["weights"], flat, state["moments"], 1e-3, state["step"]
        )
        mx.eval(loss, state["weights"], state["moments"])

    return step
