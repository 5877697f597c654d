"""Training of a small language model on questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from mlxdecoder import blas
from mlxdecoder.config import ModelConfig
from mlxdecoder.models import LanguageModel
from mlxdecoder.recall.tasks import TASKS, Alphabet, Questions, distances
from mlxdecoder.recipe import Layout
from mlxdecoder.training.loss import cross_entropy
from mlxdecoder.training.options import TrainingOptions
from mlxdecoder.training.parameters import AdamW, FlatParameters

SHORTEST = 8  # tokens of the first rows
GROWTH = 1000  # steps in which they grow to the longest; without that, nothing is learnt for long
SHARES = {"associative": 0.5, "copy": 0.25, "needle": 0.25}  # of the rows of a batch
AT_ONE_DISTANCE = 0.25  # of the batches
Progress = Callable[[int, float], None]
"""Is told each step and its loss; it may raise to stop the training."""


def train(config: ModelConfig, options: TrainingOptions, progress: Progress | None = None) -> LanguageModel:
    """Train a language model on rows of up to its `max_length`, from short ones to all."""
    mx.random.seed(options.seed)
    model, random = LanguageModel(config), np.random.default_rng(options.seed)
    parameters, optimizer, gradient = FlatParameters(model), AdamW(), _gradient(model)
    weights = parameters.join(model.trainable_parameters())
    moments = mx.zeros_like(weights), mx.zeros_like(weights)
    with blas.one_thread():
        for step in range(1, options.steps + 1):
            loss, tree = gradient(practice(random, config, options.tokens_per_batch, step))
            weights, moments = optimizer.update(weights, parameters.join(tree), moments, options.rate(step), step)
            mx.eval(loss, weights, moments)
            model.update(parameters.split(weights))
            if progress:
                progress(step, loss.item())
    mx.eval(model.parameters())
    model.eval()
    return model


def practice(random: np.random.Generator, config: ModelConfig, tokens: int, step: int) -> Questions:
    """The batch of a step, of so many tokens: rows of one length, up to a limit that grows; long ones are likelier."""
    limit = SHORTEST + min(step / GROWTH, 1.0) * (config.max_length - SHORTEST)
    length = 2 * int(random.integers(SHORTEST // 2, int(limit) // 2 + 1, 2).max())
    rows, ids = tokens // length, Alphabet.of(config)
    parts = [
        TASKS[task](random, ids, max(int(share * rows), 1), length, _distance(random, task, length))
        for task, share in SHARES.items()
    ]
    return Questions(*map(np.concatenate, zip(*map(astuple, parts), strict=True)))


def _distance(random: np.random.Generator, task: str, length: int) -> int | None:
    """Where the questions of a batch reach: to any distance, or to one, as a near one at the end of a row is rare."""
    return int(random.choice(distances(task, length))) if random.random() < AT_ONE_DISTANCE else None


def _gradient(model: LanguageModel) -> Callable[[Questions], tuple[mx.array, Any]]:
    """The loss of the answers, which is all that can be known of a row, and its gradient; each row counts the same."""

    def loss(questions: Questions) -> mx.array:
        logits = model.decode_unchecked(mx.array(questions.tokens), Layout(), None, None)  # [B, T, V]
        share = questions.asked / questions.asked.sum(axis=1, keepdims=True) / len(questions.asked)  # [B, T]
        labels, weights = mx.array(questions.answers.reshape(-1)), mx.array(share.reshape(-1).astype(np.float32))
        return cross_entropy(logits.reshape(-1, logits.shape[-1]), labels, weights)

    found: Callable[[Questions], tuple[mx.array, Any]] = nn.value_and_grad(model, loss)
    return found
