"""Questions about what stands earlier in a row, made of token ids alone: any language model can be asked.

A fact is a key and, behind it, its value. The question is the key again, and the value is to follow. The distance of a
question is how many tokens back the key of the fact stands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError


@dataclass(frozen=True)
class Questions:
    """Rows of ids [B, T]; where `asked` [B, T] is True, the id in `answers` [B, T] is to follow."""

    tokens: np.ndarray
    answers: np.ndarray
    asked: np.ndarray


@dataclass(frozen=True)
class Alphabet:
    """What rows are made of: `begin` opens them, `mark` marks a place in them, `words` [W] are all other ids."""

    begin: int
    mark: int
    words: np.ndarray

    @classmethod
    def of(cls, config: ModelConfig) -> Alphabet:
        """The ids of a model without those that pad and end; the first of the others is the mark."""
        ids = np.setdiff1d(np.arange(config.target_vocab), (config.pad_id, config.begin_id, config.end_id))
        if len(ids) < 3:
            raise UserError(f"target_vocab = {config.target_vocab}: too few ids to ask about; 6 are wanted at least.")
        return cls(config.begin_id, int(ids[0]), ids[1:])

    def draw(self, random: np.random.Generator, rows: int, distinct: int, others: int) -> tuple[np.ndarray, np.ndarray]:
        """For each row, words that are all different [rows, distinct], and any of the remaining ones [rows, others]."""
        if distinct >= len(self.words):
            raise UserError(
                f"length: {distinct + 1} different words are wanted, but the vocabulary has {len(self.words)}; "
                f"it is enough for lengths up to {2 * len(self.words) + 1}."
            )
        shuffled = random.permuted(np.broadcast_to(self.words, (rows, len(self.words))), axis=1)
        chosen = random.integers(distinct, len(self.words), (rows, others))
        return shuffled[:, :distinct], np.take_along_axis(shuffled, chosen, axis=1)


Task = Callable[[np.random.Generator, Alphabet, int, int, int | None], Questions]
"""Draws so many rows of so many tokens, which ask at a distance; None: at any, and as often as there is room for."""


def associative(
    random: np.random.Generator, ids: Alphabet, rows: int, length: int, distance: int | None = None
) -> Questions:
    """Pairs of a key and a value, then keys in any order, each to be answered with its value; distances are even.

    At least half of a row are pairs, so that facts stand at all its places. Multi-query associative recall, Arora et
    al. 2023, https://arxiv.org/abs/2312.04927.
    """
    n_asked = int(random.integers(1, length // 4 + 1)) if distance is None else 1
    n_pairs = length // 2 - n_asked
    pairs = np.stack(ids.draw(random, rows, n_pairs, n_pairs), axis=-1)  # [B, pairs, 2]
    which = random.integers(0, n_pairs, (rows, n_asked))
    if distance is not None:
        which[:] = n_pairs - distance // 2
    asked = np.take_along_axis(pairs, which[..., None], axis=1)
    return _ask(ids, np.concatenate([pairs, asked], axis=1).reshape(rows, -1), length, slice(-2 * n_asked, None, 2))


def copy(random: np.random.Generator, ids: Alphabet, rows: int, length: int, distance: int | None = None) -> Questions:
    """Other words, a mark, a row of words that are all different, the mark, and the same words again."""
    distance = int(random.integers(2, length // 2 + 1)) if distance is None else distance
    text, others = ids.draw(random, rows, distance - 1, length - 2 * distance)
    mark = np.full((rows, 1), ids.mark)
    return _ask(ids, np.concatenate([others, mark, text, mark, text], axis=1), length, slice(-distance, -1))


def needle(
    random: np.random.Generator, ids: Alphabet, rows: int, length: int, distance: int | None = None
) -> Questions:
    """A mark and a word among many other words, and at the end the mark again."""
    distance = int(random.integers(2, length - 1)) if distance is None else distance
    row = random.choice(ids.words, (rows, length))
    row[:, [-2, -2 - distance]] = ids.mark
    row[:, -1] = row[:, -1 - distance]
    return _ask(ids, row, length, slice(-2, -1))


TASKS: dict[str, Task] = {"associative": associative, "copy": copy, "needle": needle}


def distances(task: str, length: int) -> list[int]:
    """The distances at which a task asks in rows of so many tokens: 4, 8, 16 and so on, and the longest one."""
    longest = length // 2 if task == "copy" else length - 2
    powers = [2**i for i in range(2, 64) if 2**i < longest]
    return [*powers, longest - longest % 2]


def _ask(ids: Alphabet, row: np.ndarray, length: int, keys: slice) -> Questions:
    """Questions from rows that end with an answer; `keys` counts, from there, what is to be answered."""
    begins = np.full((len(row), length + 1 - row.shape[1]), ids.begin)
    framed = np.concatenate([begins, row], axis=1).astype(np.int32)  # [B, T + 1]
    asked = np.zeros(framed.shape, bool)
    asked[:, keys] = True
    return Questions(framed[:, :-1], framed[:, 1:], asked[:, :-1])
