"""The experiments behind the catalogue's figures: every entry as twins on the toy task, written to the assets."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from mlxdecoder.errors import UserError
from mlxdecoder.files import write_text
from mlxdecoder.mistakes import CATALOGUE, Mistake
from mlxdecoder.mistakes.effects import Effects, effects
from mlxdecoder.mistakes.twins import Progress, Twins, TwinTraining
from mlxdecoder.mistakes.view import head_numbers
from mlxdecoder.text.corpus import Pair
from mlxdecoder.text.protocol import TextTokenizer
from mlxdecoder.text.toy import make_splits
from mlxdecoder.training.prepare import Prepared, prepare
from mlxdecoder.training.presets import PRESETS, Preset

STEPS, SEED = 500, 0
COMMAND = "make experiments"
PROBE, BESIDE = "The black cat sees the old woman.", "The small dogs sleep."
NAME = "experiments.json"


def other_sentence(tokenizer: TextTokenizer, sentence: str) -> str | None:
    """Another sentence, where a mistake needs one: of the toy grammar, if the vocabulary has it word for word."""
    if tokenizer.kind != "own":
        return None
    other = PROBE if sentence.strip() == BESIDE else BESIDE
    n_words = len(other.split()) + 1  # the full stop is one too
    return other if len(tokenizer.encode(other)) == n_words else None


def experiment_preset(steps: int = STEPS, seed: int = SEED) -> Preset:
    """The toy preset, shorter, and without label smoothing, so that a loss of nothing means that nothing is unsure."""
    toy = PRESETS["toy"]
    changes: dict[str, Any] = {
        "steps": steps,
        "seed": seed,
        "evaluate_every": max(steps // 4, 1),
        "label_smoothing": 0.0,
    }
    return replace(toy, training=replace(toy.training, **changes))


def toy_text(preset: Preset) -> Prepared:
    """The toy grammar's sentences, encoded for the preset."""
    splits = make_splits()
    train, validation = (
        [Pair(pair.source, pair.target) for pair in pairs] for pairs in (splits.train, splits.validation)
    )
    return prepare(train, validation, preset.vocab_size)


def run_experiments(
    out: Path,
    preset: Preset,
    mistakes: Sequence[Mistake] = CATALOGUE,
    progress: Progress | None = None,
    done: Callable[[Mistake, dict[str, Any]], None] | None = None,
) -> None:
    """Train twins for each entry and write all that was measured to one JSON file, after each entry."""
    training = TwinTraining(preset, toy_text(preset), progress)
    rows: dict[str, Any] = {}
    for mistake in mistakes:
        rows[mistake.id] = measure(training, mistake)
        how = {"steps": preset.training.steps, "seed": preset.training.seed}
        record = {"command": COMMAND, "preset": "toy", **how, "entries": rows}
        write_text(out, json.dumps(record, ensure_ascii=False, indent=1) + "\n")
        if done:
            done(mistake, rows[mistake.id])


def measure(training: TwinTraining, mistake: Mistake) -> dict[str, Any]:
    """The twins of one entry, and one sentence before and after the mistake was learnt."""
    twins = training.run([mistake.id])
    right, wrong = _effects(training, twins)
    decode = training.prepared.tokenizer.decode
    heatmap = {
        "correct": _summary(right.read.correct),
        "mistaken": _summary(wrong.read.mistaken),
        "mistaken_written": _summary(wrong.written.mistaken),
    }
    example = {"source": PROBE, "correct": decode(right.correct), "mistaken": decode(wrong.mistaken)}
    return _rounded({**twins.to_dict(), "heatmap": heatmap, "example": example})


def _effects(training: TwinTraining, twins: Twins) -> tuple[Effects, Effects]:
    """What each twin makes of the probe sentence; both read the translation of the right one."""
    tokenizer, (right, wrong) = training.prepared.tokenizer, twins.models
    source, beside = tokenizer.encode(PROBE), tokenizer.encode(BESIDE)
    of_right = effects(right, tokenizer, twins.mistakes, source, beside)
    return of_right, effects(wrong, tokenizer, twins.mistakes, source, beside, of_right.correct)


def _summary(maps: Any) -> dict[str, Any]:
    """For each kind: extreme row sums, and the means over heads of what is outside and of the entropy."""
    summary = {}
    for kind in maps:
        heads = [one for one in head_numbers(maps) if one.kind == kind]
        summary[kind] = {
            "least_sum": min(one.least_sum for one in heads),
            "largest_sum": max(one.largest_sum for one in heads),
            "outside": float(np.mean([one.outside for one in heads])),
            "entropy": float(np.mean([one.entropy for one in heads])),
            "not_finite": sum(one.not_finite for one in heads),
        }
    return summary


def _rounded(value: Any) -> Any:
    """Numbers in four significant digits, null where they are not finite: what a table can use, and no more."""
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(inner) for inner in value]
    if isinstance(value, float):
        return float(f"{value:.4g}") if np.isfinite(value) else None
    return value


@cache
def measured() -> dict[str, Any]:
    """The packaged record of `make experiments`; raises `UserError` when it is missing."""
    path = files("mlxdecoder.assets") / NAME
    if not path.is_file():
        raise UserError(f"{NAME}: not among the assets; run `{COMMAND}` first.")
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record
