"""The options of `mlxdecoder train` that stand for fields of a model's and of a training's configuration."""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import Any, get_args, get_type_hints

from mlxdecoder.config import ModelConfig
from mlxdecoder.training.options import TrainingOptions

TRAINING = {
    "steps": "how many batches to train on",
    "tokens_per_batch": "padded tokens a side in a batch",
    "learning_rate": "highest learning rate",
    "warmup": "steps until the highest learning rate",
    "schedule": "how the learning rate falls afterwards",
    "label_smoothing": "share of each label that is spread over the vocabulary",
    "weight_decay": "share of the weights that is taken away a step, times the learning rate",
    "clip": "longest gradient that is not cut",
    "evaluate_every": "steps between two measurements, each of which saves a checkpoint",
    "snapshot_every": "steps between two of the snapshots that are averaged",
    "average": "snapshots to average",
    "patience": "measurements without a better loss until it stops; 0: never",
    "seed": "the same seed gives the same run",
}
MODEL = {
    "d_model": "width of the model",
    "n_heads": "query heads",
    "n_kv_heads": "key and value heads; fewer than --n-heads share them",
    "d_ff": "width inside the MLP",
    "n_layers": "layers of the decoder",
    "n_encoder_layers": "layers of the encoder, if not as many",
    "norm": "norm before each branch or after each sum",
    "norm_kind": "LayerNorm or RMSNorm",
    "positions": "how the order of tokens is known",
    "activation": "function inside the MLP",
    "dropout": "share of features dropped while training",
}


def add_training_options(parser: argparse.ArgumentParser) -> None:
    _add(parser.add_argument_group("training (defaults come from the preset)"), TrainingOptions, TRAINING)


def add_model_options(parser: argparse.ArgumentParser) -> None:
    _add(parser.add_argument_group("model (defaults come from the preset)"), ModelConfig, MODEL)


def _add(group: Any, kind: Any, helps: dict[str, str]) -> None:
    hints, defaults = get_type_hints(kind), {field.name: field.default for field in fields(kind)}
    for name, text in helps.items():
        choices = [choice for choice in get_args(hints[name]) if isinstance(choice, str)]
        number = float if isinstance(defaults[name], float) else int
        how: dict[str, Any] = {"choices": choices} if choices else {"type": number, "metavar": "X"}
        group.add_argument(f"--{name.replace('_', '-')}", help=text, **how)
