"""Folders as people have them on disk: read, or refused with a reason that names what is wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

import mlxdecoder
from mlxdecoder.errors import UserError
from tests.builders import ids, numbers
from tests.pretrained.folders import FIXTURES, WEIGHTS, change_arrays, copied, refusal, rename_arrays, set_values, shard
from tests.pretrained.judging import judge

IDS = ids(2, 7, high=24)


def logits(folder: Path) -> np.ndarray:
    model: Any = mlxdecoder.load(folder).model
    return numbers(model(IDS))


@pytest.fixture
def gpt2(tmp_path: Path) -> Path:
    return copied("gpt2", tmp_path / "gpt2")


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    return copied("llama-3", tmp_path / "llama")


def sharded(folder: Path) -> None:
    shard(folder)


def with_more_files(folder: Path) -> None:
    for name in ("pytorch_model.bin", "README.md", "flax_model.msgpack", "merges.txt", "training_args.bin"):
        (folder / name).write_bytes(b"\x80\x04 not to be opened")
    (folder / "onnx").mkdir()


def without_prefix(folder: Path) -> None:
    rename_arrays(folder, "transformer.", "")


def with_buffers(folder: Path) -> None:
    mask = mx.tril(mx.ones((1, 1, 96, 96)))
    change_arrays(folder, transformer__h__0__attn__bias=mask, transformer__h__1__attn__masked_bias=mx.array(-1e4))


def of_an_older_version(folder: Path) -> None:
    """What GPT-2's first config.json said."""
    missing = dict.fromkeys(
        ("activation_function", "n_inner", "tie_word_embeddings", "scale_attn_weights", "dtype"), ...
    )
    set_values(folder, **missing, transformers_version=..., n_ctx=96, predict_special_tokens=True)


@pytest.mark.parametrize("change", [sharded, with_more_files, without_prefix, with_buffers, of_an_older_version])
def test_is_the_same_model(gpt2: Path, change: Callable[[Path], None]) -> None:
    before = logits(gpt2)
    change(gpt2)
    np.testing.assert_array_equal(logits(gpt2), before)


def test_older_names_of_rotary_settings(llama: Path) -> None:
    before = logits(llama)
    scaling = {"type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    scaling["original_max_position_embeddings"] = 64
    set_values(llama, rope_parameters=..., rope_theta=50.0, rope_scaling=scaling)
    np.testing.assert_array_equal(logits(llama), before)


CLASSES = ("bert", "gpt2", "llama-3", "marian", "mixtral", "qwen3", "t5", "vit")


@pytest.mark.parametrize("name", CLASSES)
def test_a_folder_without_a_model_type_is_known_by_its_class(tmp_path: Path, name: str) -> None:
    folder = copied(name, tmp_path / "model")
    set_values(folder, model_type=...)
    judge(folder, dict(np.load(folder / "answers.npz")))


SLIDING = {"use_sliding_window": True, "sliding_window": 5}


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("qwen2", {**SLIDING, "layer_types": ..., "max_window_layers": 1}, "max_window_layers = 1: one window"),
        ("qwen3", {**SLIDING, "layer_types": ["sliding_attention", "full_attention"]}, "layer_types = ['sliding_att"),
        ("smollm3", {**SLIDING, "layer_types": ...}, "no_rope_layers = [1, 0]: one window for all layers is wanted"),
        ("smollm3", {"layer_types": ["full_attention", "sliding_attention"]}, "2 times full_attention is wanted"),
    ],
)
def test_a_window_of_some_layers_is_refused(tmp_path: Path, name: str, values: dict[str, Any], said: str) -> None:
    folder = copied(name, tmp_path / "model")
    set_values(folder, **values)
    assert said in refusal(folder)


def test_older_folders_say_how_often_a_layer_has_no_positions(tmp_path: Path) -> None:
    folder = copied("smollm3", tmp_path / "model")
    set_values(folder, layer_types=..., no_rope_layers=..., no_rope_layer_interval=2)
    judge(folder, dict(np.load(folder / "answers.npz")))


def test_a_folder_that_names_neither_is_refused_by_its_model_type(gpt2: Path) -> None:
    set_values(gpt2, model_type=..., architectures=...)
    message = refusal(gpt2)
    assert message.startswith(f"{gpt2 / 'config.json'}: model_type = None: one of gpt2, llama")


