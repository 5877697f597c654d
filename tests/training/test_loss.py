"""The loss and its gradient against float64 NumPy."""

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder.training.loss import cross_entropy


def truth(logits, labels, weights, smoothing):
    """Loss and gradient, from the definition: cross-entropy with the smoothed one-hot distribution."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    wanted = np.full(logits.shape, smoothing / logits.shape[1])
    wanted[np.arange(len(labels)), labels] += 1 - smoothing
    loss = -(wanted * log_probabilities).sum(axis=1) @ weights
    return loss, (np.exp(log_probabilities) - wanted) * weights[:, None]


@given(
    st.integers(1, 9), st.integers(2, 30), st.sampled_from([0.0, 0.1, 0.5]), st.integers(0, 1000), st.floats(0.1, 30)
)
@settings(deadline=None, max_examples=60)
def test_loss_and_gradient_are_those_of_the_definition(N, V, smoothing, seed, spread):
    random = np.random.default_rng(seed)
    logits, labels = random.normal(0, spread, (N, V)), random.integers(0, V, N)
    weights = random.integers(0, 2, N).astype(float)
    loss, gradient = truth(logits, labels, weights, smoothing)
    ours, ours_gradient = mx.value_and_grad(cross_entropy)(
        mx.array(logits, mx.float32), mx.array(labels), mx.array(weights, mx.float32), smoothing
    )
    assert ours.item() == pytest.approx(loss, rel=1e-5, abs=1e-4)
    np.testing.assert_allclose(np.array(ours_gradient), gradient, atol=2e-5)


def test_what_has_no_weight_moves_nothing():
    logits = mx.random.normal((3, 5))
    gradient = mx.grad(cross_entropy)(logits, mx.array([0, 1, 2]), mx.array([1.0, 0.0, 1.0]), 0.1)
    assert not np.array(gradient[1]).any()
    assert np.array(gradient[0]).any()
