"""What is told of a generation is what the model does, whatever is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder import RIGHT, attend, beam_search, load, translate
from mlxdecoder.app.protocol import encode
from mlxdecoder.app.worker.engine import Engine
from mlxdecoder.app.worker.watching import compact
from mlxdecoder.errors import UserError
from mlxdecoder.masks import Causal, Window
from mlxdecoder.training.checkpoint import Checkpoint
from tests.app.worker.asking import SENTENCE, engine_with, generate, ids_of, recorded, tokens_of, untrained

STAGES = ("scores", "scaled", "masked", "weights")
CLOSE: dict[str, Any] = {"rtol": 2e-3, "atol": 2e-3}  # half types carry eleven bits


@pytest.fixture(scope="module")
def toy() -> Checkpoint:
    return load()


@pytest.fixture
def engine(toy: Checkpoint) -> Engine:
    return engine_with(toy)


def probabilities(checkpoint: Checkpoint, source: list[int], target: list[int]) -> np.ndarray:
    """Of every next token [T, V], from one run over all of them."""
    logits = np.array(checkpoint.model(np.array([source]), np.array([target])))[0].astype(np.float64)
    raised = np.exp(logits - logits.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def test_the_source_is_told_first_then_every_token_then_why_it_ended(engine: Engine, toy: Checkpoint) -> None:
    told = generate(engine)
    assert [message.kind for message in told] == ["source", *["token"] * (len(told) - 2), "generated"]
    assert told[0]["tokens"] == toy.tokenizer.pieces(toy.tokenizer.encode(SENTENCE))
    assert [message["step"] for message in tokens_of(told)] == list(range(len(told) - 2))
    assert told[-1]["reason"] == "stop" and told[-2]["id"] == toy.model.config.end_id
    assert told[-1]["translation"] == translate(toy, [SENTENCE])[0]


def test_the_translation_grows_with_each_token(engine: Engine) -> None:
    told = generate(engine)
    grown = [message["translation"] for message in tokens_of(told)]
    assert all(later.startswith(earlier) for earlier, later in pairwise(grown))
    assert grown[0] and grown[-1] == told[-1]["translation"]


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_rows_of_weights_sum_to_one_and_stay_inside_the_intended_mask(engine: Engine, kind: str) -> None:
    picture = recorded(generate(engine)).picture(kind, "weights")
    assert picture is not None
    np.testing.assert_allclose(picture.row_sums, 1, atol=1e-5)
    assert not picture.outside.any()


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_each_stage_step_by_step_is_that_of_the_sentence_read_at_once(
    engine: Engine, toy: Checkpoint, kind: str, stage: str
) -> None:
    told = generate(engine)
    target = [toy.model.config.begin_id, *ids_of(told)[:-1]]
    wanted = attend(toy.model, toy.tokenizer.encode(SENTENCE), target, STAGES).stage(kind, stage)
    picture = recorded(told).picture(kind, stage)
    assert picture is not None
    known = picture.intended if stage in ("scores", "scaled") else np.ones_like(picture.intended)
    np.testing.assert_allclose(picture.values[..., known], wanted[..., known], **CLOSE)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_norms_are_the_length_of_what_each_key_adds_to_the_output(kind: str) -> None:
    checkpoint = untrained(seed=3)
    told = generate(engine_with(checkpoint), max_tokens=5)
    model, side = checkpoint.model, "encoder" if kind == "encoder" else "decoder"
    attention = "cross" if kind == "cross" else "self"
    seen: dict[str, np.ndarray] = {}
    target = [model.config.begin_id, *ids_of(told)[:-1]]
    model(
        np.array([checkpoint.tokenizer.encode(SENTENCE)]),
        np.array([target]),
        watch=lambda name, array: seen.__setitem__(name, np.array(array).astype(np.float64)),
    )
    picture = recorded(told).picture(kind, "norms")
    assert picture is not None
    for layer, block in enumerate((model.encoder if kind == "encoder" else model.decoder).blocks):
        module = block.cross_attention if kind == "cross" else block.attention
        output = np.array(module.output.weight).astype(np.float64)
        for head in range(4):
            value = seen[f"{side}.{layer}.{attention}.value"][0, head // 2]  # two query heads share one
            weights = seen[f"{side}.{layer}.{attention}.weights"][0, head]
            added = weights[:, :, None] * (value @ output[4 * head : 4 * head + 4])[None]  # [T, S, d]
            np.testing.assert_allclose(picture.values[layer, head], np.linalg.norm(added, axis=-1), **CLOSE)


def test_candidates_are_the_ten_most_probable_whatever_the_sampling(engine: Engine, toy: Checkpoint) -> None:
    told = generate(engine, sampling={"temperature": 2.0, "top_k": 3, "seed": 5})
    target = [toy.model.config.begin_id, *ids_of(told)[:-1]]
    wanted = probabilities(toy, toy.tokenizer.encode(SENTENCE), target)
    for step, message in enumerate(tokens_of(told)):
        found = np.array([share for _, _, share in message["candidates"]])
        np.testing.assert_allclose(found, np.sort(wanted[step])[::-1][:10], rtol=1e-3, atol=1e-6)
        for token, text, share in message["candidates"]:
            assert share == pytest.approx(wanted[step, token], rel=1e-3, abs=1e-6)
            assert text == toy.tokenizer.pieces([token])[0]
        assert message["logprob"] == pytest.approx(np.log(wanted[step, message["id"]]), rel=1e-3, abs=1e-4)


def test_a_forced_token_is_taken_and_the_rest_goes_on_from_it(engine: Engine, toy: Checkpoint) -> None:
    free = generate(engine)
    other = tokens_of(free)[1]["candidates"][3][0]
    ids = ids_of(generate(engine, forced={"1": other}))
    assert ids[0] == ids_of(free)[0] and ids[1] == other
    wanted = probabilities(toy, toy.tokenizer.encode(SENTENCE), [toy.model.config.begin_id, *ids[:-1]])
    assert ids[2:] == wanted[2:].argmax(-1).tolist()


def test_a_forced_end_mark_ends(engine: Engine, toy: Checkpoint) -> None:
    told = generate(engine, forced={"2": toy.model.config.end_id})
    assert len(tokens_of(told)) == 3 and told[-1]["reason"] == "stop"


@pytest.mark.parametrize("forced", [{"0": 900}, {"0": -1}, {"-1": 5}, {"3": 10**9}])
def test_a_forced_token_that_does_not_exist_is_refused(engine: Engine, forced: dict[str, int]) -> None:
    with pytest.raises(UserError, match="forced: id"):
        generate(engine, forced=forced)


def test_a_seed_draws_the_same_again_and_another_one_something_else(engine: Engine) -> None:
    drawn = [ids_of(generate(engine, sampling={"temperature": 3.0, "seed": seed}, max_tokens=12)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_tokens_are_drawn_from_what_top_k_leaves(engine: Engine) -> None:
    told = generate(engine, sampling={"temperature": 5.0, "top_k": 2, "seed": 3}, max_tokens=20)
    places = [[token for token, _, _ in one["candidates"]].index(one["id"]) for one in tokens_of(told)]
    assert set(places) == {0, 1}


def test_sampling_out_of_range_is_refused(engine: Engine) -> None:
    with pytest.raises(UserError, match="top_p"):
        generate(engine, sampling={"temperature": 1.0, "top_p": 0.0})


def test_with_a_beam_the_best_hypothesis_is_told(toy: Checkpoint) -> None:
    checkpoint = untrained(seed=1)
    told = generate(engine_with(checkpoint), sampling={"beam": 5}, max_tokens=6)
    best = beam_search(checkpoint.model, [toy.tokenizer.encode(SENTENCE)], beam=5, max_tokens=6)[0][0]
    end = [checkpoint.model.config.end_id] if best.finish_reason == "stop" else []
    assert ids_of(told) == [*best.tokens, *end]
    assert sum(message["logprob"] for message in tokens_of(told)) == pytest.approx(best.logprob, rel=1e-3)
    picture = recorded(told).picture("cross", "weights")
    assert picture is not None
    np.testing.assert_allclose(picture.row_sums, 1, atol=1e-5)


def test_a_forced_token_leaves_the_beam_and_goes_on_with_the_most_probable() -> None:
    engine, beam = engine_with(untrained(seed=4)), {"sampling": {"beam": 4}, "max_tokens": 8}
    best = ids_of(generate(engine, **beam))
    ids = ids_of(generate(engine, **beam, forced={"1": 100}))
    greedy = ids_of(generate(engine, max_tokens=8, forced={"0": best[0], "1": 100}))
    assert ids[:2] == [best[0], 100] and ids == greedy
    assert ids[2:] != best[2:]  # or it would show nothing


def test_the_limit_of_tokens_ends_it(engine: Engine) -> None:
    told = generate(engine, max_tokens=2)
    assert len(tokens_of(told)) == 2 and told[-1]["reason"] == "length"


def test_mistakes_are_on_for_one_generation_and_the_mask_that_is_told_is_the_right_one(
    engine: Engine, toy: Checkpoint
) -> None:
    recording = recorded(generate(engine, mistakes=["cache-mask-top-left"], max_tokens=5))
    picture = recording.picture("decoder", "weights")
    assert picture is not None
    assert (picture.values[..., 0] == 1).all() and not picture.values[..., 1:].any()
    assert (picture.intended == np.tri(5, dtype=bool)).all()
    assert toy.model.recipe is RIGHT
    assert ids_of(generate(engine)) != [token.id for token in recording.tokens]


def test_a_mistaken_scale_shows_in_the_stages(engine: Engine) -> None:
    arrays = tokens_of(generate(engine, mistakes=["no-scale"], max_tokens=1))[0].arrays
    np.testing.assert_array_equal(arrays["cross.scaled"], arrays["cross.scores"])
    right = tokens_of(generate(engine, max_tokens=1))[0].arrays
    np.testing.assert_allclose(right["cross.scaled"], right["cross.scores"] / 4, **CLOSE)  # heads of width 16


@pytest.mark.parametrize(
    "wishes",
    [
        {"stop_after": 2},
        {"forced": {"0": 10**6}},
        {"sentence": " "},
        {"sampling": {"beam": 4}, "stop_after": 2},
    ],
)
def test_the_recipe_is_right_again_however_it_ends(engine: Engine, toy: Checkpoint, wishes: dict[str, Any]) -> None:
    try:
        generate(engine, **{"mistakes": ["no-scale"], **wishes})
    except UserError:
        assert "stop_after" not in wishes
    assert toy.model.recipe is RIGHT


def test_unknown_mistakes_are_refused(engine: Engine) -> None:
    with pytest.raises(UserError, match="not in the catalogue"):
        generate(engine, mistakes=["no-brakes"])


@pytest.mark.parametrize("after", [1, 2, 4])
def test_after_a_stop_nothing_but_the_end_is_told(engine: Engine, after: int) -> None:
    told = generate(engine, stop_after=after)
    assert len(told) == after + 1
    assert (told[-1].kind, told[-1]["reason"]) == ("generated", "stopped")


def test_a_search_is_stopped_in_its_midst(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = iter(range(10_000))
    monkeypatch.setattr("mlxdecoder.app.worker.link.Link.stopped", lambda self: next(asked) >= 50)
    told = generate(engine, sampling={"beam": 4})
    assert [message.kind for message in told] == ["generated"] and next(asked) < 60


def test_the_bytes_of_the_cache_are_those_of_its_keys_and_values(engine: Engine) -> None:
    told = generate(engine)
    slot = 2 * 2 * 64 * 4  # layers, keys and values, width, bytes of a float32
    source = len(told[0]["tokens"]) * slot
    for step, message in enumerate(tokens_of(told)):
        assert message["cache"]["read"] == (step + 1) * slot + source
        assert message["cache"]["added"] == slot + (source if step == 0 else 0)
        assert message["cache"]["held"] >= message["cache"]["read"]
        assert message["slots"] == list(range(step + 1))


def test_a_language_model_tells_its_prompt_and_only_its_own_attention() -> None:
    checkpoint = untrained("language_model")
    told = generate(engine_with(checkpoint), max_tokens=4)
    prompt = [checkpoint.model.config.begin_id, *checkpoint.tokenizer.encode(SENTENCE)]
    assert told[0]["tokens"] == [] and told[0]["prompt"] == checkpoint.tokenizer.pieces(prompt) and not told[0].arrays
    assert {name.split(".")[0] for message in tokens_of(told) for name in message.arrays} == {"decoder"}
    picture = recorded(told).picture("decoder", "weights")
    assert picture is not None
    read = [*prompt, *ids_of(told)[:-1]]
    assert list(picture.queries) == list(picture.keys) == checkpoint.tokenizer.pieces(read)
    np.testing.assert_allclose(picture.values, attend(checkpoint.model, [], read).stage("decoder"), **CLOSE)
    assert (picture.intended == np.tri(len(read), dtype=bool)).all()


def test_a_prompt_without_the_causal_mask_leaks_and_the_mask_that_is_told_says_so() -> None:
    told = generate(engine_with(untrained("language_model")), max_tokens=1, mistakes=["no-causal-mask"])
    picture = recorded(told).picture("decoder", "weights")
    assert picture is not None
    assert (picture.intended == np.tri(len(picture.queries), dtype=bool)).all()
    assert (picture.outside[:, :, :-1] > 0.01).all() and not picture.outside[:, :, -1].any()


def test_a_language_model_goes_on_from_nothing() -> None:
    assert len(tokens_of(generate(engine_with(untrained("language_model")), "", max_tokens=3))) == 3


def test_earlier_steps_of_a_language_model_hide_the_newest_rows() -> None:
    told = generate(engine_with(untrained("language_model")), max_tokens=4)
    all_rows, first = (recorded(told).picture("decoder", "weights", rows) for rows in (None, 1))
    assert all_rows is not None and first is not None
    assert len(first.queries) == len(told[0]["prompt"]) == len(all_rows.queries) - 3
    np.testing.assert_array_equal(first.values, all_rows.values[:, :, :-3, :-3])


def test_a_window_forgets_old_keys_and_says_which_are_left() -> None:
    checkpoint = untrained("language_model", window=3)
    told = generate(engine_with(checkpoint), max_tokens=6)
    first = len(told[0]["prompt"])
    assert [message["slots"] for message in tokens_of(told)[1:]] == [
        list(range(first + step - 3, first + step)) for step in range(1, 6)
    ]
    picture = recorded(told).picture("decoder", "weights")
    assert picture is not None
    np.testing.assert_allclose(picture.row_sums, 1, atol=1e-5)
    T = picture.values.shape[2]
    wanted = np.array((Causal() & Window(3)).array(T, T))[0, 0]
    assert (picture.intended == wanted).all() and not picture.outside.any()


@pytest.mark.parametrize("window", [None, 2])
def test_an_encoder_tells_its_source_alone(window: int | None) -> None:
    told = generate(engine_with(untrained("encoder", window=window)))
    assert [message.kind for message in told] == ["source", "generated"] and told[1]["reason"] == "stop"
    picture = recorded(told).picture("encoder", "weights")
    assert picture is not None
    np.testing.assert_allclose(picture.row_sums, 1, atol=1e-5)
    assert not picture.outside.any() and picture.intended.all() == (window is None)


@pytest.mark.parametrize(
    ("make", "sentence", "said"),
    [
        (untrained, " \n", "no words"),
        (lambda: untrained("encoder"), "cat " * 5000, "can be watched"),
        (untrained, "\ud800", "surrogate"),
        (lambda: untrained("encoder", image_size=8, patch_size=4), "A cat", "images"),
    ],
)
def test_what_cannot_be_read_is_refused(make: Callable[[], Checkpoint], sentence: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        generate(engine_with(make()), sentence)


def test_characters_that_the_model_has_never_seen_are_told(engine: Engine) -> None:
    assert generate(engine, "The 猫 sleeps.", max_tokens=1)[0]["unknown"] == ["猫"]


def test_weights_that_are_no_numbers_are_told_as_such(toy: Checkpoint) -> None:
    broken = untrained()
    broken.model.embedding.weight = broken.model.embedding.weight * mx.nan
    told = generate(engine_with(replace(broken, tokenizer=toy.tokenizer)), max_tokens=2)
    assert tokens_of(told)[0]["logprob"] is None
    recording = recorded(told)
    assert np.isnan(recording.tokens[0].logprob)
    assert all(share == 0 for _, _, share in recording.tokens[0].candidates)


@pytest.mark.parametrize(("largest", "kept"), [(65504.0, np.float16), (65505.0, np.float32), (-1e9, np.float32)])
def test_numbers_are_halved_only_where_they_fit(largest: float, kept: type) -> None:
    found = compact(np.array([1.0, -np.inf, np.nan, largest], np.float32))
    assert found.dtype == kept and found[3] == largest and np.isneginf(found[1]) and np.isnan(found[2])


def test_the_longest_source_that_can_be_watched_is_told_in_one_bearable_frame() -> None:
    engine = engine_with(untrained("encoder"))
    with pytest.raises(UserError) as refused:
        generate(engine, "cat " * 5000)
    most = int(str(refused.value).split("at most ")[1].split()[0].replace(",", ""))
    with pytest.raises(UserError, match=f"at most {most:,} can be watched"):
        generate(engine, "cat " * (most + 1))
    (source, *_) = generate(engine, "cat " * most, stop_after=1)
    assert len(source["tokens"]) == most
    assert 32e6 < len(encode(source)) < 64e6