ALIASES = [
    ("gpt2", {"hidden_size": "n_embd", "num_attention_heads": "n_head", "num_hidden_layers": "n_layer"}),
    ("gpt2", {"max_position_embeddings": "n_positions"}),
    ("marian", {"hidden_size": "d_model", "num_hidden_layers": "encoder_layers"}),
    ("marian", {"num_attention_heads": "encoder_attention_heads"}),
    ("mixtral", {"num_experts": "num_local_experts"}),
    ("t5", {"hidden_size": "d_model", "head_dim": "d_kv"}),
    ("t5", {"num_attention_heads": "num_heads", "num_hidden_layers": "num_layers"}),
]


@pytest.mark.parametrize(("name", "aliases"), ALIASES)
class TestOtherNamesOfValues:
    def test_mean_the_same(self, tmp_path: Path, name: str, aliases: dict[str, str]) -> None:
        folder = copied(name, tmp_path / "model")
        found = json.loads((folder / "config.json").read_text())
        set_values(
            folder, **{alias: found[key] for alias, key in aliases.items()}, **dict.fromkeys(aliases.values(), ...)
        )
        judge(folder, dict(np.load(folder / "answers.npz")))

    def test_are_refused_where_both_are_there_and_differ(
        self, tmp_path: Path, name: str, aliases: dict[str, str]
    ) -> None:
        folder = copied(name, tmp_path / "model")
        found = json.loads((folder / "config.json").read_text())
        for alias, key in aliases.items():
            set_values(folder, **{alias: found[key] + 1})
            assert f"{alias} = {found[key] + 1}: it is another name of {key}, which is {found[key]}" in refusal(folder)
            set_values(folder, **{alias: found[key]})
        judge(folder, dict(np.load(folder / "answers.npz")))


