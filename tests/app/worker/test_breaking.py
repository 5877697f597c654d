"""What is told of a mistake is true of the model at hand: maps, translations, verdicts, the diagnosis."""

from __future__ import annotations

import numpy as np
import pytest

from mlxdecoder import RIGHT, load, translate
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.worker.engine import Engine
from mlxdecoder.errors import UserError
from mlxdecoder.mistakes import MISTAKES, find
from mlxdecoder.training.checkpoint import Checkpoint
from tests.app.worker.asking import SENTENCE, ask, engine_with, untrained

LONGER = "The black cat sees the old woman."
KINDS = ("encoder", "decoder", "cross")
ROUNDING = 2e-3  # of half types


@pytest.fixture(scope="module")
def toy() -> Checkpoint:
    return load()


@pytest.fixture
def engine(toy: Checkpoint) -> Engine:
    return engine_with(toy)


def compared(engine: Engine, *mistakes: str, sentence: str = SENTENCE) -> Message:
    (told,) = ask(engine, "compare", sentence=sentence, mistakes=list(mistakes))
    return told


def outside(told: Message, kind: str, side: str) -> np.ndarray:
    """The weight on keys that the intended mask forbids [L, H, T]."""
    return np.where(told.arrays[f"{kind}.intended"], 0.0, told.arrays[f"{kind}.{side}"]).sum(-1)


def test_both_sides_are_of_the_same_tokens_and_fit_their_labels(engine: Engine) -> None:
    told = compared(engine, "no-causal-mask")
    for kind in KINDS:
        T, S = len(told["queries"][kind]), len(told["keys"][kind])
        assert told.arrays[f"{kind}.right"].shape == told.arrays[f"{kind}.wrong"].shape == (2, 4, T, S)
        assert told.arrays[f"{kind}.intended"].shape == (T, S)


def test_the_right_side_is_right_and_the_wrong_side_leaks(engine: Engine) -> None:
    told = compared(engine, "no-causal-mask")
    assert outside(told, "decoder", "right").max() == 0
    assert outside(told, "decoder", "wrong").max() > 0.9
    assert told["translations"] == [translate(engine.checkpoint, [SENTENCE])[0]] * 2
    assert told["first_difference"] is None and "at once" in told["how"]


def test_rows_that_do_not_sum_to_one_are_told_as_they_are(engine: Engine) -> None:
    told = compared(engine, "zeroed-after-softmax")
    sums = {side: told.arrays[f"decoder.{side}"].astype(np.float64).sum(-1) for side in ("right", "wrong")}
    assert np.abs(sums["right"] - 1).max() < ROUNDING
    assert sums["wrong"][:, :, 0].min() < 0.1 and outside(told, "decoder", "wrong").max() == 0


def test_a_map_with_infinities_comes_over_the_pipe(engine: Engine) -> None:
    told = compared(engine, "infinity-after-softmax")
    assert np.isneginf(told.arrays["decoder.wrong"]).any() and np.isfinite(told.arrays["decoder.right"]).all()


def test_a_mistake_of_the_cache_is_told_as_it_is_written(engine: Engine) -> None:
    told = compared(engine, "cache-mask-top-left")
    assert "token by token" in told["how"] and told["first_difference"] is not None
    np.testing.assert_allclose(told.arrays["decoder.wrong"][..., 0], 1.0, atol=ROUNDING)


def test_the_sentence_before_is_another_one_and_is_what_is_translated(engine: Engine) -> None:
    told = compared(engine, "stale-cross-cache")
    assert told["translations"][1] == translate(engine.checkpoint, ["The small dogs sleep."])[0]
    other = compared(engine, "stale-cross-cache", sentence="The small dogs sleep.")
    assert other["translations"][0] != other["translations"][1]


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        ("no-causal-mask", "one token at a time"),
        ("no-source-padding-mask", "the sentence is padded"),
        ("documents-mixed", "packed in front"),
        ("labels-unshifted", "train a twin"),
        ("heads-tiled", "share no keys"),
    ],
)
def test_notes_say_what_was_made_for_a_mistake_or_why_nothing_shows(engine: Engine, mistake: str, words: str) -> None:
    assert words in " ".join(compared(engine, mistake)["notes"])


def test_nothing_is_noted_where_translations_differ_or_heatmaps_agree(engine: Engine) -> None:
    assert compared(engine, "heads-without-transpose", sentence=LONGER)["notes"] == []
    assert compared(engine, "zeroed-and-renormalised")["notes"] == []


def test_characters_that_the_model_has_never_seen_are_named(engine: Engine) -> None:
    assert any("猫" in note for note in compared(engine, "no-scale", sentence="The 猫 sleeps.")["notes"])


