"""Sentences of like length in batches of about as many tokens, in an order that a seed decides."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.ids import pad_right
from mlxdecoder.masks import Documents, Mask, Padding
from mlxdecoder.recipe import Layout, Recipe
from mlxdecoder.training.options import TrainingOptions

DEFAULTS = TrainingOptions()


@dataclass(frozen=True)
class Example:
    """One pair of sentences as ids, without marks."""

    source: tuple[int, ...]
    target: tuple[int, ...]


def fingerprint(examples: Sequence[Example]) -> str:
    """16 hex digits that tell apart examples, and their order."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(repr((example.source, example.target)).encode())
    return digest.hexdigest()[:16]


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

    def share(self, rank: int, size: int) -> Batch:
        """The rows of one of `size` processes, in order; where they are too few, a row that counts nothing."""
        rows = range(rank * len(self.source) // size, (rank + 1) * len(self.source) // size)
        if rows:
            return self._rows(rows)
        row = self._rows(range(1))
        return replace(row, weights=np.zeros_like(row.weights))

    def _rows(self, rows: range) -> Batch:
        chosen = slice(rows.start, rows.stop)
        arrays = (self.source[chosen], self.inputs[chosen], self.labels[chosen], self.weights[chosen])
        return Batch(*arrays, self.layout.rows(rows))


def plan_epoch(examples: Sequence[Example], options: TrainingOptions, epoch: int) -> list[list[int]]:
    """Which examples make the batches of an epoch; each is at most `tokens_per_batch` wide, padding included, a side.

    Widths are those of rows that are not packed.
    The plan is a function of its arguments alone, which is what lets a stopped training go on where it was. Raises
    `UserError` for an example that is longer than a batch may be.
    """
    random = np.random.default_rng((options.seed, epoch))
    tokens, multiple = options.tokens_per_batch, options.pad_multiple
    widths = [(_rounded(len(one.source), multiple), _rounded(len(one.target) + 1, multiple)) for one in examples]
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


def make_batch(
    examples: Sequence[Example], config: ModelConfig, recipe: Recipe, options: TrainingOptions = DEFAULTS
) -> Batch:
    """Frame, pack, pad and shift examples as the recipe and the options say."""
    sources = [list(example.source) for example in examples]
    framed = [list(recipe.frame_target(example.target, config.begin_id, config.end_id)) for example in examples]
    if options.pack > 1:
        return _packed_batch(sources, framed, config, recipe, options)
    source, (inputs, labels) = _tables(sources, framed, config, recipe, options)
    layout = Layout(source=Padding.right([len(row) for row in sources], source.shape[1]))
    return Batch(source, inputs, labels, recipe.loss_weights(labels, config.pad_id), layout)


def _packed_batch(
    sources: list[list[int]], framed: list[list[int]], config: ModelConfig, recipe: Recipe, options: TrainingOptions
) -> Batch:
    """Several pairs in a row; that one document begins where another ends is nothing to be learnt."""
    sources, source_ids = _packed(sources, options.pack)
    framed, target_ids = _packed(framed, options.pack)
    source, (inputs, labels) = _tables(sources, framed, config, recipe, options)
    layout = Layout(_documents(source_ids, source.shape[1]), _documents(target_ids, inputs.shape[1]))
    weights = recipe.loss_weights(labels, config.pad_id)
    for row, numbers in enumerate(target_ids):
        weights[row, [t for t in range(len(numbers) - 1) if numbers[t] != numbers[t + 1]]] = 0
    return Batch(source, inputs, labels, weights, layout)


def _tables(
    sources: list[list[int]], framed: list[list[int]], config: ModelConfig, recipe: Recipe, options: TrainingOptions
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """The padded sources [B, S]; inputs and labels [B, T]."""
    width, longest = (max(map(len, rows)) for rows in (sources, framed))
    source_width, target_width = (_rounded(n, options.pad_multiple) for n in (width, longest - 1))
    if config.positions == "learned" and options.pack == 1:  # there are no more places than were learned
        source_width = max(width, min(source_width, config.max_length))
        target_width = max(longest - 1, min(target_width, config.max_length))
    rows = pad_right(framed, config.pad_id, target_width + 1)
    return pad_right(sources, config.pad_id, source_width), recipe.shift_targets(rows)


def _packed(rows: list[list[int]], pack: int) -> tuple[list[list[int]], list[list[int]]]:
    """Every `pack` rows as one, and for each of its tokens the number of the row it is from."""
    groups = [rows[i : i + pack] for i in range(0, len(rows), pack)]
    joined = [[token for row in group for token in row] for group in groups]
    numbers = [[number for number, row in enumerate(group) for _ in row] for group in groups]
    return joined, numbers


def _documents(numbers: list[list[int]], width: int) -> Mask:
    """Packed rows as a mask; each slot of padding is a document of its own, so that its position is the first."""
    first = 1 + max(number for row in numbers for number in row)
    padding = range(first, first + width)
    return Documents(tuple(tuple([*row, *padding][:width]) for row in numbers))


def _rounded(length: int, multiple: int) -> int:
    return -(-length // multiple) * multiple
