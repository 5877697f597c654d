"""Every architecture of mlx-lm with a few thousand random weights.

`COMMON` gives the tiny sizes under all the names that they have in configurations, `SPECIAL` what an architecture wants
besides, or otherwise. Windows, chunks and the like are shorter than the questions of the contracts, so that they count.
"""

from __future__ import annotations

import copy
import dataclasses
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import mlx.core as mx
from mlx import nn
from mlx.utils import tree_flatten, tree_map

Config = dict[str, Any]

VOCABULARY, WINDOW = 64, 5
MOST_WEIGHTS = 200_000  # what is larger has sizes that COMMON does not know

SIZES = {
    "vocab_size num_vocab embedding_size vocab_size_per_layer_input": VOCABULARY,
    "hidden_size n_embd d_model model_dim hidden_dim block_dim": 32,
    "intermediate_size n_inner intermediate_size_mlp dense_intermediate_size block_ff_dim mlp_hidden_size": 48,
    "ffn_hidden_size ff_intermediate_size": 48,
    "num_hidden_layers num_layers n_layers n_layer num_transformer_layers": 2,
    "num_attention_heads num_heads n_heads n_head swa_num_attention_heads num_swa_attention_heads": 4,
    "num_key_value_heads num_kv_heads n_kv_heads num_attention_groups n_shared_head swa_num_key_value_heads": 2,
    "num_swa_key_value_heads": 2,
    "head_dim v_head_dim kv_channels hidden_size_per_head swa_head_dim swa_v_head_dim qk_head_dim": 8,
    "kv_lora_rank q_lora_rank": 16,
    "qk_rope_head_dim qk_nope_head_dim rotary_dim": 4,
    "index_head_dim": 8,
    "index_n_heads": 2,
    "index_topk": 4,
    "max_position_embeddings n_positions n_ctx block_size model_max_length": 512,
    "sliding_window window_size attention_window_size sliding_window_size loop_window_size": WINDOW,
    "sliding_window_pattern": 2,
    "rms_norm_eps norm_eps layer_norm_eps layer_norm_epsilon layernorm_epsilon norm_epsilon post_norm_eps": 1e-5,
    "rope_theta swa_rope_theta rotary_emb_base rope_local_base_freq": 10000.0,
    "partial_rotary_factor rotary_pct": 0.5,
    "rope_scaling": None,
    "tie_word_embeddings attention_bias mlp_bias use_bias mamba_proj_bias post_norm": False,
    "use_conv_bias conv_bias mamba_conv_bias use_qk_norm qk_norm use_qkv_bias norm_topk_prob": True,
}
EXPERTS = {
    "num_experts num_local_experts n_routed_experts moe_num_experts": 4,
    "num_experts_per_tok num_experts_per_token moe_topk moe_k moe_top_k top_k_experts zero_expert_num": 2,
    "n_shared_experts num_shared_experts num_shared_expert moe_num_shared_experts first_k_dense_replace": 1,
    "num_dense_layers": 1,
    "moe_intermediate_size shared_expert_intermediate_size shared_intermediate_size share_expert_dim": 24,
    "moe_shared_expert_intermediate_size expert_ffn_hidden_size": 24,
    "n_group topk_group num_expert_group moe_layer_freq decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "routed_scaling_factor": 1.5,
    "topk_method": "noaux_tc",
    "scoring_func": "sigmoid",
}
RECURRENCE = {
    "linear_num_value_heads mamba_n_heads mamba_num_heads": 4,
    "linear_num_key_heads mamba_expand": 2,
    "linear_key_head_dim linear_value_head_dim mamba_d_head mamba_head_dim": 8,
    "mamba_d_state state_size ssm_state_size": 8,
    "mamba_d_ssm": 32,
    "conv_kernel linear_conv_kernel_dim mamba_d_conv conv1d_width mamba_chunk_size time_step_rank": 4,
    "mamba_n_groups n_groups": 1,
    "layer_group_size group_norm_size": 2,
    "a_low_rank_dim v_low_rank_dim gate_low_rank_dim decay_low_rank_dim": 8,
    "conv_L_cache": 3,
    "linear_allow_neg_eigval": True,
}
MULTIPLIERS = {"logits_scaling embedding_multiplier scale_emb": 2.0, "attention_multiplier residual_multiplier": 0.4}
COMMON: Config = {
    name: value
    for table in (SIZES, EXPERTS, RECURRENCE, MULTIPLIERS)
    for names, value in table.items()
    for name in names.split()
}

# fmt: off
BOTH = ["sliding_attention", "full_attention"]
ROPE = {"rope_type": "default", "type": "default", "rope_theta": 10000.0}
HALF_ROPE = {**ROPE, "partial_rotary_factor": 0.5}
YARN = {
    "rope_type": "yarn", "type": "yarn", "rope_theta": 10000.0, "factor": 2.0, "llama_4_scaling_beta": 0.1,
    "original_max_position_embeddings": 8, "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
}
KDA = {"kda_layers": [1], "full_attn_layers": [2], "head_dim": 8, "num_heads": 4, "short_conv_kernel_size": 4}
DENSE = {"ffn_mult": 1.0, "no_op": False, "replace_with_linear": False}

