"""Beam search: the hypotheses of all inputs decoded as one batch, ranked by length-normalised log-probability."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import mlx.core as mx

from mlxdecoder.backend import largest, log_softmax
from mlxdecoder.decoding import Decoding, Model, check_model, generating, token_limit
from mlxdecoder.errors import UserError
from mlxdecoder.generate import Generation
from mlxdecoder.ids import as_rows
from mlxdecoder.sampling import block_repeats, keep_rules, penalise
from mlxdecoder.watch import Watch

WIDEST = 256  # beams


@dataclass(frozen=True)
class Hypothesis:
    """A text in the making; `row` is its place in the batch that was last decoded."""

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
    """The beam of one input, by the rules of transformers, so that its models say the same here.

    A hypothesis that ends among the best `width` candidates is kept aside, and those that go on fill the beam again.
    The search stops when `width` have ended and the best that goes on scores no better than the worst of them.
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
        ranked = sorted(candidates, key=lambda candidate: -candidate.logprob)
        for candidate in ranked[: self.width]:
            if self._is_last(candidate):
                self._end(candidate.hypothesis())
        self.ended = sorted(self.ended, key=lambda generation: -generation.score)[: self.width]
        going = [candidate for candidate in ranked if not self._is_last(candidate)]
        self.live = [candidate.hypothesis() for candidate in going[: self.width]]
        if len(self.ended) == self.width and not self._can_improve():
            self.live = []

    def results(self) -> list[Generation]:
        """The best of what ended, best first."""
        if not self.ended:  # no candidate had a probability, as with weights that are no numbers
            return [Generation([], math.nan, "length", score=math.nan)]
        return self.ended[: self.n_best]

    def _is_last(self, candidate: Candidate) -> bool:
        return candidate.token in self.ends or len(candidate.parent.tokens) + 1 >= self.limit

    def _end(self, hypothesis: Hypothesis) -> None:
        reason = "stop" if hypothesis.tokens[-1] in self.ends else "length"
        tokens = [token for token in hypothesis.tokens if token not in self.ends]
        score = self._normalised(hypothesis.logprob, len(hypothesis.tokens))
        self.ended.append(Generation(tokens, hypothesis.logprob, reason, hypothesis.path, score))

    def _can_improve(self) -> bool:
        best = self.live[0] if self.live else None
        return best is not None and self._normalised(best.logprob, len(best.tokens)) > self.ended[-1].score

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
    check_model(model)
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
        said, config = [hypothesis.tokens for hypothesis in flat], decoding.model.config
        logprobs = log_softmax(decoding.feed(tokens))
        logprobs = penalise(logprobs, config.repetition_penalty, decoding.histories(said))
        logprobs = keep_rules(logprobs, config, list(_at_last(searches)))
        logprobs = block_repeats(logprobs, said, block_ngrams)
        _advance(searches, logprobs)
        parents = [hypothesis.row for hypothesis in _live(searches)]
        if not parents:
            return
        decoding.reorder(parents)
        tokens = mx.array([[hypothesis.tokens[-1]] for hypothesis in _live(searches)])


def _advance(searches: list[Search], logprobs: mx.array) -> None:
    """Extend every live hypothesis; row i of the log-probabilities [R, V] belongs to the i-th of them."""
    wanted = max(search.width + len(search.ends) for search in searches)  # ends leave a beam that must be filled
    choices, gains = (x.tolist() for x in largest(logprobs, min(wanted, logprobs.shape[-1])))  # [R, wanted]
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
