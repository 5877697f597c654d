"""The toys: what they practise, what of it counts, what stretching changes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten

from mlxdecoder.config import ModelConfig
from mlxdecoder.models import LanguageModel
from mlxdecoder.recall import experiments, measure, toys, training
from mlxdecoder.recall.toys import OPTIONS, stretched, toy_config
from mlxdecoder.recall.training import GROWTH, practice, train
from tests.builders import difference, ids

FEW = replace(OPTIONS, steps=2, tokens_per_batch=256)


def tiny(**changes: Any) -> ModelConfig:
    return replace(toy_config("rotary"), **{"d_model": 16, "n_heads": 2, "d_ff": 16, "target_vocab": 80, **changes})


class TestPractice:
    def test_rows_grow_to_the_longest(self) -> None:
        random = np.random.default_rng(0)
        lengths = {
            step: [practice(random, tiny(), 64, step).tokens.shape[1] for _ in range(150)]
            for step in (1, GROWTH // 2, GROWTH, 2 * GROWTH)
        }
        early, half, grown, late = lengths.values()
        assert set(early) == {8}
        assert 16 <= max(half) <= 20
        assert max(grown) == max(late) == 32
        assert min(late) < 12

    def test_a_batch_is_of_all_tasks_and_no_larger_than_asked(self) -> None:
        for step in range(1, 2 * GROWTH, 100):
            questions = practice(np.random.default_rng(step), tiny(), 500, step)
            assert questions.tokens.size <= 500
            assert questions.asked.any(axis=1).all()

    def test_only_answers_count(self) -> None:
        """A change of what is not asked moves no gradient."""
        model = LanguageModel(tiny())
        questions = practice(np.random.default_rng(0), tiny(), 256, 1)
        other = replace(questions, answers=np.where(questions.asked, questions.answers, 7))
        gradient = training._gradient(model)
        (loss, tree), (same, again) = gradient(questions), gradient(other)
        assert loss.item() == same.item()
        for (_, one), (_, two) in zip(tree_flatten(tree), tree_flatten(again), strict=True):
            np.testing.assert_array_equal(np.array(one), np.array(two))

    def test_the_loss_is_that_of_the_answers_and_each_row_counts_the_same(self) -> None:
        model, questions = LanguageModel(tiny()), practice(np.random.default_rng(0), tiny(), 256, 1)
        logits = np.array(model(questions.tokens), dtype=np.float64)
        logs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        of_rows = [
            -np.mean([logs[row, t, questions.answers[row, t]] for t in np.flatnonzero(questions.asked[row])])
            for row in range(len(logits))
        ]
        assert training._gradient(model)(questions)[0].item() == pytest.approx(np.mean(of_rows), rel=1e-5)


class TestTraining:
    def test_the_same_seed_gives_the_same_weights(self) -> None:
        first, again, other = (train(tiny(), replace(FEW, seed=seed)) for seed in (0, 0, 1))
        assert difference(first.embedding.weight, again.embedding.weight) == 0
        assert difference(first.embedding.weight, other.embedding.weight) > 0

    def test_every_step_is_told(self) -> None:
        told: list[tuple[int, float]] = []
        train(tiny(), FEW, lambda *report: told.append(report))
        assert [step for step, _ in told] == [1, 2]
        assert all(np.isfinite(loss) for _, loss in told)

    def test_it_can_be_stopped(self) -> None:
        def stop(step: int, loss: float) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train(tiny(), FEW, stop)

    def test_it_learns(self) -> None:
        """A few steps on short rows are enough to be surer of the answers than a guess is."""
        losses: list[float] = []
        options = replace(OPTIONS, steps=60, tokens_per_batch=512, learning_rate=1e-2, warmup=5)
        train(tiny(max_length=16, target_vocab=24), options, lambda step, loss: losses.append(loss))
        assert np.mean(losses[-10:]) < np.mean(losses[:10]) - 0.3


class TestStretching:
    def test_the_promise_grows_and_the_weights_stay(self) -> None:
        model = LanguageModel(tiny())
        other = stretched(model, "linear")
        assert (other.config.max_length, other.config.trained_length) == (128, 32)
        for (name, weight), (same, kept) in zip(
            tree_flatten(model.parameters()), tree_flatten(other.parameters()), strict=True
        ):
            assert name == same
            assert mx.array_equal(weight, kept)

    def test_dynamic_changes_nothing_within_the_trained_length(self) -> None:
        model = LanguageModel(tiny())
        other = stretched(model, "dynamic")
        inside, outside = ids(1, 32), ids(1, 33)
        assert difference(model(inside), other(inside)) == 0
        assert difference(model(outside), other(outside)) > 1e-4

    @pytest.mark.parametrize("scaling", ["linear", "ntk", "yarn"])
    def test_the_others_change_short_rows_too(self, scaling: Any) -> None:
        model = LanguageModel(tiny())
        assert difference(model(ids(1, 20)), stretched(model, scaling)(ids(1, 20))) > 1e-4


class TestRecord:
    def test_one_curve_a_scheme_and_one_for_each_scaling(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
        monkeypatch.setattr(experiments, "LENGTHS", (8, 36))
        for name in ("measure", "measure_function"):
            monkeypatch.setattr(experiments, name, partial(getattr(experiments, name), rows=2))
        monkeypatch.setattr(experiments, "toy_config", lambda scheme: tiny(positions=scheme))
        told: list[str] = []
        out = tmp_path / "record.json"
        record = experiments.run_experiments(
            out, ("learned", "rotary"), FEW, done=lambda name, found: told.append(name)
        )
        assert told == list(record["schemes"])
        assert told == [
            "learned",
            "rotary",
            *(f"rotary, {name}" for name in experiments.SCALINGS),
            "rotary, dynamic, cached",
        ]
        assert list(record["schemes"]["learned"]["recall"]["refused"]) == ["36"]
        assert experiments.json.loads(out.read_text()) == record


@pytest.mark.slow
def test_a_rotary_toy_finds_everything_inside_its_length_and_not_far_outside() -> None:
    found = measure(train(toy_config("rotary"), OPTIONS), experiments.LENGTHS)
    inside = [cell.accuracy for cell in found.cells if cell.length <= toys.LENGTH]
    assert min(inside) > 0.95
    assert found.worst(4 * toys.LENGTH) < 0.5
    assert toys.LENGTH <= found.effective_length() < 4 * toys.LENGTH