SPECIAL: dict[str, Config] = {
    "afm7": {"num_kv_reuse_layers": 1},
    "afmoe": {"layer_types": BOTH},
    "baichuan_m1": {"sliding_window_layers": [0], "conv_window": 2},
    "bailing_hybrid": {"num_hidden_layers": 4},
    "bailing_moe_linear": {"num_hidden_layers": 4},
    "bailing_moe_v3": {"num_hidden_layers": 4},
    "dbrx": {
        "ffn_config": {"ffn_hidden_size": 48, "moe_num_experts": 4, "moe_top_k": 2},
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 10000.0},
    },
    "deepseek_v2": {"rope_scaling": YARN, "topk_method": "group_limited_greedy"},
    "deepseek_v41": {
        "num_hidden_layers": 4, "o_groups": 2, "o_lora_rank": 8, "scoring_func": "sqrtsoftplus",
        "compress_ratios": [0, 2, 2, 2], "kv_source_layer_ids": [1, 3], "index_source_layer_ids": [1, 3],
        "candidate_source_layer_id": 1, "candidate_topk_blocks": 2, "candidate_block_size": 2,
    },
    "exaone4": {"sliding_window_pattern": "LG"},
    "exaone_moe": {"layer_types": BOTH, "is_moe_layer": [False, True]},
    "gear": {"num_hidden_layers": 3, "layer_types": ["conv_mixer", *BOTH], "attn_logit_softcapping": 20.0},
    "gemma3n": {
        "num_hidden_layers": 4, "layer_types": 2 * BOTH, "num_kv_shared_layers": 2,
        "hidden_size_per_layer_input": 8, "activation_sparsity_pattern": [0.5, 0.0, 0.0, 0.0], "laurel_rank": 4,
        "altup_num_inputs": 2, "altup_coef_clip": 120.0, "altup_correct_scale": True, "altup_active_idx": 0,
        "final_logit_softcapping": 30.0,
    },
    "gemma4_text": {
        "num_hidden_layers": 4, "num_kv_shared_layers": 2, "hidden_size_per_layer_input": 8,
        "global_head_dim": 16, "num_global_key_value_heads": 1, "enable_moe_block": True,
    },
    "glm_moe_dsa": {"rope_parameters": ROPE},
    "gpt_oss": {"layer_types": BOTH},
    "granitemoehybrid": {"layer_types": ["mamba", "attention"]},
    "hunyuan": {
        "use_mixed_mlp_moe": True, "use_cla": True, "cla_share_factor": 2,
        "rope_scaling": {"type": "dynamic", "alpha": 1000.0, "factor": 1.0},
    },
    "jamba": {
        "attn_layer_offset": 1, "attn_layer_period": 2,
        "expert_layer_offset": 1, "expert_layer_period": 2,
    },
    "kimi_k3": {
        "linear_attn_config": KDA, "attn_res_block_size": 1, "mla_use_output_gate": True,
        "routed_expert_hidden_size": 16, "latent_moe_use_norm": True, "activation_situ_beta": 4.0,
    },
    "kimi_linear": {"linear_attn_config": KDA},
    "laguna": {"layer_types": BOTH, "mlp_layer_types": ["dense", "sparse"], "num_attention_heads_per_layer": [4, 2]},
    "lfm2": {
        "full_attn_idxs": [1],
        "block_multiple_of": 8, "block_ffn_dim_multiplier": 1.0, "block_auto_adjust_ff_dim": True,
    },
    "lfm2_moe": {"full_attn_idxs": [1], "use_expert_bias": True},
    "lille-130m": {"n_embd": 64},  # its feed-forward layer has a multiple of 256 units: none, for fewer
    "llama": {"layer_types": BOTH},
    "llama4": {
        "num_hidden_layers": 4, "attention_chunk_size": 6, "interleave_moe_layer_step": 2,
        "num_experts_per_tok": 1,
    },
    "llama4_text": {"num_hidden_layers": 4, "no_rope_layers": [1, 1, 1, 0]},
    "longcat_flash": {
        "attention_method": "MLA", "zero_expert_type": "identity",
        "mla_scale_q_lora": True, "mla_scale_kv_lora": True,
    },
    "longcat_flash_ngram": {"mla_scale_q_lora": True, "mla_scale_kv_lora": True},
    "mamba2": {"time_step_limit": [0.001, 100.0]},
    "mellum": {"layer_types": BOTH, "rope_parameters": dict.fromkeys(BOTH, ROPE)},
    "mimo_v2_flash": {
        "hybrid_layer_pattern": [1, 0], "moe_layer_freq": [0, 1],
        "add_swa_attention_sink_bias": True, "add_full_attention_sink_bias": False,
    },
    "minicpm": {"dim_model_base": 16, "scale_depth": 1.4},
    "minicpm3": {
        "dim_model_base": 16, "scale_depth": 1.4,
        "rope_scaling": {"long_factor": [1.0, 1.2], "short_factor": [1.0, 1.2], "original_max_position_embeddings": 8},
    },
    "minimax_m3_vl": {
        "moe_layer_freq": [0, 1], "sparse_attention_freq": [0, 1],
        "index_block_size": 4, "index_topk_blocks": 2,
    },
    "ministral3": {"layer_types": BOTH, "rope_parameters": YARN},
    "mistral4": {"rope_parameters": YARN, "rope_interleave": True},
    "muse_glimmer": {"layer_types": BOTH, "layer_rope_theta": [10000.0, 0]},
    "nanbeige": {"num_loops": 2},
    "nemotron": {"hidden_act": "relu2"},
    "nemotron-nas": {
        "block_configs": [
            {"attention": {"n_heads_in_group": 2, "no_op": False, "replace_with_linear": False}, "ffn": DENSE},
            {"attention": {"n_heads_in_group": None, "no_op": False, "replace_with_linear": True}, "ffn": DENSE},
        ]
    },
    "nemotron_h": {"num_hidden_layers": 4, "hybrid_override_pattern": "M*-E"},
    "olmo3": {"layer_types": BOTH},
    "olmo_hybrid": {"layer_types": ["linear_attention", "full_attention"]},
    "openelm": {
        "ffn_dim_divisor": 8, "ffn_multipliers": [1.0, 1.5],
        "num_query_heads": [4, 4], "num_kv_heads": [2, 2],
    },
    "phi3small": {"dense_attention_every_n_layers": 2, "gegelu_limit": 20.0},
    "qwen3_5": {"full_attention_interval": 2, "rope_parameters": HALF_ROPE, "num_experts": 0},
    "qwen3_5_moe": {"full_attention_interval": 2, "rope_parameters": HALF_ROPE},
    "qwen3_next": {"full_attention_interval": 2},
    "recurrent_gemma": {"block_types": ["recurrent", "attention"], "logits_soft_cap": 30.0},
    "smollm3": {"no_rope_layer_interval": 2},
    "step3p5": {"layer_types": BOTH, "moe_layers_enum": "1"},
    "spark2_5": {"layer_types": BOTH, "rope_parameters": dict.fromkeys(BOTH, ROPE)},
}
# fmt: on

