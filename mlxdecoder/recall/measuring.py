"""Asking a language model at every distance, in rows of each length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, TypedDict, Unpack

import mlx.core as mx
import numpy as np

from mlxdecoder.config import ModelConfig
from mlxdecoder.decoding import generating
from mlxdecoder.errors import UserError
from mlxdecoder.models import LanguageModel
from mlxdecoder.recall.curve import ROWS, THRESHOLD, Cell, Recall
from mlxdecoder.recall.tasks import TASKS, Alphabet, Questions, distances

SHORTEST = 8
NUMBERS_AT_ONCE = 2**26  # logits that a pass may make: a quarter of a gigabyte
MOST_SCORES = 2**28  # of all heads of a layer, for one row: a gigabyte, and some more beside it
Read = Callable[[np.ndarray], Any]


class Options(TypedDict, total=False):
    """What is asked, beside the lengths.

    `rows` are drawn from the `seed` for each task, length and distance. `threshold` is the accuracy that the effective
    length asks for. `progress` is told the task and the length that come next.
    """

    tasks: Sequence[str]
    rows: int
    threshold: float
    seed: int
    progress: Callable[[str, int], None] | None


def measure(model: LanguageModel, lengths: Sequence[int] | None = None, **options: Unpack[Options]) -> Recall:
    """Ask a language model at every distance in rows of each length, and look whether its best guess is the answer.

    `lengths` are in tokens, by default a quarter of what the model is configured for and up to four times as many. For
    the other options see `Options`. Raises `UserError` for a model of another kind, and for values out of range.
    """
    if not isinstance(model, LanguageModel):
        raise UserError(f"model: {type(model).__name__} found, a language model wanted.")
    with generating(model):
        return measure_function(at_once(model), model.config, lengths, **options)


def at_once(model: LanguageModel) -> Read:
    """Reads whole rows, unless their scores would not fit into memory: kernels on Metal alone keep none."""

    def read(tokens: np.ndarray) -> mx.array:
        length, heads = tokens.shape[1], model.config.n_heads
        if heads * length**2 > MOST_SCORES and mx.default_device() != mx.gpu:
            raise UserError(f"length {length}: the scores of {heads} heads would take {4 * heads * length**2:,} bytes.")
        return model(tokens)

    return read


def measure_function(
    read: Read,
    config: ModelConfig,
    lengths: Sequence[int] | None = None,
    *,
    tasks: Sequence[str] = tuple(TASKS),
    rows: int = ROWS,
    threshold: float = THRESHOLD,
    seed: int = 0,
    progress: Callable[[str, int], None] | None = None,
) -> Recall:
    """The same for anybody's function from ids [B, T] to logits [B, T, V], of which `config` tells the vocabulary.

    A length is noted as refused where `read` raises `UserError`, or the vocabulary has too few words for its questions.
    """
    lengths = sorted(default_lengths(config.max_length) if lengths is None else set(lengths))
    _check(lengths, tasks, rows, threshold, seed)
    ids, cells, refused = Alphabet.of(config), [], {}
    for task, length in product(tasks, lengths):
        if progress:
            progress(task, length)
        for distance in distances(task, length):
            random = np.random.default_rng((seed, length, distance))
            try:
                right = _right(read, TASKS[task](random, ids, rows, length, distance), config.target_vocab)
            except UserError as error:
                refused[length] = str(error)
                break
            cells.append(Cell(task, length, distance, float(right.mean())))
    return Recall(config.max_length, tuple(cells), refused, threshold, rows, seed)


def one_by_one(model: LanguageModel) -> Read:
    """Reads as generation does: token by token, through a cache."""

    def read(tokens: np.ndarray) -> np.ndarray:
        cache, logits = model.make_cache(), []
        for t in range(tokens.shape[1]):
            logits.append(np.array(model(tokens[:, t : t + 1], cache)))
        return np.concatenate(logits, axis=1)

    return read


def default_lengths(configured: int) -> list[int]:
    """A quarter and a half of a length, the length, one and a half of it, twice and four times as many tokens."""
    return sorted({max(int(configured * share), SHORTEST) for share in (0.25, 0.5, 1, 1.5, 2, 4)})


def _right(read: Read, questions: Questions, n_ids: int) -> np.ndarray:
    """For each question of all rows, whether the most probable id is the answer; read in passes of bounded size."""
    at_once = max(NUMBERS_AT_ONCE // (questions.tokens.shape[1] * n_ids), 1)
    guesses = [
        np.array(mx.argmax(mx.array(read(questions.tokens[i : i + at_once])), axis=-1))
        for i in range(0, len(questions.tokens), at_once)
    ]
    return np.asarray((np.concatenate(guesses) == questions.answers)[questions.asked])


def _check(lengths: Sequence[int], tasks: Sequence[str], rows: int, threshold: float, seed: int) -> None:
    for name, values in (("lengths", lengths), ("tasks", tasks)):
        if not len(values):
            raise UserError(f"{name}: none found; at least one is wanted.")
    wrong = [length for length in lengths if length < SHORTEST]
    if wrong:
        raise UserError(f"lengths: {wrong[0]} found; {SHORTEST} tokens or more are wanted.")
    unknown = [task for task in tasks if task not in TASKS]
    if unknown:
        raise UserError(f"tasks: {unknown[0]!r} found; known are {', '.join(TASKS)}.")
    for name, value, least in (("rows", rows, 1), ("seed", seed, 0)):
        if value < least:
            raise UserError(f"{name} = {value}: at least {least} is wanted.")
    if not 0 < threshold <= 1:
        raise UserError(f"threshold = {threshold}: wanted above 0 and up to 1.")
