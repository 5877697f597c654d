"""The flat optimiser against MLX's own, and the flat array against the tree."""

import mlx.core as mx
import mlx.optimizers
import numpy as np
import pytest
from mlx.utils import tree_flatten

from mlxdecoder.config import ModelConfig
from mlxdecoder.models import Translator
from mlxdecoder.training.options import TrainingOptions
from mlxdecoder.training.parameters import AdamW, FlatParameters

TINY = ModelConfig(d_model=16, n_heads=2, d_ff=32, n_layers=1, target_vocab=30)


def test_splitting_what_was_joined_gives_every_parameter_back():
    model = Translator(TINY)
    flat = FlatParameters(model)
    parameters = dict(tree_flatten(model.trainable_parameters()))
    again = dict(tree_flatten(flat.split(flat.join(model.trainable_parameters()))))
    assert again.keys() == parameters.keys()
    for name, array in parameters.items():
        np.testing.assert_array_equal(np.array(again[name]), np.array(array), err_msg=name)


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_the_update_is_that_of_mlx_with_bias_correction(weight_decay):
    ours = AdamW(beta1=0.9, beta2=0.98, epsilon=1e-8, weight_decay=weight_decay, clip=1e9)
    theirs = mlx.optimizers.AdamW(0.01, betas=[0.9, 0.98], eps=1e-8, weight_decay=weight_decay, bias_correction=True)
    weights = mx.random.normal((50,))
    tree, moments = {"w": weights}, (mx.zeros((50,)), mx.zeros((50,)))
    for step in range(1, 8):
        gradient = mx.random.normal((50,))
        weights, moments = ours.update(weights, gradient, moments, 0.01, step)
        tree = theirs.apply_gradients({"w": gradient}, tree)
        np.testing.assert_allclose(np.array(weights), np.array(tree["w"]), rtol=2e-5, atol=2e-6)


def test_a_long_gradient_is_cut_to_the_clip_and_a_short_one_is_not():
    zero = mx.zeros((4,))
    for length, wanted in ((10.0, 1.0), (0.5, 0.5)):
        gradient = mx.array([0.0, length, 0.0, 0.0])
        _, (first, _) = AdamW(beta1=0.0, clip=1.0).update(zero, gradient, (zero, zero), 1.0, 1)
        assert mx.linalg.norm(first).item() == pytest.approx(wanted)


def test_the_rate_rises_in_a_line_and_falls_as_named():
    cosine = TrainingOptions(steps=110, warmup=10, learning_rate=1.0, schedule="cosine")
    assert [cosine.rate(step) for step in (1, 5, 10)] == pytest.approx([0.1, 0.5, 1.0])
    assert [cosine.rate(step) for step in (60, 110)] == pytest.approx([0.5, 0.0])
    root = TrainingOptions(steps=110, warmup=10, learning_rate=1.0, schedule="inverse_sqrt")
    assert [root.rate(step) for step in (10, 40, 90)] == pytest.approx([1.0, 0.5, 1 / 3])