# Where the configuration of the text model is nested, and which module's it is.
NESTED = {
    **{name: name for name in "gemma3n kimi_k3 llama4 minimax_m3_vl qwen3_5 qwen3_5_moe".split()},
    **{"gemma3": "gemma3_text", "gemma4": "gemma4_text", "kimi_k25": "deepseek_v3", "kimi_vl": "deepseek_v3"},
    **{"lfm2-vl": "lfm2", "mistral3": "ministral3", "pixtral": "llama", "qwen2_vl": "qwen2", "qwen3_vl": "qwen3"},
    "qwen3_vl_moe": "qwen3_moe",
}

NOT_BUILT = {
    "bitnet": "its products are a kernel for Metal",
    "muse_spark": "its attention and experts are kernels for Metal",
    "prism_hadamard_qwen35": "takes only weights that were packed in groups of 128, with a list of what was packed",
}


def names() -> list[str]:
    """The modules of `mlx_lm.models` that hold an architecture; they are not imported."""
    found = importlib.util.find_spec("mlx_lm.models")
    folder = Path(found.submodule_search_locations[0]) if found and found.submodule_search_locations else Path()
    return sorted(path.stem for path in folder.glob("*.py") if "\nclass ModelArgs" in path.read_text("utf-8"))


def build(name: str, seed: int = 0, **special: Any) -> nn.Module:
    """A model of that architecture in float32, with random weights; `special` goes before what `SPECIAL` says."""
    sys.modules.setdefault("hf_olmo", ModuleType("hf_olmo"))  # olmo leaves the process when it is not installed
    module = importlib.import_module(f"mlx_lm.models.{name}")
    model = module.Model(module.ModelArgs.from_dict(_config(name, module.ModelArgs, special)))
    weights = sum(weight.size for _, weight in tree_flatten(model.parameters()))
    assert weights < MOST_WEIGHTS, f"{name}: {weights} weights; its configuration has sizes that COMMON does not know"
    mx.random.seed(seed)
    model.set_dtype(mx.float32)
    model.update(tree_map(_alive, model.parameters()))
    if name == "phi3small":  # hides ids from 100256 on, whether there are so many or not
        model._dummy_tokenizer_ids = mx.array([VOCABULARY - 1])
    model.eval()
    return model


def _config(name: str, arguments: type, special: Config) -> Config:
    inner = NESTED.get(name, name)
    config = {**COMMON, "model_type": inner, **SPECIAL.get(inner, {}), **special}
    if inner != name or name in NESTED:
        config = {"model_type": name, "vocab_size": VOCABULARY, "text_config": config}
    fields = {field.name for field in dataclasses.fields(arguments)}
    return copy.deepcopy({key: value for key, value in config.items() if key in fields})


def _alive(weight: mx.array) -> mx.array:
    """Random numbers around what is one number everywhere, such as gates of zeros; the rest is random as it is."""
    if not mx.issubdtype(weight.dtype, mx.floating) or weight.size < 2 or mx.std(weight).item() > 1e-8:
        return weight
    return weight + 0.1 * mx.random.normal(weight.shape)
