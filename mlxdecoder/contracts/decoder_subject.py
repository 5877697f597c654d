"""A decoder under test, with the caches that it brings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlxdecoder.contracts.contract import CallError
from mlxdecoder.contracts.options import check_size
from mlxdecoder.contracts.sequences import Sequences


class Decoder(Sequences):
    """`f(tokens, cache=None)`, where `make_cache()` gives a fresh cache."""

    def __init__(
        self, f: Callable[..., Any], *, make_cache: Callable[[], Any] | None, vocabulary: int | None, **options: Any
    ) -> None:
        self.make_cache = make_cache
        super().__init__(f, ["tokens"], vocabularies=[check_size("vocabulary", vocabulary)], **options)

    @property
    def twins(self) -> np.ndarray:
        """The first question [2, T] twice in a batch, or [1, T] where rows do not keep apart."""
        return self.question[0] if self.mixes else np.repeat(self.question[0], 2, axis=0)

    def ask_in_pieces(self, tokens: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
        """The logits [B, T, V] when the tokens are fed through a fresh cache, so many at a time."""
        assert self.make_cache is not None
        cache = self.call("make_cache", self.make_cache)
        fed = np.split(tokens, np.cumsum(sizes)[:-1], axis=1)
        return np.concatenate([self._feed(piece, cache) for piece in fed], axis=1)

    def _feed(self, piece: np.ndarray, cache: Any) -> np.ndarray:
        return self.logits(self.name, self.call(self.name, self.f, piece, cache=cache), piece)


def cached_difference(subject: Decoder, sizes: Sequence[int]) -> tuple[float, str]:
    """How far cached logits are from those without a cache, as a number and in words."""
    try:
        moved = subject.moved(subject.ask_in_pieces(subject.twins, sizes), subject.ask((subject.twins,)))
    except CallError as error:
        return float("inf"), str(error)
    return moved, f"logits differ by {subject.told(moved)} from those without a cache"


def is_blind(subject: Decoder) -> bool:
    """Whether the cached tokens but the first do not move the next logits."""
    sizes = [subject.length - 1, 1]
    other = subject.altered(subject.question, 0, np.s_[:, 1:-1])
    try:
        answers = [subject.ask_in_pieces(tokens, sizes)[:, -1] for (tokens,) in (subject.question, other)]
    except CallError:
        return False
    return subject.moved(answers[1], answers[0]) <= subject.nothing
