"""Sentences of like length in batches of about as many tokens, in an order that a seed decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.generate import pad_right
from mlxdecoder.masks import Padding
from mlxdecoder.recipe import Layout, Recipe

ROUND = 4  # lengths are padded to multiples of this, so that few shapes occur


@dataclass(frozen=True)
class Example:
    """One pair of sentences as ids, without marks."""

    source: tuple[int, ...]
    target: tuple[int, ...]


@dataclass(frozen=True)
class Batch:
    """What one step is trained on: `source` [B, S], `inputs` and `labels` [B, T], `weights` [B, T], 0 = ignored."""

    source: np.ndarray
    inputs: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    layout: Layout

    def halves(self) -> list[Batch]:
        """The batch in two parts, or whole where it has a single row."""
        middle, end = len(self.source) // 2, len(self.source)
        return [self._rows(range(middle)), self._rows(range(middle, end))] if middle else [self]

    def _rows(self, rows: range) -> Batch:
        chosen = slice(rows.start, rows.stop)
        arrays = (self.source[chosen], self.inputs[chosen], self.labels[chosen], self.weights[chosen])
        return Batch(*arrays, self.layout.rows(rows))


def plan_epoch(examples: Sequence[Example], tokens: int, seed: int, epoch: int) -> list[list[int]]:
    """Which examples make the batches of an epoch; each batch is at most `tokens` wide, padding included, a side.

    The plan is a function of its arguments alone, which is what lets a stopped training go on where it was. Raises
    `UserError` for an example that is longer than a batch may be.
    """
    random = np.random.default_rng((seed, epoch))
    widths = [(_rounded(len(example.source)), _rounded(len(example.target) + 1)) for example in examples]
    batches: list[list[int]] = []
    widest = 0  # of the batch being filled
    for i in sorted(random.permutation(len(examples)).tolist(), key=lambda i: widths[i]):
        if max(widths[i]) > tokens:
            raise UserError(f"tokens_per_batch = {tokens}: a sentence of {max(widths[i])} does not fit; raise it.")
        widest = max(widest, *widths[i])
        if not batches or (len(batches[-1]) + 1) * widest > tokens:
            batches.append([])
            widest = max(widths[i])
        batches[-1].append(i)
    return [batches[i] for i in random.permutation(len(batches))]


def make_batch(examples: Sequence[Example], config: ModelConfig, recipe: Recipe) -> Batch:
    """Pad, frame and shift examples as the recipe says."""
    sources = [example.source for example in examples]
    framed = [recipe.frame_target(example.target, config.begin_id, config.end_id) for example in examples]
    width = max(len(row) for row in framed)
    rows = pad_right(framed, config.pad_id, _rounded(width - 1) + 1)
    inputs, labels = recipe.shift_targets(rows)
    source = pad_right(sources, config.pad_id, _rounded(max(map(len, sources))))
    layout = Layout(source=Padding.right([len(row) for row in sources], source.shape[1]))
    return Batch(source, inputs, labels, recipe.loss_weights(labels, config.pad_id), layout)


def _rounded(length: int) -> int:
    return -(-length // ROUND) * ROUND
