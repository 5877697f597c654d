"""How trainers make inputs, labels and weights from sentences: collate functions in three styles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tests.wild.entry import Wild

Array = NDArray[np.int64]
Sentences = list[list[int]]
Batch = tuple[Any, Any, Any]
BOS, EOS, PAD, IGNORE = 1, 2, 0, -100


def pad_sequence(sequences: Sentences, value: int = PAD) -> Array:
    longest = max(map(len, sequences))
    return np.array([sequence + [value] * (longest - len(sequence)) for sequence in sequences])


class Sliced:
    """`[BOS, ..., EOS]` padded, then `[:, :-1]` and `[:, 1:]`; labels that are padding have weight 0."""

    def marked(self, sentence: list[int]) -> list[int]:
        return [BOS, *sentence, EOS]

    def cut(self, batch: Array) -> tuple[Array, Array]:
        return batch[:, :-1], batch[:, 1:]

    def loss_mask(self, labels: Array) -> NDArray[np.float32]:
        return (labels != PAD).astype(np.float32)

    def __call__(self, sentences: Sentences) -> Batch:
        inputs, labels = self.cut(pad_sequence([self.marked(sentence) for sentence in sentences]))
        return inputs, labels, self.loss_mask(labels)


class Unshifted(Sliced):
    def cut(self, batch: Array) -> tuple[Array, Array]:
        return batch[:, :-1], batch[:, :-1]


class ShiftedTwice(Sliced):
    """The data set had shifted already."""

    def cut(self, batch: Array) -> tuple[Array, Array]:
        return batch[:, :-2], batch[:, 2:]


class NoEnd(Sliced):
    def marked(self, sentence: list[int]) -> list[int]:
        return [BOS, *sentence]


class PaddingCounts(Sliced):
    def loss_mask(self, labels: Array) -> NDArray[np.float32]:
        return np.ones(labels.shape, dtype=np.float32)


class IgnoredLabels:
    """Labels by their own padding of -100 and no weights, as a cross entropy with `ignore_index` wants them."""

    shift = 1
    end = (EOS,)
    label_padding = IGNORE

    def __call__(self, sentences: Sentences) -> Batch:
        features = [[BOS, *sentence, *self.end] for sentence in sentences]
        inputs = pad_sequence([feature[: len(feature) - self.shift] for feature in features])
        labels = pad_sequence([feature[self.shift :] for feature in features], self.label_padding)
        return inputs, labels, None


class IgnoredUnshifted(IgnoredLabels):
    """Labels are a copy of the inputs: right only for a model that shifts them inside."""

    shift = 0


class IgnoredShiftedTwice(IgnoredLabels):
    shift = 2


class IgnoredNoEnd(IgnoredLabels):
    end = ()


class PaddedWithPad(IgnoredLabels):
    """Labels are padded as the inputs are, and -100 never occurs."""

    label_padding = PAD


def rows_in_a_loop(sentences: Sentences, pad: int = EOS, end: bool = True, weigh_by_length: bool = True) -> Batch:
    """Row by row into arrays of MLX; the padding is the end mark, as in GPT-2, so weights go by length."""
    longest = max(map(len, sentences)) + 1
    inputs, labels = np.full((len(sentences), longest), pad), np.full((len(sentences), longest), pad)
    weights = np.zeros((len(sentences), longest), dtype=np.float32)
    for row, sentence in enumerate(sentences):
        targets = [*sentence, EOS] if end else sentence
        inputs[row, : len(sentence) + 1] = [BOS, *sentence]
        labels[row, : len(targets)] = targets
        weights[row, : len(targets)] = 1
    if not weigh_by_length:
        weights = (labels != pad).astype(np.float32)
    return mx.array(inputs), mx.array(labels), mx.array(weights)


def counts_all(sentences: Sentences) -> Batch:
    inputs, labels, weights = rows_in_a_loop(sentences)
    return inputs, labels, mx.ones_like(weights)


def end_counts_as_padding(sentences: Sentences) -> Batch:
    """`labels != pad` where the padding is the end mark: no sentence ever ends."""
    return rows_in_a_loop(sentences, weigh_by_length=False)


def collate(name: str, function: Callable[[Sentences], Batch], mistake: int | None = None, **options: int) -> Wild:
    return Wild(name, "batches", lambda _: function, mistake, {"begin": BOS, "end": EOS, "pad": PAD, **options})


ENTRIES = [
    collate("sliced.right", Sliced()),
    collate("sliced.unshifted", Unshifted(), 12),
    collate("sliced.shifted_twice", ShiftedTwice(), 13),
    collate("sliced.no_end", NoEnd(), 21),
    collate("sliced.padding_counts", PaddingCounts(), 23),
    collate("ignored.right", IgnoredLabels(), ignore=IGNORE),
    collate("ignored.unshifted", IgnoredUnshifted(), 12, ignore=IGNORE),
    collate("ignored.shifted_twice", IgnoredShiftedTwice(), 13, ignore=IGNORE),
    collate("ignored.no_end", IgnoredNoEnd(), 21, ignore=IGNORE),
    collate("ignored.padded_with_pad", PaddedWithPad(), 23, ignore=IGNORE),
    collate("end_as_padding.right", rows_in_a_loop, pad=EOS),
    collate("end_as_padding.end_not_counted", end_counts_as_padding, 21, pad=EOS),
    collate("end_as_padding.padding_counts", counts_all, 23, pad=EOS),
]
