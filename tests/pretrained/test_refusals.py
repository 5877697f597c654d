"""Values of a config.json that we would not reproduce, or that no model could have: refused by their own names."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from tests.pretrained.folders import copied, refusal, set_values

TRAINED = "original_max_position_embeddings"


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    return copied("llama-3", tmp_path / "llama")


@pytest.mark.parametrize(
    ("name", "key", "value", "reason"),
    [
        ("gpt2", "model_type", "gpt_unheard_of", "one of gpt2, llama"),
        ("gpt2", "model_type", None, "one of gpt2, llama"),
        ("gpt2", "model_type", ["gpt2"], "one of gpt2, llama"),
        ("gpt2", "architectures", ["GPT2DoubleHeadsModel"], "known are GPT2LMHeadModel"),
        ("gpt2", "architectures", [["GPT2LMHeadModel"]], "known are GPT2LMHeadModel"),
        ("gpt2", "auto_map", {"AutoModel": "modeling.GPT2"}, "{} is all that can be reproduced"),
        ("gpt2", "quantization_config", {"quant_method": "gptq", "bits": 4}, "none is all"),
        ("gpt2", "pruned_heads", {"0": [1]}, "{} is all"),
        ("gpt2", "scale_attn_weights", False, "True is all"),
        ("gpt2", "scale_attn_by_inverse_layer_idx", True, "False is all"),
        ("gpt2", "add_cross_attention", True, "False is all"),
        ("gpt2", "activation_function", "mish", "known are gelu_new"),
        ("gpt2", "n_layer", "2", "a whole number is wanted"),
        ("gpt2", "n_layer", -1, "at least 1"),
        ("gpt2", "n_head", 3, "a divisor of n_embd = 16"),
        ("mixtral", "num_key_value_heads", 3, "a divisor of num_attention_heads = 4"),
        ("mixtral", "num_experts_per_tok", 5, "at most num_local_experts = 4"),
        ("t5", "num_layers", 10**7, "at most 1,000 layers are built"),
        ("vit", "patch_size", 5, "a divisor of image_size = 12"),
        ("gpt2", "vocab_size", True, "a whole number is wanted"),
        ("gpt2", "layer_norm_epsilon", float("nan"), "a finite number is wanted"),
        ("llama-3", "hidden_act", "tanh", "known are silu"),
        ("llama-3", "attention_bias", "yes", "true or false is wanted"),
        ("llama-3", "partial_rotary_factor", 0.5, "1 or 1.0 is all"),
        ("llama-3", "rope_scaling", "linear", "an object is wanted"),
        ("qwen2", "layer_types", ["full_attention"], "2 times full_attention or sliding_attention is wanted"),
        ("qwen2", "layer_types", ["full_attention", "chunked_attention"], "2 times full_attention or sliding"),
        ("qwen2", "layer_types", ["full_attention", ["sliding_attention"]], "2 times full_attention or sliding"),
        ("qwen2", "layer_types", {"full_attention": 2}, "2 times full_attention or sliding_attention is wanted"),
        ("smollm3", "no_rope_layers", [1, 2], "2 times 1 or 0 is wanted"),
        ("smollm3", "no_rope_layers", [0], "2 times 1 or 0 is wanted"),
        ("smollm3", "no_rope_layer_interval", 0, "at least 1 is wanted"),
        ("smollm3", "sliding_window", 0, "at least 1"),
        ("smollm3", "num_hidden_layers", 10**9, "at most 1,000 layers are built"),
        ("qwen3", "num_hidden_layers", 10**9, "at most 1,000 layers are built"),
        ("bert", "type_vocab_size", 10**12, "at most 2,147,483,647 is wanted"),
        ("vit", "num_channels", 10**12, "at most 2,147,483,647 is wanted"),
        ("vit", "image_size", 10**9, "at most 2,147,483,647 patches are wanted"),
        ("vit", "patch_size", 10**6, "at most 2,147,483,647 numbers in a patch"),
    ],
)
def test_a_value_that_would_be_another_function_is_refused_by_name(
    tmp_path: Path, name: str, key: str, value: object, reason: str
) -> None:
    folder = copied(name, tmp_path / "model")
    size = 10**6 if value == 10**6 else 12
    more = {"use_sliding_window": True, "sliding_window": 5, "layer_types": ..., "image_size": size}
    if key == "no_rope_layer_interval":
        more["no_rope_layers"] = ...
    set_values(folder, **(more | {key: value}))
    message = refusal(folder)
    assert message.startswith(f"{folder / 'config.json'}: {key}")
    assert reason in message


@pytest.mark.parametrize(
    ("given", "named", "reason"),
    [
        ({"rope_type": "longrope"}, "rope_type", "known are default"),
        ({"factor": None}, "factor", "a finite number is wanted"),
        ({"factor": 0.5}, "rope_parameters: factor = 0.5", "at least 1"),
        ({"factor": 0}, "rope_parameters: factor = 0", "at least 1"),
        ({"rope_theta": 0}, "rope_parameters: rope_theta = 0", "above 1"),
        ({"rope_type": "yarn", "factor": 0}, "rope_parameters: factor = 0", "at least 1"),
        ({"rope_type": "yarn", "attention_factor": 0}, "rope_parameters: attention_factor = 0", "above 0"),
        ({"rope_type": "yarn", "factor": 0, "mscale": 1.0, "mscale_all_dim": 1.0}, "factor", "at least 1"),
        ({"rope_type": "yarn", "mscale": 1.0, "mscale_all_dim": -10 / math.log(2)}, "mscale_all_dim", "at least 0"),
        ({"rope_type": "yarn", "beta_slow": 0}, "rope_parameters: beta_slow = 0", "above 0"),
        ({"rope_type": "yarn", "beta_fast": 1}, "rope_parameters: beta_fast = 1", "above 1"),
        ({"rope_type": "llama3", "low_freq_factor": 0}, "rope_parameters: low_freq_factor = 0", "above 0"),
        ({"rope_type": "llama3", "low_freq_factor": 2, "high_freq_factor": 2}, "high_freq_factor = 2", "above 2"),
        ({"rope_type": "yarn", TRAINED: 0, "factor": None}, f"{TRAINED} = 0", "at least 1"),
        ({"full_attention": {"rope_type": "default"}}, "full_attention", "the same positions in every layer"),
        ({"partial_rotary_factor": 0.25}, "partial_rotary_factor", "1 or 1.0 is all"),
    ],
)
def test_rotary_settings_that_we_would_not_reproduce_are_refused(
    llama: Path, given: dict[str, Any], named: str, reason: str
) -> None:
    set_values(llama, rope_parameters={"rope_type": "linear", "rope_theta": 50.0, "factor": 2.0, **given})
    message = refusal(llama)
    assert message.startswith(f"{llama / 'config.json'}")
    assert named in message
    assert reason in message


def test_an_older_base_of_rotary_positions_is_refused_by_its_own_name(llama: Path) -> None:
    set_values(llama, rope_parameters=..., rope_theta=1)
    assert refusal(llama) == f"{llama / 'config.json'}: rope_theta = 1: above 1 is wanted."


RANGES = {
    "gpt2": "vocab_size n_embd n_head n_layer n_positions n_inner layer_norm_epsilon resid_pdrop attn_pdrop",
    "llama-3": "hidden_size num_attention_heads num_key_value_heads head_dim intermediate_size num_hidden_layers "
    "max_position_embeddings rms_norm_eps vocab_size attention_dropout",
    "mistral": "sliding_window",
    "mixtral": "num_local_experts num_experts_per_tok num_hidden_layers",
    "marian": "vocab_size d_model encoder_layers decoder_layers max_position_embeddings dropout attention_dropout",
    "t5": "vocab_size d_model d_kv d_ff num_layers num_decoder_layers num_heads layer_norm_epsilon dropout_rate",
    "bert": "vocab_size type_vocab_size hidden_size num_hidden_layers num_attention_heads intermediate_size "
    "max_position_embeddings layer_norm_eps hidden_dropout_prob attention_probs_dropout_prob",
    "vit": "image_size num_channels patch_size hidden_size num_hidden_layers intermediate_size layer_norm_eps",
}


@pytest.mark.parametrize(("name", "key"), [(name, key) for name, keys in RANGES.items() for key in keys.split()])
def test_a_number_out_of_range_is_refused_by_the_name_that_it_has_in_the_file(
    tmp_path: Path, name: str, key: str
) -> None:
    folder = copied(name, tmp_path / "model")
    set_values(folder, **{key: -1})
    assert refusal(folder).startswith(f"{folder / 'config.json'}: {key} = -1")


def test_more_than_the_weights_hold_is_told_in_the_words_of_the_file(tmp_path: Path) -> None:
    folder = copied("gpt2", tmp_path / "gpt2")
    set_values(folder, n_layer=3)
    assert "(n_layer = 3, n_embd = 16), but the weights hold" in refusal(folder)
