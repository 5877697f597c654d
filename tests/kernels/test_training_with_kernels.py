"""Training through the kernels and their gradients is training in plain MLX."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mlxdecoder import kernels
from mlxdecoder.kernels import launch
from mlxdecoder.mistakes.experiments import experiment_preset, toy_text
from mlxdecoder.training.observer import Observer, StepReport
from mlxdecoder.training.prepare import Prepared, fresh_model
from mlxdecoder.training.presets import Preset
from mlxdecoder.training.trainer import Trainer

STEPS = 5


class Losses(Observer):
    def __init__(self) -> None:
        self.losses: list[float] = []

    def stepped(self, report: StepReport) -> None:
        self.losses.append(report.loss)


@pytest.fixture(scope="module")
def preset() -> Preset:
    """The toy model as it is, on smaller batches, and measured only once."""
    toy = experiment_preset(STEPS)
    return replace(toy, training=replace(toy.training, tokens_per_batch=256, evaluate_every=STEPS))


@pytest.fixture(scope="module")
def text(preset: Preset) -> Prepared:
    prepared = toy_text(preset)
    return replace(prepared, train=prepared.train[:200], validation=[])


def losses(preset: Preset, text: Prepared) -> list[float]:
    observer = Losses()
    model = fresh_model(preset.model, text.tokenizer, preset.training.seed)
    Trainer(model, text.tokenizer, text.train, text.validation, preset.training, observer=observer).run()
    return observer.losses


def test_five_steps_of_the_toy_model_have_the_losses_of_plain_mlx(
    where: str, preset: Preset, text: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: list[str] = []
    monkeypatch.setattr(launch, "observers", [lambda name, kernel: launched.append(name)])
    with_kernels = losses(preset, text)
    assert launched.count("backward_key") >= STEPS
    with kernels.using("off"):
        plain = losses(preset, text)
    assert len(plain) == STEPS and len(set(plain)) == STEPS
    assert with_kernels == pytest.approx(plain, abs=1e-4)