class TestStoredPositionsOfMarian:
    """transformers takes them from the folder, where they are, so they have to be the sinusoids that they should be."""

    @pytest.fixture
    def marian(self, tmp_path: Path) -> Path:
        return copied("marian", tmp_path / "model")

    @staticmethod
    def waves(length: int = 96, width: int = 16) -> mx.array:
        """All sines, then all cosines, by the formula of the paper."""
        angles = [[t / 10_000 ** (2 * i / width) for i in range(width // 2)] for t in range(length)]
        return mx.array([[*map(math.sin, row), *map(math.cos, row)] for row in angles])

    @pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
    def test_are_read_over_when_they_are_right_but_for_rounding(self, marian: Path, dtype: mx.Dtype) -> None:
        waves = self.waves().astype(dtype)
        change_arrays(marian, model__encoder__embed_positions__weight=waves)
        change_arrays(marian, model__decoder__embed_positions__weight=waves)
        judge(marian, dict(np.load(marian / "answers.npz")))

    @pytest.mark.parametrize("side", ["encoder", "decoder"])
    @pytest.mark.parametrize("wrong", ["shifted", "longer", "zero", "rounded", "no number"])
    def test_are_refused_by_name_when_they_are_others(self, marian: Path, side: str, wrong: str) -> None:
        right = self.waves()
        tables = {
            "shifted": mx.concatenate([right[1:], right[:1]]),
            "longer": self.waves(97),
            "zero": mx.zeros_like(right),
            "rounded": right.astype(mx.bfloat16).astype(mx.float32),
            "no number": mx.where(mx.arange(96)[:, None] == 3, mx.nan, right),
        }
        change_arrays(marian, **{f"model__{side}__embed_positions__weight": tables[wrong]})
        message = refusal(marian)
        assert f"model.{side}.embed_positions.weight is not what its config makes of it" in message


def test_missing_weights_and_those_left_over_are_listed(gpt2: Path) -> None:
    change_arrays(gpt2, transformer__ln_f__weight=None, transformer__h__0__attn__gate=mx.ones((2,)))
    message = refusal(gpt2)
    assert "missing ln_f.weight" in message
    assert "left over transformer.h.0.attn.gate" in message


def test_a_weight_of_another_shape_is_told_with_both_shapes(gpt2: Path) -> None:
    change_arrays(gpt2, transformer__wpe__weight=mx.zeros((97, 16)))
    message = refusal(gpt2)
    assert "wpe.weight" in message
    assert "(97, 16)" in message
    assert "(96, 16)" in message


def test_weights_that_are_no_numbers_are_refused(gpt2: Path) -> None:
    change_arrays(gpt2, transformer__ln_f__weight=mx.full((16,), mx.nan))
    assert "ln_f.weight" in refusal(gpt2)


def test_a_folder_with_a_pickle_alone_is_refused_by_its_name(gpt2: Path) -> None:
    (gpt2 / WEIGHTS).rename(gpt2 / "pytorch_model.bin")
    assert "pytorch_model.bin" in refusal(gpt2)


def test_a_folder_without_weights_says_which_are_wanted(gpt2: Path) -> None:
    (gpt2 / WEIGHTS).unlink()
    assert WEIGHTS in refusal(gpt2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_numbers_are_kept_in_the_type_that_is_asked_for(dtype: Any) -> None:
    from mlxdecoder.pretrained.loading import DATA_TYPES, load_pretrained

    model: Any = load_pretrained(FIXTURES / "llama-3", dtype).model
    assert model.embedding.weight.dtype == DATA_TYPES[dtype]
    wanted = logits(FIXTURES / "llama-3")
    most = {"float32": 1e-6, "float16": 0.02, "bfloat16": 0.2}[dtype]
    assert np.abs(numbers(model(IDS)) - wanted).max() < most


def test_numbers_stay_in_the_type_of_the_folder(tmp_path: Path) -> None:
    folder = copied("qwen2", tmp_path / "model")
    arrays = mx.load(str(folder / WEIGHTS))
    mx.save_safetensors(str(folder / WEIGHTS), {name: array.astype(mx.bfloat16) for name, array in arrays.items()})
    model: Any = mlxdecoder.load(folder).model
    assert model.embedding.weight.dtype == mx.bfloat16


def test_a_model_that_overflows_in_halves_is_not_read_as_such(tmp_path: Path) -> None:
    from mlxdecoder.pretrained.loading import load_pretrained

    with pytest.raises(UserError, match="overflow in float16"):
        load_pretrained(FIXTURES / "t5", "float16")
    folder = copied("t5", tmp_path / "model")
    arrays = mx.load(str(folder / WEIGHTS))
    mx.save_safetensors(str(folder / WEIGHTS), {name: array.astype(mx.float16) for name, array in arrays.items()})
    model: Any = mlxdecoder.load(folder).model
    assert model.embedding.weight.dtype == mx.float32


def test_a_head_that_differs_from_the_embedding_that_it_is_tied_to_is_refused(gpt2: Path) -> None:
    before = logits(gpt2)
    table = mx.load(str(gpt2 / WEIGHTS))["transformer.wte.weight"]
    change_arrays(gpt2, lm_head__weight=table)
    np.testing.assert_array_equal(logits(gpt2), before)
    change_arrays(gpt2, lm_head__weight=table + 1)
    assert "lm_head.weight differs" in refusal(gpt2)


def test_an_array_with_and_without_the_prefix_is_refused(gpt2: Path) -> None:
    change_arrays(gpt2, ln_f__weight=mx.zeros((16,)))
    assert "both" in refusal(gpt2)


def test_norms_may_have_their_names_of_before_2019(tmp_path: Path) -> None:
    folder = copied("bert", tmp_path / "model")
    before = logits(folder)
    rename_arrays(folder, "LayerNorm.weight", "LayerNorm.gamma")
    rename_arrays(folder, "LayerNorm.bias", "LayerNorm.beta")
    np.testing.assert_array_equal(logits(folder), before)


class TestImport:
    def test_makes_a_checkpoint_that_says_the_same(self, tmp_path: Path, run: Any) -> None:
        status, printed, _ = run("import", FIXTURES / "mistral", "--out", tmp_path / "model")
        assert (status, "language_model" in printed) == (0, True)
        np.testing.assert_array_equal(logits(tmp_path / "model"), logits(FIXTURES / "mistral"))

    def test_refuses_to_write_over_a_folder(self, tmp_path: Path, run: Any) -> None:
        status, _, said = run("import", FIXTURES / "gpt2", "--out", tmp_path)
        assert (status, "exists already" in said) == (2, True)

    def test_takes_any_type(self, tmp_path: Path, run: Any) -> None:
        run("import", FIXTURES / "gpt2", "--out", tmp_path / "model", "--dtype", "bfloat16")
        model: Any = mlxdecoder.load(tmp_path / "model").model
        assert model.embedding.weight.dtype == mx.bfloat16
