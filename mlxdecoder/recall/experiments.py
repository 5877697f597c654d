"""The toys of all position schemes: trained, stretched, asked, and written to the assets as a record."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from mlxdecoder.config import PositionKind, RotaryScaling
from mlxdecoder.errors import UserError
from mlxdecoder.files import write_text
from mlxdecoder.models import LanguageModel
from mlxdecoder.recall.curve import Recall
from mlxdecoder.recall.measuring import measure, measure_function, one_by_one
from mlxdecoder.recall.toys import LENGTH, OPTIONS, stretched, toy_config
from mlxdecoder.recall.training import train
from mlxdecoder.training.options import TrainingOptions

COMMAND, NAME = "make recall", "recall.json"
RECENT = 100  # steps at the end, whose mean loss is told
SCHEMES: tuple[PositionKind, ...] = ("learned", "sinusoidal", "rotary", "relative", "alibi", "none")
SCALINGS: tuple[RotaryScaling, ...] = ("linear", "ntk", "dynamic", "yarn")
LENGTHS = (8, 16, 32, 48, 64, 128)
Progress = Callable[[str, int, float], None]
"""Is told the scheme, and each step of its training with its loss; it may raise to stop."""


def run_experiments(
    out: Path | None = None,
    schemes: Sequence[PositionKind] = SCHEMES,
    options: TrainingOptions = OPTIONS,
    progress: Progress | None = None,
    done: Callable[[str, Recall], None] | None = None,
) -> dict[str, Any]:
    """Train a toy for each scheme and ask it; the record is written anew after each of them, where `out` is given."""
    found: dict[str, Any] = {}
    how = {"steps": options.steps, "tokens_a_step": options.tokens_per_batch, "seed": options.seed}
    record = {"command": COMMAND, "trained_length": LENGTH, **how, "schemes": found}
    for scheme in schemes:
        model, trained = _train(scheme, options, progress)
        for name, recall in curves(model, scheme):
            found[name] = {**(trained if name == scheme else {}), "recall": recall.to_dict()}
            if done:
                done(name, recall)
        if out:
            write_text(out, json.dumps(record, indent=1) + "\n")
    return record


def _train(
    scheme: PositionKind, options: TrainingOptions, progress: Progress | None
) -> tuple[LanguageModel, dict[str, float]]:
    """The toy of a scheme, the mean loss of its last steps, and the processor's seconds."""
    began = time.process_time()
    losses: list[float] = []

    def stepped(step: int, loss: float) -> None:
        losses.append(loss)
        if progress:
            progress(scheme, step, loss)

    model = train(toy_config(scheme), options, stepped)
    seconds = round(time.process_time() - began, 1)
    return model, {"loss": float(np.mean(losses[-RECENT:])), "processor_seconds": seconds}


def curves(model: LanguageModel, scheme: PositionKind) -> Iterator[tuple[str, Recall]]:
    """The recall of a toy; of a rotary one also after each scaling, and with the growing base through a cache."""
    yield scheme, measure(model, LENGTHS)
    if scheme != "rotary":
        return
    for scaling in SCALINGS:
        yield f"rotary, {scaling}", measure(stretched(model, scaling), LENGTHS)
    dynamic = stretched(model, "dynamic")
    yield "rotary, dynamic, cached", measure_function(one_by_one(dynamic), dynamic.config, LENGTHS)


@cache
def measured() -> dict[str, Any]:
    """The packaged record of `make recall`; raises `UserError` when it is missing."""
    path = files("mlxdecoder.assets") / NAME
    if not path.is_file():
        raise UserError(f"{NAME}: not among the assets; run `{COMMAND}` first.")
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record
