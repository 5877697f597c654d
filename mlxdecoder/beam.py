"""Beam search: the hypotheses of all inputs decoded as one batch, ranked by length-normalised log-probability."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import mlx.core as mx

from mlxdecoder.backend import largest, log_softmax
from mlxdecoder.errors import UserError
from mlxdecoder.generate import Decoding, Generation, Model, as_rows, generating, token_limit
from mlxdecoder.sampling import block_repeats, keep_rules
from mlxdecoder.watch import Watch

WIDEST = 256  # beams


@dataclass(frozen=True)
class Hypothesis:
    """A translation in the making; `row` is its place in the batch that was last decoded."""

    tokens: tuple[int, ...]
    logprob: float
    row: int
    path: tuple[int, ...] = ()


class Candidate(NamedTuple):
    """A live hypothesis in row `row`, the token that may extend it, and the log-probability of both."""

    logprob: float
    token: int
    parent: Hypothesis
    row: int

    def hypothesis(self) -> Hypothesis:
        return Hypothesis((*self.parent.tokens, self.token), self.logprob, self.row, (*self.parent.path, self.row))


@dataclass
class Search:
    """The beam of one input.

    A hypothesis that ends leaves the beam, which narrows it, so that every place of the beam ends once, and a beam of
    one is greedy decoding. The search stops when none that lives can still beat the `n_best` that ended.
    """

    width: int
    n_best: int
    length_penalty: float
    limit: int
    ends: tuple[int, ...]
    live: list[Hypothesis] = field(default_factory=list)
    ended: list[Generation] = field(default_factory=list)

    def advance(self, candidates: list[Candidate]) -> None:
        """Keep the best of the candidates, which extend the live hypotheses by one token each."""
        best = sorted(candidates, key=lambda candidate: -candidate.logprob)[: self.width - len(self.ended)]
        self.live = []
        for hypothesis in (candidate.hypothesis() for candidate in best):
            ends = hypothesis.tokens[-1] in self.ends
            if ends or len(hypothesis.tokens) >= self.limit:
                self._end(hypothesis, "stop" if ends else "length")
            else:
                self.live.append(hypothesis)
        if len(self.ended) >= self.n_best and not self._can_improve():
            self.live = []

    def results(self) -> list[Generation]:
        if not self.ended:  # no candidate had a probability, as with weights that are no numbers
            return [Generation([], math.nan, "length", score=math.nan)]
        return sorted(self.ended, key=lambda generation: -generation.score)[: self.n_best]

    def _end(self, hypothesis: Hypothesis, reason: str) -> None:
        tokens = [token for token in hypothesis.tokens if token not in self.ends]
        score = self._normalised(hypothesis.logprob, len(hypothesis.tokens))
        self.ended.append(Generation(tokens, hypothesis.logprob, reason, hypothesis.path, score))

    def _can_improve(self) -> bool:
        # A log-probability only falls with more tokens, so the longest allowed length bounds what it can become.
        bounds = [self._normalised(hypothesis.logprob, self.limit) for hypothesis in self.live]
        return bool(bounds) and max(bounds) > self.results()[-1].score

    def _normalised(self, logprob: float, length: int) -> float:
        return logprob / float(length) ** self.length_penalty


def beam_search(
    model: Model,
    inputs: Sequence[Sequence[int]],
    *,
    beam: int = 4,
    n_best: int = 1,
    length_penalty: float = 1.0,
    max_tokens: int | None = None,
    block_ngrams: int = 0,
    watch: Watch | None = None,
) -> list[list[Generation]]:
    """The `n_best` best hypotheses of each source or prompt, best first, as found by a beam of `beam`.

    `score` is the log-probability divided by length ** `length_penalty` (0: none; the end mark counts as a token).
    Raises `UserError` for `beam` or `n_best` out of range.
    """
    _check(beam, n_best, length_penalty)
    inputs = as_rows(inputs)
    ends = model.config.end_ids
    limits = [token_limit(model, ids, max_tokens) for ids in inputs]
    searches = [Search(beam, n_best, length_penalty, limit, ends) for limit in limits]
    with generating(model):
        _run(Decoding(model, inputs, watch=watch), searches, block_ngrams)
    return [search.results() for search in searches]


def _run(decoding: Decoding, searches: list[Search], block_ngrams: int) -> None:
    for row, search in enumerate(searches):
        search.live = [Hypothesis((), 0.0, row)]
    tokens = decoding.first
    while True:
        flat = list(_live(searches))
        logprobs = log_softmax(decoding.feed(tokens))
        logprobs = keep_rules(logprobs, decoding.model.config, list(_at_last(searches)))
        logprobs = block_repeats(logprobs, [hypothesis.tokens for hypothesis in flat], block_ngrams)
        _advance(searches, logprobs)
        parents = [hypothesis.row for hypothesis in _live(searches)]
        if not parents:
            return
        decoding.reorder(parents)
        tokens = mx.array([[hypothesis.tokens[-1]] for hypothesis in _live(searches)])


def _advance(searches: list[Search], logprobs: mx.array) -> None:
    """Extend every live hypothesis; row i of the log-probabilities [R, V] belongs to the i-th of them."""
    width = min(max(search.width for search in searches), logprobs.shape[-1])
    choices, gains = (x.tolist() for x in largest(logprobs, width))  # [R, width]
    row = 0
    for search in searches:
        candidates: list[Candidate] = []
        for hypothesis in search.live:
            candidates += _extend(hypothesis, row, choices[row], gains[row])
            row += 1
        search.advance(candidates)


def _extend(hypothesis: Hypothesis, row: int, tokens: list[int], gains: list[float]) -> list[Candidate]:
    pairs = [(token, gain) for token, gain in zip(tokens, gains, strict=True) if gain > -math.inf]
    return [Candidate(hypothesis.logprob + gain, token, hypothesis, row) for token, gain in pairs]


def _at_last(searches: list[Search]) -> Iterator[bool]:
    """For each live hypothesis, whether its next token is the last one that there is room for."""
    for search in searches:
        yield from (len(hypothesis.tokens) + 1 >= search.limit for hypothesis in search.live)


def _live(searches: list[Search]) -> Iterator[Hypothesis]:
    return chain.from_iterable(search.live for search in searches)


def _check(beam: int, n_best: int, length_penalty: float) -> None:
    if not 1 <= beam <= WIDEST:
        raise UserError(f"beam = {beam}: wanted from 1 to {WIDEST}.")
    if not 1 <= n_best <= beam:
        raise UserError(f"n_best = {n_best}: wanted from 1 to beam = {beam}.")
    if not 0 <= length_penalty <= 10:
        raise UserError(f"length_penalty = {length_penalty}: wanted from 0 to 10.")
