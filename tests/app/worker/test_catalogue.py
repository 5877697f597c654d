"""What the window is told of mistakes and presets is complete, and fits what it makes of it."""

from __future__ import annotations

import json

from mlxdecoder.app.session.catalogue import Preset, entry_of
from mlxdecoder.app.worker.catalogue import entries, presets
from mlxdecoder.mistakes import CATALOGUE
from mlxdecoder.training.presets import PRESETS


def test_the_window_can_read_every_entry_and_has_them_in_the_order_of_the_catalogue() -> None:
    read = [entry_of(json.loads(json.dumps(entry))) for entry in entries()]
    assert [entry.id for entry in read] == [mistake.id for mistake in CATALOGUE]
    assert all(entry.question and entry.answer and entry.right != entry.wrong for entry in read)
    assert [entry.contracts for entry in read] == [mistake.contracts for mistake in CATALOGUE]


def test_every_preset_is_offered_with_its_steps() -> None:
    read = [Preset(**preset) for preset in presets()]
    assert {preset.name: preset.steps for preset in read} == {k: v.training.steps for k, v in PRESETS.items()}
    assert all(preset.title for preset in read)
