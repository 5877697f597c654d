"""The small layers against their formulas in float64."""

import math

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder.backend import random_bytes
from mlxdecoder.layers import ACTIVATIONS, Dropout, Linear, times_chosen


def normal_share(x):
    return np.vectorize(lambda value: 0.5 * (1 + math.erf(value / math.sqrt(2))))(x)


TRUTHS = {
    "relu": lambda x: np.where(x > 0, x, 0),
    "gelu": lambda x: x * normal_share(x),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "swiglu": lambda x: x / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "reglu": lambda x: np.where(x > 0, x, 0),
    "geglu": lambda x: x * normal_share(x),
    "geglu_tanh": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
}


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_activations_are_their_formulas(name):
    x = np.linspace(-9, 9, 181)
    np.testing.assert_allclose(np.array(ACTIVATIONS[name](mx.array(x, mx.float32))), TRUTHS[name](x), atol=2e-6)


def test_a_linear_map_is_a_product_and_a_sum():
    layer = Linear(5, 3)
    layer.bias = mx.array([1.0, 2.0, 3.0])
    x = mx.random.normal((2, 4, 5))
    wanted = np.array(x, np.float64) @ np.array(layer.weight, np.float64) + [1, 2, 3]
    np.testing.assert_allclose(np.array(layer(x)), wanted, atol=1e-5)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_dropout_keeps_the_mean_and_drops_its_share(rate):
    mx.random.seed(0)
    layer = Dropout(rate)
    layer.train()
    dropped = np.array(layer(mx.ones((400, 500))))
    assert (dropped == 0).mean() == pytest.approx(rate, abs=0.006)
    assert dropped.mean() == pytest.approx(1, abs=0.02)
    assert len(np.unique(dropped)) == 2


def test_dropout_draws_anew_each_time_and_the_same_after_the_same_seed():
    layer, x = Dropout(0.5), mx.ones((50, 50))
    layer.train()
    draws = []
    for _ in range(2):
        mx.random.seed(7)
        draws.append([np.array(layer(x)), np.array(layer(x))])
    assert (draws[0][0] != draws[0][1]).any()
    np.testing.assert_array_equal(draws[0], draws[1])


def test_random_bytes_are_spread_evenly_and_independent():
    mx.random.seed(0)
    drawn = np.array(random_bytes((1001, 255)))
    counts = np.bincount(drawn.ravel(), minlength=256)
    expected = drawn.size / 256
    chi_squared = ((counts - expected) ** 2 / expected).sum()
    assert 160 < chi_squared < 370  # 255 degrees of freedom
    assert abs(np.corrcoef(drawn[:-1].ravel(), drawn[1:].ravel())[0, 1]) < 0.01


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
@pytest.mark.parametrize("tokens", [1, 9])
def test_rows_meet_the_experts_that_were_chosen_for_them(dtype, tokens):
    weights, rows = mx.random.normal((6, 8, 5)).astype(dtype), mx.random.normal((2, tokens, 1, 1, 8)).astype(dtype)
    chosen = mx.random.randint(0, 6, (2, tokens, 2)).astype(mx.uint32)
    found = times_chosen(rows, weights, chosen)
    x, w = (np.array(array.astype(mx.float32), np.float64) for array in (rows, weights))
    assert (found.dtype, found.shape) == (dtype, (2, tokens, 2, 1, 5))
    wanted = np.einsum("btrn,btknm->btkm", x[:, :, 0], w[np.array(chosen)])[:, :, :, None]
    most = {mx.float32: 1e-5, mx.float16: 0.01, mx.bfloat16: 0.1}[dtype]
    assert np.abs(np.array(found.astype(mx.float32)) - wanted).max() < most
