"""The gradient of a batch in two halves is that of the whole, and both are what finite differences say."""

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder.config import ModelConfig
from mlxdecoder.models import Translator
from mlxdecoder.recipe import RIGHT
from mlxdecoder.training import step as module
from mlxdecoder.training.batches import Example, make_batch
from mlxdecoder.training.parameters import FlatParameters
from mlxdecoder.training.step import GradientStep
from tests.training.pretended import OneOf

CONFIG = ModelConfig(d_model=16, n_heads=2, d_ff=32, n_layers=1, target_vocab=30)


def make_parts(monkeypatch, streams):
    monkeypatch.setattr(module, "gradient_streams", lambda: [mx.new_stream(mx.cpu) for _ in range(streams)])
    mx.random.seed(1)
    model = Translator(CONFIG)
    parameters = FlatParameters(model)
    return model, parameters, GradientStep(model, parameters, smoothing=0.1)


@pytest.fixture
def batch():
    random = np.random.default_rng(0)
    lengths = [(3, 5), (9, 2), (1, 1), (4, 12), (7, 7)]
    ids = [[tuple(random.integers(4, 30, length).tolist()) for length in pair] for pair in lengths]
    return make_batch([Example(source, target) for source, target in ids], CONFIG, RIGHT)


def test_two_halves_give_the_loss_and_gradient_of_the_whole(monkeypatch, batch):
    results = []
    for streams in (1, 2):
        _, _, step = make_parts(monkeypatch, streams)
        loss, gradient = step(batch)
        mx.eval(loss, gradient)
        results.append((loss.item(), np.array(gradient)))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-5)
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-6)


def test_the_gradient_is_the_slope_of_the_loss(monkeypatch, batch):
    model, parameters, step = make_parts(monkeypatch, 2)
    weights = parameters.join(model.trainable_parameters())
    _, gradient = step(batch)
    direction = mx.random.normal(weights.shape)
    direction = direction / mx.linalg.norm(direction)
    losses = []
    for distance in (-0.05, 0.05):
        model.update(parameters.split(weights + distance * direction))
        losses.append(step(batch)[0].item())
    slope = (losses[1] - losses[0]) / 0.1
    assert (gradient * direction).sum().item() == pytest.approx(slope, rel=0.03, abs=2e-4)


def test_one_row_is_a_batch_too(monkeypatch, batch):
    _, _, step = make_parts(monkeypatch, 2)
    single = batch.halves()[0].halves()[0].halves()[0]
    assert len(single.source) == 1
    loss, gradient = step(single)
    assert np.isfinite(loss.item())
    assert np.isfinite(np.array(gradient)).all()


@pytest.mark.parametrize("size", [2, 3, 7])
def test_what_the_processes_compute_adds_up_to_the_loss_and_gradient_of_the_whole(monkeypatch, batch, size):
    _, _, step = make_parts(monkeypatch, 2)
    loss, gradient = step(batch)
    shares = [step(batch, OneOf(rank, size)) for rank in range(size)]  # the last case has more processes than rows
    assert sum(share[0] for share in shares).item() == pytest.approx(loss.item(), rel=1e-5)
    np.testing.assert_allclose(np.array(sum(share[1] for share in shares)), np.array(gradient), atol=1e-6)
