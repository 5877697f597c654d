"""Beam search against the enumeration of everything that could be said."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder.beam import beam_search
from mlxdecoder.errors import UserError
from mlxdecoder.generate import Generation, generate
from tests import reference
from tests.builders import POSITIONS, lively, numbers, rows_of

DECODERS = ("language_model", "translator")
END, VOCABULARY = 3, 5
LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=3)
TINY: dict[str, Any] = {"target_vocab": VOCABULARY}


def inputs_of(lengths: Sequence[int], seed: int = 0) -> list[list[int]]:
    return [[token - 2 for token in row] for row in rows_of(lengths, seed, high=7)]  # ids 2 to 4


def logprob_of(model: Any, row: Sequence[int], said: Sequence[int]) -> float:
    """The log-probability of what was said, end mark included, read at once without a cache."""
    if model.config.architecture == "translator":
        logits = numbers(model([row], [[model.config.begin_id, *said[:-1]]]))[0]
    else:
        logits = numbers(model([[*row, *said[:-1]]]))[0, len(row) - 1 :]
    return float(reference.log_softmax(logits)[np.arange(len(said)), list(said)].sum())


def said_by(generation: Generation) -> tuple[int, ...]:
    return (*generation.tokens, END) if generation.finish_reason == "stop" else tuple(generation.tokens)


def everything(limit: int) -> list[tuple[int, ...]]:
    """All that can be said: up to an end mark, or up to the limit."""
    others = [token for token in range(VOCABULARY) if token != END]
    ended = [(*words, END) for length in range(limit) for words in itertools.product(others, repeat=length)]
    return [*ended, *itertools.product(others, repeat=limit)]


@pytest.mark.parametrize("architecture", DECODERS)
@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0, 2.0])
def test_a_wide_beam_finds_the_best_of_everything(architecture: str, penalty: float) -> None:
    model, inputs, limit = lively(architecture, 2, **TINY), inputs_of([3, 1]), 3
    everyone = everything(limit)
    found = beam_search(model, inputs, beam=5**limit, n_best=len(everyone), length_penalty=penalty, max_tokens=limit)
    for row, generations in zip(inputs, found, strict=True):
        scores = {said: logprob_of(model, row, said) / len(said) ** penalty for said in everyone}
        wanted = sorted(scores.values(), reverse=True)
        np.testing.assert_allclose([generation.score for generation in generations], wanted, atol=1e-4)
        assert {said_by(generation) for generation in generations} == set(everyone)
        (best,) = beam_search(model, [row], beam=5**limit, length_penalty=penalty, max_tokens=limit)[0]
        assert best.score == pytest.approx(wanted[0], abs=1e-4)


@settings(max_examples=25)
@given(st.sampled_from(DECODERS), st.sampled_from(POSITIONS), LENGTHS, st.integers(2, 6), st.integers(0, 9))
def test_hypotheses_are_sorted_distinct_and_scored_right(
    architecture: str, positions: str, lengths: list[int], beam: int, seed: int
) -> None:
    """The scores are those of the model without a cache, so the caches moved along with the hypotheses."""
    model, inputs = lively(architecture, seed, positions=positions, **TINY), inputs_of(lengths, seed)
    found = beam_search(model, inputs, beam=beam, n_best=beam, max_tokens=6)
    for row, generations in zip(inputs, found, strict=True):
        assert 1 <= len(generations) <= beam
        assert len({said_by(generation) for generation in generations}) == len(generations)
        scores = [generation.score for generation in generations]
        assert scores == sorted(scores, reverse=True)
        for generation in generations:
            said = said_by(generation)
            assert len(said) <= 6
            assert END not in generation.tokens
            assert generation.logprob == pytest.approx(logprob_of(model, row, said), abs=1e-3)
            assert generation.score == pytest.approx(generation.logprob / len(said), abs=1e-5)


@settings(max_examples=20)
@given(st.sampled_from(DECODERS), LENGTHS, st.integers(0, 9), st.integers(0, 2))
def test_a_beam_of_one_is_greedy(architecture: str, lengths: list[int], seed: int, block: int) -> None:
    model, inputs = lively(architecture, seed, **TINY), inputs_of(lengths, seed)
    greedy = generate(model, inputs, max_tokens=8, block_ngrams=block)
    found = beam_search(model, inputs, beam=1, max_tokens=8, block_ngrams=block)
    for wanted, (generation,) in zip(greedy, found, strict=True):
        assert (generation.tokens, generation.finish_reason) == (wanted.tokens, wanted.finish_reason)
        assert generation.logprob == pytest.approx(wanted.logprob, abs=1e-3)


@settings(max_examples=15)
@given(st.sampled_from(DECODERS), st.lists(st.integers(1, 6), min_size=2, max_size=3), st.integers(0, 9))
def test_a_batch_equals_each_input_alone(architecture: str, lengths: list[int], seed: int) -> None:
    model, inputs = lively(architecture, seed, **TINY), inputs_of(lengths, seed)
    together = beam_search(model, inputs, beam=3, n_best=2, max_tokens=6)
    for row, found in zip(inputs, together, strict=True):
        (alone,) = beam_search(model, [row], beam=3, n_best=2, max_tokens=6)
        assert [generation.tokens for generation in found] == [generation.tokens for generation in alone]
        np.testing.assert_allclose([g.score for g in found], [g.score for g in alone], atol=1e-4)


@pytest.mark.parametrize("architecture", DECODERS)
def test_a_wider_beam_does_better_here(architecture: str) -> None:
    """Not a law, but with the best of each width over many inputs it must show, or the beam does nothing."""
    model, inputs = lively(architecture, 4, **TINY), inputs_of([4] * 12)
    means = [
        np.mean([best[0].score for best in beam_search(model, inputs, beam=beam, max_tokens=6)]) for beam in (1, 6)
    ]
    assert means[1] > means[0]


@pytest.mark.parametrize("architecture", DECODERS)
@pytest.mark.parametrize("n", [1, 2])
def test_runs_are_not_repeated(architecture: str, n: int) -> None:
    model = lively(architecture, 1, **TINY)
    for generations in beam_search(model, inputs_of([4, 2]), beam=3, n_best=3, max_tokens=9, block_ngrams=n):
        assert generations
        for generation in generations:
            tokens = generation.tokens
            runs = [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]
            assert len(runs) == len(set(runs))


def test_a_beam_wider_than_the_vocabulary() -> None:
    found = beam_search(lively(**TINY), [[4]], beam=50, n_best=50, max_tokens=1)
    assert sorted(said_by(generation) for generation in found[0]) == [(token,) for token in range(VOCABULARY)]


@pytest.mark.parametrize(("architecture", "seed"), [("language_model", 3), ("translator", 4)])
def test_the_length_penalty_decides_between_short_and_long(architecture: str, seed: int) -> None:
    """Without one, the sum of log-probabilities favours short hypotheses; a large one favours long ones."""
    model, inputs = lively(architecture, seed, **TINY), inputs_of([4] * 6)
    lengths = [
        sum(len(best[0].tokens) for best in beam_search(model, inputs, beam=5, length_penalty=penalty, max_tokens=6))
        for penalty in (0.0, 3.0)
    ]
    assert lengths[0] < lengths[1]


@pytest.mark.parametrize(
    ("name", "options"),
    [("beam", {"beam": 0}), ("n_best", {"n_best": 0}), ("n_best", {"beam": 2, "n_best": 3}),
     ("length_penalty", {"length_penalty": -1.0}), ("length_penalty", {"length_penalty": float("nan")}),
     ("max_tokens", {"max_tokens": 0})],
)  # fmt: skip
def test_wrong_values_are_named(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=name):
        beam_search(lively(**TINY), [[4]], **options)


def test_dropout_is_off() -> None:
    model = lively("translator", dropout=0.5, **TINY)
    wanted = beam_search(model, [[4, 2]], max_tokens=5)
    model.train()
    assert beam_search(model, [[4, 2]], max_tokens=5) == wanted
    assert model.training
