"""`mlxdecoder evaluate recall` as a user types it."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from mlx.utils import tree_flatten

from mlxdecoder.config import ModelConfig
from mlxdecoder.models import make_model
from mlxdecoder.recall import TASKS, Recall, experiments, measure, toys
from mlxdecoder.training import save_checkpoint
from mlxdecoder.translate import load

Run = Callable[..., tuple[int, str, str]]

recorded = pytest.mark.skipif(
    not (files("mlxdecoder.assets") / experiments.NAME).is_file(), reason="the toys are trained by `make recall`"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained language model with learned positions for 16 tokens."""
    tokenizer = load().tokenizer
    shape = ModelConfig(
        architecture="language_model",
        target_vocab=tokenizer.vocab_size,
        d_model=16,
        positions="learned",
        max_length=16,
    )
    path = tmp_path_factory.mktemp("models") / "model"
    save_checkpoint(path, shape, dict(tree_flatten(make_model(shape).parameters())), tokenizer)
    return path


class TestModel:
    def test_json_is_what_measuring_gives(self, run: Run, folder: Path) -> None:
        status, out, _ = run("evaluate", "recall", "--model", folder, "--lengths", 8, 16, 20, "--rows", 2, "--json")
        found = json.loads(out)
        assert status == 0
        wanted = measure(load(folder).model, [8, 16, 20], rows=2)  # type: ignore[arg-type]
        assert Recall.from_dict(found).to_dict() == wanted.to_dict()
        assert (found["configured_length"], list(found["refused"])) == (16, ["20"])
        assert all(kind["formula"] == kind["held"] for kind in found["caches"])

    def test_text_names_promise_truth_refusals_and_caches(self, run: Run, folder: Path) -> None:
        _, out, _ = run("evaluate", "recall", "--model", folder, "--lengths", 8, 20, "--rows", 2, "--tasks", "copy")
        assert "configured for 16 tokens, effective 0." in out
        assert "copy: effective 0\nAsked: a mark, words, the mark again" in out
        assert "needle" not in out
        assert "20 tokens were refused: " in out
        assert "bytes by formula" in out

    @pytest.mark.parametrize("ending", ["png", "svg", "json"])
    def test_out_is_written(self, run: Run, folder: Path, tmp_path: Path, ending: str) -> None:
        path = tmp_path / f"recall.{ending}"
        asked = ("--lengths", 8, "--rows", 1, "--threshold", 0.5, "--seed", 3)
        _, out, _ = run("evaluate", "recall", "--model", folder, *asked, "--out", path)
        assert out.rstrip().endswith(str(path))
        if ending == "json":
            found = json.loads(path.read_text())
            assert (found["threshold"], found["seed"], found["rows"]) == (0.5, 3, 1)


class TestToys:
    @recorded
    def test_the_record_is_shown_without_a_model(self, run: Run) -> None:
        status, out, _ = run("evaluate", "recall")
        assert status == 0
        rows = {line[:25].strip(): line.split() for line in out.splitlines()}
        for name, row in experiments.measured()["schemes"].items():
            assert str(row["recall"]["effective_length"]) in rows[name]
        assert "refused" in rows["learned"]

    @recorded
    def test_words_that_the_table_uses_are_explained(self, run: Run) -> None:
        _, out, _ = run("evaluate", "recall")
        record = experiments.measured()
        assert "Effective: at least 90% is right" in out
        assert "rotary, linear, ntk, dynamic or yarn: " in out
        for task in TASKS:
            assert f"\n{task}: " in out
        for name, row in record["schemes"].items():
            curve = Recall.from_dict(row["recall"])
            little = "loss" in row and curve.worst(record["trained_length"]) < curve.threshold
            assert (f"{name}: {curve.worst(record['trained_length']):.0%} at the trained length" in out) == little

    @recorded
    def test_its_figure_is_drawn(self, run: Run, tmp_path: Path) -> None:
        run("evaluate", "recall", "--out", tmp_path / "toys.png")
        assert (tmp_path / "toys.png").stat().st_size > 10_000

    @recorded
    def test_json_is_the_record(self, run: Run) -> None:
        assert json.loads(run("evaluate", "recall", "--json")[1]) == experiments.measured()

    def test_some_are_trained_anew(self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        seeds: list[int] = []

        def train(shape: Any, options: Any, progress: Any) -> Any:
            seeds.append(options.seed)
            progress(1, 0.5)
            return make_model(shape)

        monkeypatch.setattr(experiments, "train", train)
        monkeypatch.setattr(experiments, "LENGTHS", (8,))
        path = tmp_path / "record.json"
        _, out, _ = run("evaluate", "recall", "--train", "none", "alibi", "--seed", 5, "--out", path)
        assert seeds == [5, 5]
        assert list(json.loads(path.read_text())["schemes"]) == ["alibi", "none"]
        assert "alibi" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--train", "cubic"], "--train cubic: wanted all, or some of learned"),
        (["--train", "all", "--model", "x"], "--train: trains toys of its own"),
        (["--lengths", 8], "--lengths: is for a model"),
        (["--seed", 1], "--seed: nothing is drawn"),
        (["--train", "none", "--seed", -1], "seed"),
        (["--model", "nowhere"], "nowhere"),
        (["--out", "picture.bmp"], "picture.bmp"),
        (["--model", "FOLDER", "--lengths", 4], "--lengths: 4"),
        (["--model", "FOLDER", "--rows", 0], "--rows 0"),
        (["--model", "FOLDER", "--threshold", 2], "--threshold 2"),
        (["--model", "FOLDER", "--seed", -1], "seed"),
    ],
)
def test_a_wrong_request_is_answered_in_a_line(run: Run, folder: Path, arguments: list[Any], said: str) -> None:
    status, _, err = run("evaluate", "recall", *(folder if word == "FOLDER" else word for word in arguments))
    assert status == 2
    assert said in err
    assert err.count("\n") <= 2


def test_a_translator_is_no_language_model(run: Run) -> None:
    from importlib.resources import files

    status, _, err = run("evaluate", "recall", "--model", files("mlxdecoder.assets") / "model")
    assert status == 2
    assert "model: holds a translator; recall asks language models" in err


@recorded
def test_the_toy_is_what_the_record_says() -> None:
    record = experiments.measured()
    assert record["trained_length"] == toys.LENGTH
    assert record["steps"] == toys.OPTIONS.steps


@recorded
@pytest.mark.parametrize("scheme", experiments.SCHEMES)
def test_every_toy_answers_within_the_length_that_it_was_trained_on(scheme: str) -> None:
    found = Recall.from_dict(experiments.measured()["schemes"][scheme]["recall"])
    assert found.effective_length() >= toys.LENGTH


@recorded
def test_schemes_fail_past_that_length_as_they_are_known_to() -> None:
    """Tables end, turns that were never seen mislead, and slopes alone go on (Press et al. 2021, figure 1)."""
    schemes = experiments.measured()["schemes"]
    found = {name: Recall.from_dict(row["recall"]) for name, row in schemes.items()}
    longest = max(experiments.LENGTHS)
    assert longest in found["learned"].refused
    assert all(found[name].worst(longest) < 0.5 for name in ("sinusoidal", "rotary", "relative", "none"))
    assert found["alibi"].worst(longest) > 0.5
    assert found["rotary, yarn"].worst(longest) > found["rotary"].worst(longest) + 0.3
