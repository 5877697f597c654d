"""What the window is told of mistakes and presets is complete, and fits what it makes of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mlxdecoder.app.session.catalogue import Preset, entry_of
from mlxdecoder.app.worker.catalogue import entries, presets
from mlxdecoder.mistakes import CATALOGUE
from mlxdecoder.training.presets import PRESETS
from mlxdecoder.translate import load


def test_the_window_can_read_every_entry_and_has_them_in_the_order_of_the_catalogue() -> None:
    read = [entry_of(json.loads(json.dumps(entry))) for entry in entries()]
    assert [entry.id for entry in read] == [mistake.id for mistake in CATALOGUE]
    assert all(entry.question and entry.answer and entry.right != entry.wrong for entry in read)
    assert [entry.contracts for entry in read] == [mistake.contracts for mistake in CATALOGUE]


def test_every_preset_is_offered_with_its_steps() -> None:
    read = [Preset(**preset) for preset in presets()]
    assert {preset.name: preset.steps for preset in read} == {k: v.training.steps for k, v in PRESETS.items()}
    assert len({preset.title for preset in read}) == len(read)
    assert all(re.search(r"\b(minutes?|hours?)\b", preset.purpose) for preset in read)


def test_the_usual_presets_are_those_of_the_command(run: Any, tmp_path: Path) -> None:
    usual = {preset["usual_for"]: preset["name"] for preset in presets() if preset["usual_for"]}
    corpus = tmp_path / "pairs.tsv"
    corpus.write_text("".join(f"word {n}\tmot {n}\n" for n in range(9)))
    for text, options in (("toy", ["--toy"]), ("corpus", ["--corpus", corpus])):
        status, _, said = run("train", *options, "--steps", 1, "--out", tmp_path / text)
        assert status == 0, said
        assert load(tmp_path / text).model.config.d_model == PRESETS[usual[text]].model.d_model
