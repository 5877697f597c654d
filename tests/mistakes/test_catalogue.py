"""The catalogue: complete, in order, and any set of mistakes can be switched on in any model."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.generate import generate
from mlxdecoder.masks import Padding
from mlxdecoder.mistakes import CATALOGUE, HARMLESS, MISTAKES, Mistake, find, switch_on
from mlxdecoder.recipe import RIGHT, Layout, Recipe
from mlxdecoder.training.batches import Example, make_batch
from mlxdecoder.training.options import TrainingOptions
from mlxdecoder.training.parameters import FlatParameters
from mlxdecoder.training.step import GradientStep
from tests.builders import POSITIONS, VOCABULARY, ids, rows_of, small

LIBRARY = Path(__file__).parents[2] / "mlxdecoder"
ALL_IDS = [mistake.id for mistake in CATALOGUE]
some_ids = st.lists(st.sampled_from(ALL_IDS), min_size=1, max_size=5, unique=True)


def test_there_are_28_mistakes_and_three_that_are_none() -> None:
    assert sorted(mistake.number for mistake in MISTAKES) == [*range(1, 27), 30, 31]
    assert len(HARMLESS) == 3
    assert all(mistake.harmless for mistake in HARMLESS)
    assert not any(mistake.harmless for mistake in MISTAKES)
    assert len(set(ALL_IDS)) == len(CATALOGUE)


def test_entries_of_a_stage_stand_together() -> None:
    stages = [mistake.stage for mistake in MISTAKES]
    runs = [stage for i, stage in enumerate(stages) if i == 0 or stage != stages[i - 1]]
    assert len(runs) == len(set(runs))


@pytest.mark.parametrize("mistake", CATALOGUE, ids=ALL_IDS)
def test_an_entry_is_told_in_full(mistake: Mistake) -> None:
    for text in (mistake.title, mistake.right, mistake.wrong, mistake.heatmap, mistake.curves, mistake.generation):
        assert text.strip()
    assert mistake.right != mistake.wrong
    assert mistake.sources and all(re.match(r"https://\S+", source) for source in mistake.sources)
    assert bool(mistake.contracts) != mistake.harmless
    assert set(mistake.changes) <= {field.name for field in fields(Recipe)}


@pytest.mark.parametrize("mistake", CATALOGUE, ids=ALL_IDS)
def test_only_the_choices_that_it_names_change(mistake: Mistake) -> None:
    recipe = switch_on([mistake.id])
    changed = {field.name for field in fields(Recipe) if getattr(recipe, field.name) != getattr(RIGHT, field.name)}
    assert changed == set(mistake.changes)


def test_by_number_or_id_and_an_unknown_one_is_met_with_the_nearest() -> None:
    assert find(5) is find("5") is find("zeroed-after-softmax")
    with pytest.raises(UserError, match=r"'zero-after-softmax'.*zeroed-after-softmax.*mistakes list"):
        find("zero-after-softmax")
    with pytest.raises(UserError, match="a list of ids"):
        switch_on("no-scale")


def test_nothing_switched_on_is_the_right_recipe() -> None:
    assert switch_on([]) == RIGHT


@given(some_ids)
def test_the_order_of_switching_does_not_matter(names: list[str]) -> None:
    def marks(recipe: Recipe) -> str:
        mask = recipe.decoder_mask(Layout(target=Padding.right([2, 4], 4)))
        return f"{recipe!r} {mask.array(4).tolist()}"

    assert marks(switch_on(names)) == marks(switch_on(reversed(names)))


@given(some_ids, st.sampled_from(POSITIONS), st.sampled_from([None, 3]), st.sampled_from([1, 2, 4]), st.booleans())
@settings(max_examples=40)
def test_any_set_runs_in_every_architecture(
    names: list[str], positions: str, window: int | None, kv_heads: int, half: bool
) -> None:
    recipe = switch_on(names)
    shape = {"positions": positions, "n_kv_heads": kv_heads, "dropout": 0.1}
    encoder = small("encoder", recipe=recipe, **shape)
    padded = Layout(source=Padding.right([3, 6], 6))
    assert encoder(ids(2, 6), padded).shape == (2, 6, 16)
    for architecture in ("language_model", "translator"):
        model = small(architecture, recipe=recipe, window=window, **shape)
        if half:
            model.set_dtype(mx.float16)
        for rows in (rows_of([4]), rows_of([3, 6], seed=1)):
            made = generate(model, rows, max_tokens=4)
            assert [len(one.tokens) <= 4 for one in made] == [True] * len(rows)
    assert model(ids(2, 6), ids(2, 5), padded).shape == (2, 5, VOCABULARY)


@given(some_ids, st.integers(1, 3))
@settings(max_examples=25)
def test_any_set_trains_from_the_first_step(names: list[str], pack: int) -> None:
    config = ModelConfig(target_vocab=VOCABULARY, d_model=16, n_heads=4, n_kv_heads=2, d_ff=16, n_layers=1)
    model = small("translator", recipe=switch_on(names), **{"n_layers": 1})
    examples = [Example(tuple(row), tuple(reversed(row))) for row in rows_of([3, 5, 2, 4])]
    batch = make_batch(examples, config, model.recipe, TrainingOptions(pack=pack))
    parameters = FlatParameters(model)
    loss, gradient = GradientStep(model, parameters, 0.0)(batch)
    mx.eval(loss, gradient)
    assert gradient.shape == parameters.join(model.trainable_parameters()).shape
    if not {"infinity-after-softmax"} & set(names):
        assert np.isfinite(loss.item())


def test_the_code_of_attention_knows_of_no_mistakes() -> None:
    for name in ("attention", "blocks", "models", "masks", "recipe", "cache", "positions", "generate", "backend"):
        assert "mistake" not in (LIBRARY / f"{name}.py").read_text(encoding="utf-8").lower(), name
