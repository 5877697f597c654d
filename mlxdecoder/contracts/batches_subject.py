"""What a maker of batches made of a few sentences, and where their tokens are in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from mlxdecoder.contracts.arrays import describe, to_numpy
from mlxdecoder.contracts.options import check_id, name_of
from mlxdecoder.errors import UserError

LENGTHS = (5, 2, 7, 3)  # of the sentences that f is given; no id occurs twice in them
FIRST_ID = 3  # lower ones are marks, as a rule
IGNORED = -100  # the label that PyTorch's cross entropy leaves out
Place = tuple[int, int]


@dataclass(frozen=True)
class Batches:
    """What f made of sentences; `counted` [B, T] says which labels count in the loss, None where nothing says so."""

    name: str
    sentences: list[list[int]]
    begin: int
    end: int
    inputs: np.ndarray
    labels: np.ndarray
    counted: np.ndarray | None
    notes: tuple[str, ...]
    trouble: None = None

    def place(self, token: int) -> Place | None:
        """Row and column of a token in the inputs."""
        found = np.argwhere(self.inputs == token)
        return (int(found[0][0]), int(found[0][1])) if len(found) else None

    def before(self, first: int) -> int | str | None:
        """The input before a token, "nothing" where it is the first of its row, None where it stands in none."""
        place = self.place(first)
        if place is not None:
            return int(self.inputs[place[0], place[1] - 1]) if place[1] else "nothing"
        labelled = np.argwhere(self.labels == first)
        return int(self.inputs[tuple(labelled[0])]) if len(labelled) else None

    def is_said(self, token: int) -> bool:
        """Whether a token is a label that counts; a first token that is an input only is a matter of its begin mark."""
        is_label = self.labels == token
        if not is_label.any() and token in [first for first, *_ in self.sentences]:
            return self.place(token) is not None
        return bool((is_label if self.counted is None else is_label & self.counted).any())

    def places(self) -> Iterator[tuple[Place, list[int]]]:
        """Where each token of each sentence stands in the inputs, and the sentence from there on, its end included."""
        for sentence in self.sentences:
            for i, token in enumerate(sentence):
                place = self.place(token)
                if place is not None:
                    yield place, [*sentence[i:], self.end]

    def real_columns(self, row: int) -> tuple[int, int]:
        """The first and the last column of a row in which there is something to learn."""
        tokens = [token for sentence in self.sentences for token in sentence]
        held = np.isin(self.inputs[row], tokens) | np.isin(self.labels[row], tokens)
        columns = np.flatnonzero(held)
        if not len(columns):
            return 0, -1
        first, last = int(columns[0]), int(columns[-1])
        first -= int(first > 0 and self.inputs[row, first - 1] == self.begin)
        ends_later = self.labels[row, last] != self.end and self.labels[row, last + 1 : last + 2] == self.end
        return first, last + int(np.any(ends_later))


def read_batches(f: Callable[..., Any], begin: int, end: int, pad: int, ignore: int | None) -> Batches:
    """Let f make batches; raises `UserError` when it does not work or gives something else."""
    for name, mark in (("begin", begin), ("end", end), ("pad", pad)):
        check_id(name, mark)
    sentences = _sentences({begin, end, pad, ignore})
    inputs, labels, weights = _triple(f, sentences)
    counted, note = _counted(labels, weights, ignore)
    return Batches(name_of(f), sentences, begin, end, inputs, labels, counted, (note,))


def _sentences(marks: set[int | None]) -> list[list[int]]:
    free = (token for token in count(FIRST_ID) if token not in marks)
    return [[next(free) for _ in range(length)] for length in LENGTHS]


def _triple(f: Callable[..., Any], sentences: list[list[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    given = f"{name_of(f)}({len(sentences)} lists of ids)"
    try:
        answer = f([list(sentence) for sentence in sentences])
    except Exception as error:
        raise UserError(f"{given} raised {describe(error)}.") from None
    if not isinstance(answer, tuple | list) or len(answer) != 3:
        raise UserError(f"{given} gave a {type(answer).__name__}; (inputs, labels, weights or None) is wanted.")
    try:
        inputs, labels, weights = (None if part is None else to_numpy(part) for part in answer)
    except (TypeError, ValueError):
        raise UserError(f"{given} gave rows of different lengths; padded arrays are wanted.") from None
    shapes = [part.shape for part in (inputs, labels, weights) if part is not None]
    if inputs is None or labels is None or inputs.ndim != 2 or len(set(shapes)) > 1:
        raise UserError(f"{given} gave shapes {shapes}; inputs, labels and weights of one shape [B, T] are wanted.")
    return inputs, labels, weights


def _counted(labels: np.ndarray, weights: np.ndarray | None, ignore: int | None) -> tuple[np.ndarray | None, str]:
    if weights is not None:
        counted = weights > 0 if ignore is None else (weights > 0) & (labels != ignore)
        return counted, "a label counts where its weight is above 0"
    if ignore is None and (labels == IGNORED).any():
        ignore = IGNORED
    if ignore is None:
        return None, "weights are None and ignore= is not given: which labels count is not known"
    return labels != ignore, f"a label counts unless it is {ignore}"
