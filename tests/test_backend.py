"""What is computed otherwise on a Linux processor is the same there and elsewhere, forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder import backend
from tests.builders import difference, normal, numbers

SHAPES = st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 40))


@pytest.fixture(params=[True, False])
def scalar(request: Any, monkeypatch: pytest.MonkeyPatch) -> bool:
    """As on a Linux processor, and as elsewhere."""
    monkeypatch.setattr(backend, "_SCALAR", request.param)
    return bool(request.param)


def standardised(x: np.ndarray, centred: bool) -> np.ndarray:
    wide = x.astype(np.float64)
    wide = wide - wide.mean(axis=-1, keepdims=True) if centred else wide
    return wide / np.sqrt((wide**2).mean(axis=-1, keepdims=True) + 1e-5)


@settings(max_examples=30)
@given(SHAPES, st.integers(0, 9), st.booleans(), st.booleans(), st.sampled_from([0.0, 30.0]))
def test_norms_follow_their_formulas(shape: tuple[int, ...], seed: int, gained: bool, moved: bool, mean: float) -> None:
    x, weight, bias = normal(*shape, seed=seed) + mean, normal(shape[-1], seed=1), normal(shape[-1], seed=2)
    gain, moves = mx.array(weight) if gained else None, mx.array(bias) if moved else None
    wanted = standardised(x, True) * (weight if gained else 1) + (bias if moved else 0)
    np.testing.assert_allclose(numbers(backend.layer_norm(mx.array(x), gain, moves, 1e-5)), wanted, atol=1e-3)
    wanted = standardised(x, False) * (weight if gained else 1)
    np.testing.assert_allclose(numbers(backend.rms_norm(mx.array(x), gain, 1e-5)), wanted, atol=1e-5)


@settings(max_examples=20)
@given(SHAPES, st.integers(0, 9))
def test_norms_have_the_gradients_of_those_of_mlx(shape: tuple[int, ...], seed: int) -> None:
    operands = tuple(mx.array(normal(*x, seed=seed + i)) for i, x in enumerate((shape, shape[-1:], shape[-1:])))
    slope = mx.array(normal(*shape, seed=seed + 3))

    def gradients(norm: Callable[..., mx.array]) -> Any:
        return mx.grad(lambda *x: (norm(*x) * slope).sum(), argnums=(0, 1, 2))(*operands)

    pairs = (
        (lambda x, w, b: backend.layer_norm(x, w, b, 1e-3), lambda x, w, b: mx.fast.layer_norm(x, w, b, 1e-3)),
        (lambda x, w, b: backend.rms_norm(x, w, 1e-3) + b, lambda x, w, b: mx.fast.rms_norm(x, w, 1e-3) + b),
    )
    for ours, theirs in pairs:
        for found, wanted in zip(gradients(ours), gradients(theirs), strict=True):
            np.testing.assert_allclose(numbers(found), numbers(wanted), atol=2e-4)


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16])
def test_norms_of_half_types_keep_the_type_and_sum_in_single_precision(dtype: mx.Dtype) -> None:
    x = mx.array(300 * normal(2, 3, 512)).astype(dtype)  # whose squares are beyond float16
    for found, centred in ((backend.layer_norm(x, None, None, 1e-5), True), (backend.rms_norm(x, None, 1e-5), False)):
        assert found.dtype == dtype
        assert difference(found, standardised(numbers(x), centred)) < 0.01


def test_log_probabilities(scalar: bool) -> None:
    logits = normal(4, 50) * 30
    logits[1, 3:] = -np.inf
    logits[2] += 1e4
    below = logits.astype(np.float64) - logits.max(-1, keepdims=True)
    wanted = below - np.log(np.exp(below).sum(-1, keepdims=True))
    found = backend.log_softmax(mx.array(logits))
    np.testing.assert_allclose(numbers(found), wanted, atol=2e-3)
    assert backend.log_softmax(mx.array(logits[:1]).astype(mx.float16)).dtype == mx.float32
    assert np.isnan(numbers(backend.log_softmax(mx.full((1, 5), mx.nan)))).all()


@settings(max_examples=30)
@given(st.integers(1, 4), st.integers(1, 30), st.data())
def test_the_largest(rows: int, width: int, data: st.DataObject) -> None:
    count, blocked = data.draw(st.integers(1, width)), data.draw(st.integers(0, width))
    scores = normal(rows, width, seed=width)
    scores[:, width - blocked :] = -np.inf
    for scalar in (True, False):
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setattr(backend, "_SCALAR", scalar)
            places, values = backend.largest(mx.array(scores), count)
            best = backend.argmax(mx.array(scores))
        np.testing.assert_array_equal(np.sort(values, axis=-1), np.sort(scores, axis=-1)[:, width - count :])
        seen = values > -np.inf
        np.testing.assert_array_equal(np.take_along_axis(scores, places, axis=-1)[seen], values[seen])
        np.testing.assert_array_equal(numbers(best), scores.argmax(axis=-1))
