"""Effects in numbers: what a mistake does to a sentence, against what is known of it."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mlxdecoder
from mlxdecoder.errors import UserError
from mlxdecoder.maps import AttentionMap
from mlxdecoder.mistakes import CATALOGUE, HARMLESS, Mistake
from mlxdecoder.mistakes.effects import Effects, compare, effects
from mlxdecoder.mistakes.view import head_numbers
from mlxdecoder.recipe import RIGHT
from mlxdecoder.training.checkpoint import Checkpoint
from mlxdecoder.translate import translate
from tests.builders import small

SENTENCE, BESIDE = "The black cat sees the old woman.", "The small dogs sleep."
AT_MODEL_LEVEL = [mistake for mistake in CATALOGUE if not mistake.trains_only and not mistake.harmless]


@pytest.fixture(scope="module")
def toy() -> Checkpoint:
    return mlxdecoder.load()


@pytest.fixture(scope="module")
def found(toy: Checkpoint) -> dict[str, Effects]:
    """The effects of every entry on the packaged model."""
    encode = toy.tokenizer.encode
    return {
        mistake.id: effects(toy.model, toy.tokenizer, [mistake.id], encode(SENTENCE), encode(BESIDE))
        for mistake in CATALOGUE
    }


def sums(maps: dict[str, AttentionMap], kind: str) -> np.ndarray:
    return maps[kind].row_sums()


def outside(maps: dict[str, AttentionMap], kind: str) -> float:
    return float(maps[kind].mass_outside().max())


@pytest.mark.parametrize("mistake", CATALOGUE, ids=lambda mistake: mistake.id)
def test_the_correct_side_is_what_the_model_says_without_any_mistake(
    found: dict[str, Effects], toy: Checkpoint, mistake: Mistake
) -> None:
    one = found[mistake.id]
    assert toy.tokenizer.decode(one.correct) == translate(toy, [SENTENCE])[0]
    for view in (one.read, one.written):
        for kind, attention in view.correct.items():
            assert np.allclose(sums(view.correct, kind), attention.intended.any(axis=-1), atol=1e-5)
            assert outside(view.correct, kind) == 0
        assert view.divergence.shape == (len(one.correct) + 1,)
    assert toy.model.recipe == RIGHT


@pytest.mark.parametrize("mistake", AT_MODEL_LEVEL, ids=lambda mistake: mistake.id)
def test_each_mistake_moves_the_predictions_of_a_trained_model(found: dict[str, Effects], mistake: Mistake) -> None:
    one = found[mistake.id]
    if mistake.id == "heads-tiled":  # the packaged model shares no heads
        assert one.read.divergence.max() == 0
        return
    worst = max(np.nanmax(view.divergence, initial=0) for view in (one.read, one.written))
    assert worst > 1e-4 or np.isnan(one.read.divergence).any()


def test_labels_have_no_effect_on_a_trained_model(found: dict[str, Effects]) -> None:
    for mistake in CATALOGUE:
        if mistake.trains_only:
            assert found[mistake.id].read.divergence.max() == 0
            assert found[mistake.id].first_difference is None


def test_what_only_looks_like_a_mistake_changes_nothing(found: dict[str, Effects]) -> None:
    for mistake in HARMLESS:
        assert found[mistake.id].first_difference is None
        assert found[mistake.id].written.divergence.max() < 1e-6


def test_without_causal_mask_the_weight_is_in_the_future_but_only_when_read_at_once(found: dict[str, Effects]) -> None:
    one = found["no-causal-mask"]
    assert outside(one.read.mistaken, "decoder") > 0.5
    assert outside(one.written.mistaken, "decoder") == 0
    assert one.written.divergence.max() < 1e-6


def test_zeroed_after_softmax_is_a_perfect_triangle_with_short_rows(found: dict[str, Effects]) -> None:
    view = found["zeroed-after-softmax"].read
    assert outside(view.mistaken, "decoder") == 0
    assert sums(view.mistaken, "decoder").min() < 0.5
    assert np.allclose(sums(view.mistaken, "decoder")[..., -1], 1, atol=1e-5)


def test_softmax_over_queries_has_columns_that_sum_to_one(found: dict[str, Effects]) -> None:
    mistaken = found["softmax-over-queries"].read.mistaken
    for attention in mistaken.values():
        assert np.allclose(attention.weights.sum(axis=-2), 1, atol=1e-5)


def test_infinities_are_counted(found: dict[str, Effects]) -> None:
    view = found["infinity-after-softmax"].read
    broken = sum(one.not_finite for one in head_numbers(view.mistaken))
    assert broken == sum(int((~np.isfinite(attention.weights)).sum()) for attention in view.mistaken.values()) > 0
    assert view.most_changed()[0] == "decoder"


def test_a_cached_step_with_the_mask_at_the_top_left_sees_the_first_key_alone(found: dict[str, Effects]) -> None:
    weights = found["cache-mask-top-left"].written.mistaken["decoder"].weights
    assert np.allclose(weights[..., 0], 1)
    assert found["cache-mask-top-left"].read.divergence.max() < 1e-6


def test_a_stale_cache_looks_at_the_sentence_before(found: dict[str, Effects], toy: Checkpoint) -> None:
    cross = found["stale-cross-cache"].written.mistaken["cross"]
    own, earlier = (toy.tokenizer.pieces(toy.tokenizer.encode(text)) for text in (SENTENCE, BESIDE))
    assert cross.keys == [*own, *earlier]
    assert not cross.weights[..., : len(own)].any()
    assert np.allclose(cross.mass_outside(), 1, atol=1e-5)


def test_padding_takes_weight_when_its_mask_is_missing(found: dict[str, Effects]) -> None:
    for name in ("no-source-padding-mask", "padding-on-queries"):
        mistaken = found[name].read.mistaken
        assert mistaken["cross"].keys[-4:] == ["<pad>"] * 4
        padding = mistaken["cross"].weights[..., -4:].sum(axis=-1)
        assert np.allclose(mistaken["cross"].mass_outside(), padding, atol=1e-5)
        assert padding.max() > 0.1


def test_packed_documents_see_the_one_before(found: dict[str, Effects]) -> None:
    assert outside(found["documents-mixed"].read.mistaken, "cross") > 0.3


def test_entropy_falls_without_the_scale(toy: Checkpoint, found: dict[str, Effects]) -> None:
    view = found["no-scale"].read
    right, wrong = (np.mean([one.entropy for one in head_numbers(maps)]) for maps in (view.correct, view.mistaken))
    assert wrong < right


def test_the_divergence_is_kullback_and_leiblers(toy: Checkpoint) -> None:
    """Against the two next-token distributions, each asked of the model by itself, in float64."""
    source = toy.tokenizer.encode(SENTENCE)
    one = effects(toy.model, toy.tokenizer, ["no-scale"], source)
    target = [[2, *one.correct]]
    logits = {}
    for name in ("right", "wrong"):
        toy.model.recipe = RIGHT if name == "right" else mlxdecoder.mistakes.switch_on(["no-scale"])
        logits[name] = np.array(toy.model([source], target))[0].astype(np.float64)
    toy.model.recipe = RIGHT
    p, q = (np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True) for x in (logits["right"], logits["wrong"]))
    assert one.read.divergence == pytest.approx((p * np.log(p / q)).sum(axis=-1), abs=2e-6)


def test_several_at_once_and_all_in_json(toy: Checkpoint) -> None:
    source = toy.tokenizer.encode(SENTENCE)
    one = effects(toy.model, toy.tokenizer, ["infinity-after-softmax", "no-positions", 25], source)
    told = json.loads(json.dumps(one.to_dict(), allow_nan=False))
    assert told["mistakes"] == ["infinity-after-softmax", "no-positions", "stale-cross-cache"]
    assert len(told["read"]["mistaken"]) == 24
    assert None in told["read"]["divergence"]


def test_the_first_difference_is_where_the_outputs_part(found: dict[str, Effects]) -> None:
    one = found["cache-mask-top-left"]
    step = one.first_difference
    assert step is not None
    assert one.correct[:step] == one.mistaken[:step]
    assert one.correct[step : step + 1] != one.mistaken[step : step + 1]


def test_circumstances_that_exclude_each_other_are_refused(toy: Checkpoint) -> None:
    source = toy.tokenizer.encode(SENTENCE)
    with pytest.raises(UserError, match="packing.*compare them apart"):
        effects(toy.model, toy.tokenizer, ["documents-mixed", "no-source-padding-mask"], source)


def test_a_stale_cache_shows_in_company_too(toy: Checkpoint) -> None:
    encode = toy.tokenizer.encode
    names = ["stale-cross-cache", "batch-sequence-exchanged"]
    one = effects(toy.model, toy.tokenizer, names, encode(SENTENCE), encode(BESIDE))
    assert outside(one.written.mistaken, "cross") > 0.99


def test_learned_positions_are_not_exceeded_by_a_model_that_never_stops() -> None:
    model = small("translator", positions="learned", max_length=16, target_vocab=900, dropout=0.1)
    tokenizer = mlxdecoder.load().tokenizer
    for mistake in CATALOGUE:
        one = effects(model, tokenizer, [mistake.id], tokenizer.encode(SENTENCE))
        assert len(one.correct) <= 15


def test_effects_show_themselves_in_a_notebook_and_say_how_they_were_read(found: dict[str, Effects]) -> None:
    assert "as in training" in found["no-causal-mask"]._repr_html_()
    assert "as in generation" in found["cache-mask-top-left"]._repr_html_()
    assert repr(found["no-causal-mask"]) == "Effects(no-causal-mask: the same output)"


def test_what_dropout_draws_is_the_same_each_time(toy: Checkpoint, found: dict[str, Effects]) -> None:
    encode = toy.tokenizer.encode
    again = effects(toy.model, toy.tokenizer, ["dropout-while-generating"], encode(SENTENCE), encode(BESIDE))
    np.testing.assert_array_equal(again.read.divergence, found["dropout-while-generating"].read.divergence)


def test_one_name_is_no_list_of_names(toy: Checkpoint) -> None:
    with pytest.raises(UserError, match="a list of ids"):
        compare(toy, "no-scale", SENTENCE)
