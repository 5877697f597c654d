"""Samplers and their filters against NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder.errors import UserError
from mlxdecoder.sampling import block_repeats, keep_min_p, keep_top_k, keep_top_p, make_sampler
from tests import reference
from tests.builders import normal, numbers

SHAPES = st.tuples(st.integers(1, 4), st.integers(2, 30), st.integers(0, 999))


def logprobs_of(shape: tuple[int, int, int]) -> np.ndarray:
    rows, vocabulary, seed = shape
    return reference.log_softmax(2 * normal(rows, vocabulary, seed=seed)).astype(np.float32)


def kept(filtered: mx.array, logprobs: np.ndarray) -> np.ndarray:
    """Which tokens are left; those must keep their log-probability."""
    left = numbers(filtered) > -np.inf
    np.testing.assert_array_equal(numbers(filtered)[left], logprobs[left])
    return left


@settings(max_examples=40)
@given(SHAPES, st.integers(1, 32))
def test_top_k_keeps_the_k_best(shape: tuple[int, int, int], k: int) -> None:
    logprobs = logprobs_of(shape)
    rank = (-logprobs).argsort(axis=-1).argsort(axis=-1)
    np.testing.assert_array_equal(kept(keep_top_k(mx.array(logprobs), k), logprobs), rank < k)


@settings(max_examples=60)
@given(SHAPES, st.floats(0.001, 0.999))
def test_top_p_keeps_the_smallest_set_with_that_mass(shape: tuple[int, int, int], p: float) -> None:
    logprobs = logprobs_of(shape)
    for row, left in zip(logprobs, kept(keep_top_p(mx.array(logprobs), p), logprobs), strict=True):
        mass = np.sort(np.exp(row.astype(np.float64)))[::-1].cumsum()
        if np.abs(mass - p).min() > 1e-5:  # else rounding may decide
            assert left.sum() == 1 + (mass < p).sum()
        assert row[left].min() >= row[~left].max(initial=-np.inf)


@settings(max_examples=40)
@given(SHAPES, st.floats(0.001, 1.0))
def test_min_p_compares_with_the_best(shape: tuple[int, int, int], p: float) -> None:
    logprobs = logprobs_of(shape)
    share = np.exp(logprobs.astype(np.float64) - logprobs.max(axis=-1, keepdims=True))
    sure = np.abs(share - p) > 1e-5
    left = kept(keep_min_p(mx.array(logprobs), p), logprobs)
    np.testing.assert_array_equal(left[sure], (share >= p)[sure])
    assert left[logprobs == logprobs.max(axis=-1, keepdims=True)].all()


@pytest.mark.parametrize("p", [1e-7, 1e-6, 1e-3])
def test_the_best_token_always_stays(p: float) -> None:
    logprobs = mx.log(mx.array([[0.3, 0.7]]))
    assert (numbers(keep_top_p(logprobs, p)) > -np.inf).tolist() == [[False, True]]
    assert make_sampler(temp=1.0, top_p=p, seed=0)(mx.repeat(logprobs, 20, axis=0)).tolist() == [1] * 20


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16])
def test_filters_work_on_half_types(dtype: mx.Dtype) -> None:
    """A cumulative sum in a half type would miss by whole tokens."""
    logprobs = mx.array(logprobs_of((1, 2000, 1))).astype(dtype)
    mass = np.sort(reference.softmax(numbers(logprobs).astype(np.float64)))[0, ::-1].cumsum()
    left = int((numbers(keep_top_p(logprobs, 0.9)) > -np.inf).sum())
    assert mass[left - 1] > 0.899
    assert mass[left - 2] < 0.901


def frequencies(sampler: Any, logprobs: np.ndarray, draws: int = 20_000) -> np.ndarray:
    tokens = np.array(sampler(mx.array(np.repeat(logprobs[None], draws, axis=0))))
    return np.bincount(tokens, minlength=len(logprobs)) / draws


class TestSampler:
    @pytest.mark.parametrize("temp", [0.5, 1.0, 2.0])
    def test_draws_at_its_temperature(self, temp: float) -> None:
        logprobs = np.log(np.array([0.5, 0.3, 0.15, 0.05], np.float32))
        wanted = reference.softmax(logprobs.astype(np.float64) / temp)
        np.testing.assert_allclose(frequencies(make_sampler(temp=temp, seed=1), logprobs), wanted, atol=0.02)

    @pytest.mark.parametrize(
        ("options", "left"),
        [({"top_k": 2}, 2), ({"top_p": 0.7}, 2), ({"min_p": 0.25}, 3), ({"top_k": 3, "top_p": 0.75, "min_p": 0.7}, 1)],
    )
    def test_draws_from_what_the_filters_leave(self, options: dict[str, Any], left: int) -> None:
        probabilities = np.array([0.5, 0.3, 0.15, 0.05])
        wanted = np.where(np.arange(4) < left, probabilities, 0)
        found = frequencies(make_sampler(temp=1.0, seed=2, **options), np.log(probabilities).astype(np.float32))
        np.testing.assert_allclose(found, wanted / wanted.sum(), atol=0.02)
        assert not found[left:].any()

    @settings(max_examples=20)
    @given(SHAPES)
    def test_temperature_zero_takes_the_best_whatever_the_filters(self, shape: tuple[int, int, int]) -> None:
        logprobs = logprobs_of(shape)
        for sampler in (make_sampler(), make_sampler(temp=0.0, top_p=0.5, top_k=3, seed=1), make_sampler(1e-4, seed=1)):
            np.testing.assert_array_equal(np.array(sampler(mx.array(logprobs))), logprobs.argmax(axis=-1))

    def test_a_seed_repeats_and_no_seed_does_not(self) -> None:
        logprobs = mx.zeros((64, 50))
        draws = [make_sampler(1.0, seed=seed)(logprobs).tolist() for seed in (5, 5, 6, None, None)]
        assert draws[0] == draws[1]
        assert len({tuple(draw) for draw in draws}) == 4
        sampler = make_sampler(1.0, seed=5)
        assert sampler(logprobs).tolist() != sampler(logprobs).tolist()

    def test_does_not_touch_the_global_random_state(self) -> None:
        logprobs = mx.zeros((4, 50))
        mx.random.seed(0)
        wanted = mx.random.uniform(shape=(3,)).tolist()
        mx.random.seed(0)
        make_sampler(1.0, seed=9)(logprobs)
        make_sampler(1.0)(logprobs)
        assert mx.random.uniform(shape=(3,)).tolist() == wanted

    @pytest.mark.parametrize(
        "wrong",
        [
            {"temp": -0.1},
            {"temp": float("nan")},
            {"temp": float("inf")},
            {"top_p": 0.0},
            {"top_p": 1.1},
            {"top_p": float("nan")},
            {"min_p": -0.1},
            {"min_p": 1.1},
            {"top_k": -1},
            {"top_k": 1.5},
            {"top_k": float("nan")},
        ],
    )
    def test_wrong_values_are_named(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(UserError, match=next(iter(wrong))):
            make_sampler(**{"temp": 1.0, **wrong})


def repeats(history: Sequence[int], token: int, n: int) -> bool:
    """Whether the token would end a run of n that is there already."""
    extended = [*history, token]
    runs = [tuple(extended[i : i + n]) for i in range(len(extended) - n + 1)]
    return len(runs) > 0 and runs[-1] in runs[:-1]


@settings(max_examples=60)
@given(st.lists(st.lists(st.integers(0, 3), max_size=9), min_size=1, max_size=3), st.integers(1, 4))
def test_runs_are_not_repeated(histories: list[list[int]], n: int) -> None:
    logprobs = normal(len(histories), 4)
    left = kept(block_repeats(mx.array(logprobs), histories, n), logprobs)
    wanted = [[not repeats(history, token, n) for token in range(4)] for history in histories]
    np.testing.assert_array_equal(left, wanted)


def test_zero_blocks_nothing() -> None:
    logprobs = normal(1, 4)
    assert kept(block_repeats(mx.array(logprobs), [[1, 1, 1, 1]], 0), logprobs).all()
