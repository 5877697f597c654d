"""Twins: the same seed and the same batches, so that only the mistake is between them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.mistakes import experiments, find, switch_on
from mlxdecoder.mistakes.experiments import experiment_preset, run_experiments, toy_text
from mlxdecoder.mistakes.twins import TwinTraining, exact_match_padded, setting_of
from mlxdecoder.recipe import RIGHT
from mlxdecoder.training.evaluation import exact_match
from mlxdecoder.training.observer import StepReport
from mlxdecoder.training.prepare import Prepared
from mlxdecoder.training.presets import Preset

STEPS = 4


@pytest.fixture(scope="module")
def preset() -> Preset:
    shape = ModelConfig(d_model=16, n_heads=2, d_ff=16, n_layers=1)
    toy = experiment_preset(STEPS)
    return replace(toy, vocab_size=400, model=shape, training=replace(toy.training, tokens_per_batch=128, average=1))


@pytest.fixture(scope="module")
def text(preset: Preset) -> Prepared:
    prepared = toy_text(preset)
    return replace(prepared, train=prepared.train[:60], validation=prepared.validation[:3])


def test_a_change_that_does_no_harm_gives_the_same_losses_to_the_bit(preset: Preset, text: Prepared) -> None:
    twins = TwinTraining(preset, text).run(["no-target-padding-mask"])
    assert len(twins.correct.losses) == STEPS
    assert twins.correct.losses == twins.mistaken.losses


def test_the_twins_start_from_the_same_weights_and_part_from_there(preset: Preset, text: Prepared) -> None:
    twins = TwinTraining(preset, text).run(["labels-unshifted"])
    assert twins.correct.losses != twins.mistaken.losses
    again = TwinTraining(preset, text).run(["labels-unshifted"])
    assert (again.correct.losses, again.mistaken.losses) == (twins.correct.losses, twins.mistaken.losses)


def test_a_loss_that_is_no_number_ends_the_mistaken_twin_and_is_told(preset: Preset, text: Prepared) -> None:
    twins = TwinTraining(preset, text).run(["infinity-after-softmax"])
    assert twins.mistaken.broke == "step 1: loss or weights are no longer numbers"
    assert np.isnan(twins.mistaken.loss_at(50)) and np.isnan(twins.mistaken.alone)
    told = json.loads(json.dumps(twins.to_dict(), allow_nan=False))
    assert (told["mistaken"]["exact_match"], told["mistaken"]["broke"]) == (None, twins.mistaken.broke)


def test_other_errors_than_a_loss_that_is_no_number_are_not_swallowed(preset: Preset, text: Prepared) -> None:
    narrow = replace(preset, training=replace(preset.training, tokens_per_batch=4))
    with pytest.raises(UserError, match="does not fit"):
        TwinTraining(narrow, text).run(["no-scale"])


def test_the_right_twin_is_not_measured_with_what_the_mistaken_one_kept(preset: Preset, text: Prepared) -> None:
    alone = TwinTraining(preset, text).run(["stale-cross-cache"])
    together = TwinTraining(preset, text).run(["stale-cross-cache", "no-target-padding-mask"])
    assert together.switched_alone == alone.switched_alone
    assert together.models[0].recipe == RIGHT


def test_what_lives_in_generation_is_not_trained_twice(preset: Preset, text: Prepared) -> None:
    told: list[tuple[str, int]] = []

    def progress(name: str, report: StepReport) -> None:
        told.append((name, report.step))

    training = TwinTraining(preset, text, progress)
    twins = training.run(["cache-position-zero"])
    assert told == [("correct", step) for step in range(1, STEPS + 1)]
    assert twins.models[0] is twins.models[1]
    training.run(["no-causal-mask"])
    assert told[STEPS:] == [("mistaken", step) for step in range(1, STEPS + 1)]


def test_the_setting_gives_what_the_mistakes_need(preset: Preset) -> None:
    changed = setting_of(preset, [find("heads-tiled"), find("documents-mixed")])
    assert (changed.model.n_kv_heads, changed.training.pack) == (2, 3)
    assert setting_of(preset, [find("no-causal-mask")]) == preset


def test_the_models_are_left_with_their_recipes(preset: Preset, text: Prepared) -> None:
    twins = TwinTraining(preset, text).run(["no-causal-mask"])
    right, wrong = twins.models
    assert right.recipe == RIGHT
    assert wrong.recipe.decoder_mask is not RIGHT.decoder_mask


def test_padding_changes_no_exact_match_of_a_right_model(toy_model) -> None:
    model, examples = toy_model
    assert exact_match_padded(model, examples) == exact_match(model, examples) == 1.0
    model.recipe = switch_on(["no-source-padding-mask"])
    try:
        assert exact_match(model, examples, batch_size=1) == 1.0
        assert exact_match_padded(model, examples) < 1.0
    finally:
        model.recipe = RIGHT


@pytest.fixture
def toy_model():
    import mlxdecoder
    from mlxdecoder.training.batches import Example

    toy = mlxdecoder.load()
    sentences = [
        "The black cat sleeps.",
        "The dog runs.",
        "The old woman sees the small house.",
        "The cat sees the dog.",
    ]
    sources = [toy.tokenizer.encode(text) for text in sentences]
    made = [mlxdecoder.generate(toy.model, [source])[0].tokens for source in sources]
    return toy.model, [Example(tuple(x), tuple(y)) for x, y in zip(sources, made, strict=True)]


def test_the_record_of_the_experiments_says_how_it_was_made(
    preset: Preset, text: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiments, "toy_text", lambda preset: text)
    small = replace(preset, training=replace(preset.training, steps=2))
    out = tmp_path / "record.json"
    run_experiments(out, small, [find("no-scale"), find("stale-cross-cache")])
    record = json.loads(out.read_text(encoding="utf-8"))
    assert (record["steps"], record["seed"], record["preset"]) == (2, 0, "toy")
    assert list(record["entries"]) == ["no-scale", "stale-cross-cache"]
    for entry in record["entries"].values():
        assert set(entry["heatmap"]) == {"correct", "mistaken", "mistaken_written"}
        assert 0 <= entry["correct"]["exact_match"] <= 1
