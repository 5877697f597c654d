"""What a folder says of generation: followed as transformers follows it, or refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

import mlxdecoder
from mlxdecoder.errors import UserError
from mlxdecoder.generate import Generation, generate
from mlxdecoder.pretrained.exporting import export
from tests.pretrained.folders import change_arrays, copied, set_values

CONFIG, GENERATION = "config.json", "generation_config.json"
END, OTHER = 2, 7
NOT_FOLLOWED = [  # a value that asks for something, and one that does not
    ("begin_suppress_tokens", [3], []),
    ("diversity_penalty", 0.5, 0.0),
    ("early_stopping", True, False),
    ("early_stopping", "never", False),
    ("encoder_no_repeat_ngram_size", 2, 0),
    ("encoder_repetition_penalty", 1.2, 1.0),
    ("exponential_decay_length_penalty", [3, 1.5], None),
    ("force_words_ids", [[3]], None),
    ("forced_bos_token_id", 7, None),
    ("forced_decoder_ids", [[1, 5]], None),
    ("guidance_scale", 1.5, 1),
    ("length_penalty", 2.0, 1.0),
    ("length_penalty", 0, 1),
    ("min_length", 5, 0),
    ("min_new_tokens", 8, None),
    ("no_repeat_ngram_size", 3, 0),
    ("num_beam_groups", 2, 1),
    ("penalty_alpha", 0.6, None),
    ("sequence_bias", [[[9], -10.0]], None),
    ("stop_strings", ["."], None),
    ("watermarking_config", {"bias": 2.0}, None),
]


def refusal(folder: Path) -> str:
    with pytest.raises(UserError) as caught:
        mlxdecoder.load(folder)
    return str(caught.value)


@pytest.fixture
def gpt2(tmp_path: Path) -> Path:
    return copied("gpt2", tmp_path / "gpt2")


@pytest.fixture
def marian(tmp_path: Path) -> Path:
    """It would say OTHER without an end."""
    return saying(OTHER, copied("marian", tmp_path / "marian"))


def saying(token: int, folder: Path) -> Path:
    bias = np.zeros((1, 24), np.float32)
    bias[0, token] = 1000
    change_arrays(folder, final_logits_bias=mx.array(bias))
    return folder


def said(folder: Path, n: int = 4) -> Generation:
    model: Any = mlxdecoder.load(folder).model
    return generate(model, [[5, 6, END]], max_tokens=n)[0]


@pytest.mark.parametrize(("key", "value", "nothing"), NOT_FOLLOWED)
class TestRulesThatAreNotFollowed:
    def test_are_refused_by_the_file_that_has_them(self, gpt2: Path, key: str, value: Any, nothing: object) -> None:
        set_values(gpt2, GENERATION, **{key: value})
        assert refusal(gpt2).startswith(f"{gpt2 / GENERATION}: {key} = {value!r}: it is not followed here; take it out")

    def test_are_refused_in_a_config_that_is_alone(self, gpt2: Path, key: str, value: Any, nothing: object) -> None:
        (gpt2 / GENERATION).unlink()
        set_values(gpt2, **{key: value})
        assert refusal(gpt2).startswith(f"{gpt2 / CONFIG}: {key} = {value!r}: it is not followed here; take it out")

    def test_may_stand_in_a_config_that_is_not_asked(self, gpt2: Path, key: str, value: Any, nothing: object) -> None:
        set_values(gpt2, **{key: value})
        mlxdecoder.load(gpt2)

    def test_may_ask_for_nothing(self, gpt2: Path, key: str, value: Any, nothing: object) -> None:
        set_values(gpt2, GENERATION, **{key: nothing})
        mlxdecoder.load(gpt2)


class TestOneFileAloneIsAsked:
    def test_a_ban(self, marian: Path) -> None:
        assert said(marian).tokens == [OTHER] * 3
        set_values(marian, bad_words_ids=[[OTHER]])
        assert said(marian).tokens == [OTHER] * 3
        (marian / GENERATION).unlink()
        assert OTHER not in said(marian).tokens

    def test_a_forced_end(self, marian: Path) -> None:
        assert said(marian).finish_reason == "stop"
        set_values(marian, GENERATION, forced_eos_token_id=...)
        assert (said(marian).finish_reason, said(marian).tokens) == ("length", [OTHER] * 4)
        (marian / GENERATION).unlink()
        assert said(marian).finish_reason == "stop"
        set_values(marian, forced_eos_token_id=...)
        assert (said(marian).finish_reason, said(marian).tokens) == ("length", [OTHER] * 4)

    def test_the_end_marks(self, marian: Path) -> None:
        set_values(marian, GENERATION, eos_token_id=[END, OTHER])
        assert (said(marian).finish_reason, said(marian).tokens) == ("stop", [])
        (marian / GENERATION).unlink()
        assert said(marian).tokens == [OTHER] * 3

    def test_what_a_model_computes_is_not_its_matter(self, gpt2: Path) -> None:
        set_values(gpt2, GENERATION, scale_attn_weights=None, quantization_config=None)
        set_values(gpt2, scale_attn_weights=False)
        assert refusal(gpt2).startswith(f"{gpt2 / CONFIG}: scale_attn_weights = False: True is all")
        set_values(gpt2, scale_attn_weights=True, quantization_config={"bits": 4})
        assert refusal(gpt2).startswith(f"{gpt2 / CONFIG}: quantization_config = ")


class TestEndMarks:
    @pytest.mark.parametrize("name", ["gpt2", "llama-3", "mixtral", "marian", "qwen2", "t5"])
    @pytest.mark.parametrize("file", [CONFIG, GENERATION])
    @pytest.mark.parametrize("value", [None, ..., [], -1])
    def test_have_to_be_said(self, tmp_path: Path, name: str, file: str, value: Any) -> None:
        folder = copied(name, tmp_path / "model")
        if file == CONFIG:
            (folder / GENERATION).unlink()
        set_values(folder, file, eos_token_id=value)
        message = refusal(folder)
        assert message.startswith(f"{folder / file}: eos_token_id = ")
        assert "generation would never end; write the id of the end mark into this file" in message

    @pytest.mark.parametrize("name", ["bert", "vit"])
    def test_an_encoder_needs_none(self, tmp_path: Path, name: str) -> None:
        folder = copied(name, tmp_path / "model")
        set_values(folder, eos_token_id=...)
        mlxdecoder.load(folder)

    def test_bad_words_do_not_ban_them(self, marian: Path) -> None:
        saying(END, marian)
        set_values(marian, GENERATION, bad_words_ids=[[END], [23]])
        assert (said(marian).finish_reason, said(marian).tokens) == ("stop", [])

    @pytest.mark.parametrize("forced", [OTHER, [END, OTHER]])
    def test_no_other_one_is_forced(self, marian: Path, forced: object) -> None:
        set_values(marian, GENERATION, forced_eos_token_id=forced)
        message = refusal(marian)
        assert message.startswith(f"{marian / GENERATION}: forced_eos_token_id = {forced}: an end mark is wanted (2)")


class TestStarts:
    def test_a_translation_begins_with_bos_where_it_has_no_start(self, marian: Path) -> None:
        set_values(marian, GENERATION, decoder_start_token_id=..., bos_token_id=5)
        assert mlxdecoder.load(marian).model.config.begin_id == 5

    @pytest.mark.parametrize("name", ["marian", "t5"])
    def test_a_translation_that_could_not_begin_is_refused(self, tmp_path: Path, name: str) -> None:
        folder = copied(name, tmp_path / "model")
        set_values(folder, GENERATION, decoder_start_token_id=..., bos_token_id=...)
        message = refusal(folder)
        assert message.startswith(
            f"{folder / GENERATION}: decoder_start_token_id = None: a translation could not begin"
        )

    def test_the_first_mark_of_a_language_model_may_be_in_either_file(self, gpt2: Path) -> None:
        set_values(gpt2, GENERATION, bos_token_id=...)
        set_values(gpt2, bos_token_id=9)
        assert mlxdecoder.load(gpt2).model.config.begin_id == 9

    def test_more_than_one_are_refused(self, gpt2: Path) -> None:
        set_values(gpt2, GENERATION, bos_token_id=[1, 5])
        assert refusal(gpt2) == f"{gpt2 / GENERATION}: bos_token_id = [1, 5]: one id is wanted."


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("eos_token_id", "end"),
        ("eos_token_id", [2, 24]),
        ("eos_token_id", 2.0),
        ("eos_token_id", True),
        ("bos_token_id", 24),
        ("bad_words_ids", [[3, 4]]),
        ("bad_words_ids", [[10**12]]),
        ("suppress_tokens", [3, 24]),
        ("forced_eos_token_id", "2"),
    ],
)
def test_ids_have_to_be_those_of_the_vocabulary(gpt2: Path, key: str, value: Any) -> None:
    set_values(gpt2, GENERATION, **{key: value})
    wanted = "single ids below the vocabulary's size of 24 are wanted"
    assert refusal(gpt2) == f"{gpt2 / GENERATION}: {key} = {value!r}: {wanted}."


@pytest.mark.parametrize("pad", [None, -1, 24])
def test_the_end_mark_fills_up_where_there_is_no_padding(gpt2: Path, pad: int | None) -> None:
    set_values(gpt2, GENERATION, pad_token_id=pad)
    assert mlxdecoder.load(gpt2).model.config.pad_id == END


class TestRepetitionPenalty:
    @pytest.mark.parametrize(("value", "wanted"), [(1.1, 1.1), (None, 1.0), (1, 1.0), (..., 1.0)])
    def test_is_read(self, gpt2: Path, value: Any, wanted: float) -> None:
        set_values(gpt2, GENERATION, repetition_penalty=value)
        assert mlxdecoder.load(gpt2).model.config.repetition_penalty == wanted

    @pytest.mark.parametrize(
        ("value", "reason"), [(0, "above 0"), (-1.5, "above 0"), ("high", "a finite number"), (True, "a finite number")]
    )
    def test_is_refused_out_of_range(self, gpt2: Path, value: Any, reason: str) -> None:
        set_values(gpt2, GENERATION, repetition_penalty=value)
        assert refusal(gpt2) == f"{gpt2 / GENERATION}: repetition_penalty = {value!r}: {reason} is wanted."

    def test_is_written(self, gpt2: Path, tmp_path: Path) -> None:
        set_values(gpt2, GENERATION, repetition_penalty=1.1)
        export(mlxdecoder.load(gpt2), tmp_path / "out")
        assert json.loads((tmp_path / "out" / GENERATION).read_text())["repetition_penalty"] == 1.1
