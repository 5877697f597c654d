"""The catalogue: complete, in order, and any set of mistakes can be switched on in any model."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mlxdecoder.attention import attention
from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.generate import generate
from mlxdecoder.masks import Causal, Padding
from mlxdecoder.mistakes import CATALOGUE, HARMLESS, MISTAKES, Mistake, find, switch_on
from mlxdecoder.recipe import RIGHT, Layout, Recipe
from mlxdecoder.training.batches import Example, make_batch
from mlxdecoder.training.options import TrainingOptions
from mlxdecoder.training.parameters import FlatParameters
from mlxdecoder.training.step import GradientStep
from tests.builders import POSITIONS, VOCABULARY, ids, normal, rows_of, small

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


def weights_of(*names: str) -> np.ndarray:
    """The weights of one head over four tokens, causal."""
    seen: dict[str, mx.array] = {}
    q = k = v = mx.array(normal(1, 1, 4, 8, seed=3))
    attention(q, k, v, Causal(), recipe=switch_on(names), watch=seen.__setitem__)
    return np.array(seen["weights"])[0, 0]


def test_the_order_of_switching_does_not_matter() -> None:
    for names in (["fill-too-small", "mask-inverted"], ["zeroed-after-softmax", "zeroed-and-renormalised"]):
        np.testing.assert_array_equal(weights_of(*names), weights_of(*reversed(names)))


def test_where_two_change_the_same_choice_the_changes_add_up_or_the_later_one_wins() -> None:
    np.testing.assert_array_equal(weights_of("fill-too-small", "mask-inverted"), weights_of("mask-inverted"))
    both = weights_of("zeroed-after-softmax", "softmax-over-queries")
    assert not both[np.triu_indices(4, k=1)].any()
    assert (both.sum(axis=0)[:-1] < 1).any() and np.isclose(both.sum(axis=0)[0], 1, atol=1e-5)
    framed = np.arange(1, 8)[None]
    inputs, labels = switch_on(["labels-unshifted", "labels-shifted-twice"]).shift_targets(framed)
    np.testing.assert_array_equal(labels, inputs + 1)  # the one undoes the other


def test_what_does_no_harm_does_not_undo_a_mistake() -> None:
    found = weights_of("zeroed-after-softmax", "zeroed-and-renormalised")
    np.testing.assert_array_equal(found, weights_of("zeroed-after-softmax"))


@pytest.mark.parametrize("architecture", ["language_model", "translator"])
def test_right_padding_of_the_target_needs_no_mask_and_left_padding_does(architecture: str) -> None:
    """Against each row alone."""
    model = small(architecture, recipe=switch_on(["no-target-padding-mask"]))
    before = (ids(2, 5, seed=9),) if architecture == "translator" else ()
    tokens = ids(2, 6)
    right, left = (Layout(target=side([4, 6], 6)) for side in (Padding.right, Padding.left))
    alone = np.array(model(*(source[:1] for source in before), tokens[:1, :4]))[0]
    padded = np.array(model(*before, tokens, layout=right))[0, :4]
    np.testing.assert_allclose(padded, alone, atol=2e-5)
    shifted = np.concatenate([np.zeros((2, 2), int), tokens[:, :4]], axis=1)
    np.testing.assert_allclose(np.array(model(*before, shifted, layout=left))[0, 2:], alone, atol=2e-5)


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
@example(["zeroed-and-renormalised", "mask-inverted"], 1)
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
    names = ("attention", "blocks", "masks", "recipe", "positions", "generate", "decoding", "backend", "prepared")
    rooms = [*(LIBRARY / "cache").glob("*.py"), *(LIBRARY / "models").glob("*.py")]
    for path in [*(LIBRARY / f"{name}.py" for name in names), *rooms]:
        assert "mistake" not in path.read_text(encoding="utf-8").lower(), path.name