@pytest.mark.parametrize("kind", ["compare", "verdict", "diagnose"])
def test_afterwards_the_model_is_right_again(engine: Engine, kind: str) -> None:
    ask(engine, kind, sentence=SENTENCE, mistakes=["no-scale"], of="no-scale")
    assert engine.checkpoint.model.recipe is RIGHT


def test_a_model_that_writes_nothing_is_not_compared() -> None:
    with pytest.raises(UserError, match="an encoder, which writes nothing"):
        compared(engine_with(untrained("encoder")), "no-causal-mask")


def test_of_a_language_model_the_prompt_and_what_it_writes_are_compared() -> None:
    engine = engine_with(untrained("language_model"))
    told = compared(engine, "no-causal-mask")
    assert set(told["queries"]) == {"decoder"}
    assert told["queries"]["decoder"][:5] == [
        "<s>",
        *engine.checkpoint.tokenizer.pieces(engine.checkpoint.read(SENTENCE)[1:5]),
    ]
    assert outside(told, "decoder", "right").max() == 0
    assert outside(told, "decoder", "wrong").max() > 0.1
    assert told["notes"] == []


@pytest.mark.parametrize("mistake", ["causal-cross-attention", "stale-cross-cache", "no-source-padding-mask"])
def test_a_language_model_has_no_use_for_mistakes_about_a_source(mistake: str) -> None:
    told = compared(engine_with(untrained("language_model")), mistake)
    assert len(told["notes"]) == 1 and find(mistake).title in told["notes"][0] and "not applicable" in told["notes"][0]
    np.testing.assert_array_equal(told.arrays["decoder.right"], told.arrays["decoder.wrong"])


@pytest.mark.parametrize(("mistakes", "words"), [([], "none is on"), (["no-such"], "no-such")])
def test_a_comparison_needs_mistakes_that_there_are(engine: Engine, mistakes: list[str], words: str) -> None:
    with pytest.raises(UserError, match=words):
        compared(engine, *mistakes)


def verdict(engine: Engine, of: str, *mistakes: str) -> list[dict[str, object]]:
    (told,) = ask(engine, "verdict", of=of, mistakes=list(mistakes))
    return told["contracts"]


@pytest.mark.parametrize(
    "of", ["causal-transposed", "no-scale", "zeroed-after-softmax", "stale-cross-cache", "no-end-mark", "no-positions"]
)
def test_a_contract_finds_its_mistake_when_it_is_on_and_nothing_when_it_is_off(engine: Engine, of: str) -> None:
    broken, whole = verdict(engine, of, of), verdict(engine, of)
    assert {contract["name"] for contract in broken} == set(find(of).contracts)
    assert any(contract["holds"] is False for contract in broken)
    assert all(contract["holds"] is not False for contract in whole)
    assert all(contract["proof"] and contract["states"] for contract in broken)


@pytest.mark.slow
@pytest.mark.parametrize("of", [mistake.id for mistake in MISTAKES])
def test_every_mistake_is_found_on_the_packaged_model(engine: Engine, of: str) -> None:
    assert any(contract["holds"] is False for contract in verdict(engine, of, of))


def test_a_verdict_is_about_the_mistakes_that_are_on_and_not_about_the_card(engine: Engine) -> None:
    assert all(contract["holds"] for contract in verdict(engine, "no-scale", "no-end-mark"))


def test_a_contract_that_a_model_cannot_be_asked_is_said_to_be_untried() -> None:
    (told,) = verdict(engine_with(untrained("language_model")), "causal-cross-attention")
    assert told["holds"] is None and "language model" in str(told["proof"])


def test_what_is_harmless_has_no_contract(engine: Engine) -> None:
    assert verdict(engine, "zeroed-and-renormalised", "zeroed-and-renormalised") == []


@pytest.mark.parametrize("mistake", ["causal-transposed", "no-scale", "labels-shifted-twice", "cache-mask-top-left"])
def test_the_diagnosis_names_the_mistake_first(engine: Engine, mistake: str) -> None:
    (told,) = ask(engine, "diagnose", mistakes=[mistake])
    assert not told["holds"] and told["suspects"][0]["id"] == mistake
    assert find(mistake).title in told["text"] and told["suspects"][0]["why"]


@pytest.mark.parametrize("architecture", ["language_model", "encoder"])
def test_other_models_can_be_diagnosed_too(architecture: str) -> None:
    (told,) = ask(engine_with(untrained(architecture)), "diagnose", mistakes=["zeroed-after-softmax"])
    assert "zeroed-after-softmax" in [suspect["id"] for suspect in told["suspects"]]


def test_a_right_model_has_no_suspects(engine: Engine) -> None:
    (told,) = ask(engine, "diagnose", mistakes=[])
    assert told["holds"] and told["suspects"] == []
