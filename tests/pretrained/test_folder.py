"""Folders as people have them on disk: read, or refused with a reason that names what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

import mlxdecoder
from mlxdecoder.errors import UserError
from tests.builders import ids, numbers
from tests.pretrained.folders import FIXTURES, WEIGHTS, change_arrays, copied, rename_arrays, set_values, shard

IDS = ids(2, 7, high=24)


def logits(folder: Path) -> np.ndarray:
    model: Any = mlxdecoder.load(folder).model
    return numbers(model(IDS))


def refusal(folder: Path) -> str:
    with pytest.raises(UserError) as caught:
        mlxdecoder.load(folder)
    message = str(caught.value)
    assert message.count("\n") <= 1
    assert len(message) < 600
    return message


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


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("gpt2", "model_type", "gpt_unheard_of"),
        ("gpt2", "model_type", None),
        ("gpt2", "architectures", ["GPT2DoubleHeadsModel"]),
        ("gpt2", "auto_map", {"AutoModel": "modeling.GPT2"}),
        ("gpt2", "quantization_config", {"quant_method": "gptq", "bits": 4}),
        ("gpt2", "pruned_heads", {"0": [1]}),
        ("gpt2", "scale_attn_weights", False),
        ("gpt2", "scale_attn_by_inverse_layer_idx", True),
        ("gpt2", "add_cross_attention", True),
        ("gpt2", "activation_function", "mish"),
        ("gpt2", "n_layer", "2"),
        ("gpt2", "n_layer", -1),
        ("gpt2", "n_head", 3),
        ("gpt2", "vocab_size", True),
        ("gpt2", "layer_norm_epsilon", float("nan")),
        ("llama-3", "hidden_act", "tanh"),
        ("llama-3", "attention_bias", "yes"),
        ("llama-3", "partial_rotary_factor", 0.5),
        ("llama-3", "rope_scaling", "linear"),
        ("qwen2", "max_window_layers", 1),
    ],
)
def test_a_value_that_would_be_another_function_is_refused_by_name(
    tmp_path: Path, name: str, key: str, value: object
) -> None:
    folder = copied(name, tmp_path / "model")
    set_values(folder, **{key: value}, use_sliding_window=True, sliding_window=5, layer_types=...)
    message = refusal(folder)
    assert "config.json" in message
    assert key in message or key.startswith("n_")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("eos_token_id", "end"),
        ("bad_words_ids", [[3, 4]]),
        ("forced_bos_token_id", 7),
        ("begin_suppress_tokens", [3]),
    ],
)
def test_settings_of_generation_that_we_would_not_follow_are_refused(gpt2: Path, key: str, value: object) -> None:
    set_values(gpt2, "generation_config.json", **{key: value})
    assert key in refusal(gpt2)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rope_type", "longrope"),
        ("factor", None),
        ("factor", 0.5),
        ("full_attention", {"rope_type": "default"}),
        ("partial_rotary_factor", 0.25),
    ],
)
def test_rotary_settings_that_we_would_not_reproduce_are_refused(llama: Path, key: str, value: object) -> None:
    given = {"rope_type": "linear", "rope_theta": 50.0, "factor": 2.0}
    set_values(llama, rope_parameters={**given, key: value})
    assert key in refusal(llama)


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
