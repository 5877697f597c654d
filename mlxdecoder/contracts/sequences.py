"""A decoder or a translator under test: how far its answers to related questions differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from mlxdecoder.contracts.asking import Asker, Question
from mlxdecoder.contracts.contract import CallError
from mlxdecoder.contracts.influence import Influence, distance

HALF_TOLERANCE = 0.05  # half types compute the same thing in another shape with such differences
DRAWS = 6  # random questions behind the influence of token on token; fewer leave its shape to chance
NAN = "not tried, as the logits hold NaN: see T5"
SAME = "not tried, as all logits are the same number; give the model weights that are not zero"


class Sequences(Asker):
    """Answers compared in units of their own size, the standard deviation of the logits."""

    def __init__(self, f: Callable[..., Any], sides: Sequence[str], *, tolerance: float = 1e-4, **options: Any) -> None:
        self.tolerance = tolerance
        super().__init__(f, sides, **options)

    @property
    def rounding(self) -> float:
        """How far the same answer may differ when it is computed in another shape."""
        return max(self.tolerance, HALF_TOLERANCE) if self.half else self.tolerance

    @property
    def nothing(self) -> float:
        """What is too small for an influence; that of a token in a model with fresh weights is far larger."""
        return self.tolerance / 2

    def told(self, moved: float) -> str:
        """A move in words, in the unit of the logits."""
        if not np.isfinite(moved):
            return f"something that is no number (logits are about {self.size:.2g} in size)"
        return f"{moved * self.size:.2g} (logits are about {self.size:.2g} in size)"

    def moved(self, found: np.ndarray, wanted: np.ndarray) -> float:
        """The largest difference of two answers, in sizes of an answer."""
        return float(distance(found, wanted).max(initial=0)) / self.size

    @cached_property
    def question(self) -> Question:
        """The first question, which is the one for caches and memories."""
        return self.draw()

    @cached_property
    def first_answers(self) -> tuple[np.ndarray, np.ndarray]:
        """The answers to the first question, asked twice in a row."""
        return self.ask(self.question), self.ask(self.question)

    @cached_property
    def size(self) -> float:
        """The standard deviation of the logits."""
        answer = self.first_answers[0]
        return float(np.std(answer[np.isfinite(answer)])) or 1.0

    @cached_property
    def trouble(self) -> str | None:
        if self.mute is not None:
            return self.mute
        first, again = self.first_answers
        if self.moved(again, first) > self.tolerance:
            return "not tried, as the same question gets other answers: see T11; switch dropout off, with model.eval()"
        return None

    @property
    def mute(self) -> str | None:
        """Why the logits are of no use at all."""
        first = self.first_answers[0]
        if np.isnan(first).any():
            return NAN
        return SAME if self.constant else None

    @property
    def constant(self) -> bool:
        """Whether the logits, as far as they are numbers, are all one and the same."""
        first = self.first_answers[0]
        return len(np.unique(first[np.isfinite(first)])) < 2

    @cached_property
    def influence(self) -> Influence:
        """How far each token of the last side moves the logits at each position."""
        return Influence.of([self._influence() for _ in range(2 if self._one_at_a_time else DRAWS)])

    @cached_property
    def mixing(self) -> tuple[float, str]:
        """How far rows of a batch depend on the other rows, and how that was seen."""
        batch = self.draw(batch=3)
        before, after = self.ask(batch), self.ask(self._other_row(batch))
        beside = self.moved(after[[0, 2]], before[[0, 2]])
        if beside > self.tolerance:
            return beside, "row 1 of a batch of 3 was replaced; the logits of rows 0 and 2"
        alone = np.concatenate([self.ask(tuple(ids[[row]] for ids in batch)) for row in range(3)])
        return self.moved(before, alone), "the rows of a batch of 3 were asked alone, and their logits"

    @cached_property
    def mixes(self) -> bool:
        """Whether rows had better be asked one at a time, for whatever reason."""
        try:
            return self.mixing[0] > self.rounding
        except CallError:
            return True

    @property
    def _one_at_a_time(self) -> bool:
        return self.mixes or self.half

    def _other_row(self, batch: Question) -> Question:
        for side in range(len(self.sides)):
            batch = self.altered(batch, side, np.s_[1])
        return batch

    def _influence(self) -> np.ndarray:
        question, last = self.draw(), len(self.sides) - 1
        altered = [self.altered(question, last, np.s_[:, s]) for s in range(self.length)]
        before, *after = self._ask_all([question, *altered])
        return np.stack([distance(answer, before).max(axis=-1) / self.size for answer in after], axis=1)

    def _ask_all(self, questions: Sequence[Question]) -> np.ndarray:
        """The answers to questions of one row each, in one batch where nothing speaks against it."""
        if self._one_at_a_time:
            return np.concatenate([self.ask(question) for question in questions])
        return self.ask(tuple(np.concatenate(side) for side in zip(*questions, strict=True)))
