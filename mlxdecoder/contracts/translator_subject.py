"""A translator under test, with its two halves and its way of decoding step by step, where it has them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from mlxdecoder.contracts.asking import Question
from mlxdecoder.contracts.influence import distance
from mlxdecoder.contracts.options import check_size
from mlxdecoder.contracts.sequences import Sequences

SOURCE, TARGET = 0, 1


class Translator(Sequences):
    """`f(source, target)`, and where given `encode(source)`, `decode(target, states)`, `stepwise(source, target)`."""

    def __init__(
        self,
        f: Callable[..., Any],
        *,
        encode: Callable[..., Any] | None,
        decode: Callable[..., Any] | None,
        stepwise: Callable[..., Any] | None,
        source_vocabulary: int | None,
        vocabulary: int | None,
        **options: Any,
    ) -> None:
        self.encode, self.decode, self.stepwise = encode, decode, stepwise
        target = check_size("vocabulary", vocabulary)
        source = target if source_vocabulary is None else check_size("source_vocabulary", source_vocabulary)
        super().__init__(f, ["source", "target"], vocabularies=[source, target], **options)

    def ask_stepwise(self, question: Question) -> np.ndarray:
        """The logits [B, T, V] that decoding one token at a time gives."""
        assert self.stepwise is not None
        return self.logits("stepwise", self.call("stepwise", self.stepwise, *question), question[TARGET])

    @cached_property
    def brief(self) -> Question:
        """The first question with half of its target, for those who take it step by step."""
        source, target = self.question
        return source, target[:, : self.length // 2]

    @cached_property
    def first_steps(self) -> np.ndarray:
        """What stepwise says to it; it has to be asked before any other question, for memories of it to show."""
        return self.ask_stepwise(self.brief)

    @cached_property
    def all_at_once(self) -> np.ndarray:
        """What f says to it."""
        return self.ask(self.brief)

    @cached_property
    def source_effect(self) -> float:
        """How far the logits move when the whole source is replaced."""
        other = self.altered(self.question, SOURCE, np.s_[:])
        return self.moved(self.ask(other), self.first_answers[0])


def crossing_influence(subject: Translator, decode: Callable[..., Any], states: np.ndarray) -> np.ndarray:
    """How far the logits at each target position move with each source state: [T, S]."""
    target = subject.question[TARGET]

    def ask(states: np.ndarray) -> np.ndarray:
        return subject.logits("decode", subject.call("decode", decode, target, states), target)

    columns, before = [], ask(states)
    for s in range(states.shape[1]):
        other = states.copy()
        other[:, s] = subject.random.normal(states.mean(), states.std() or 1.0, other[:, s].shape)
        columns.append(distance(ask(other), before)[0].max(axis=-1) / subject.size)
    return np.stack(columns, axis=1)
