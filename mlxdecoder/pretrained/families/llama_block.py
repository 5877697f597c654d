"""What all relatives of Llama have in common: pre-norm with RMSNorm, rotary positions, grouped heads, gated MLPs."""

from __future__ import annotations

from typing import Any

from mlxdecoder.config import ModelConfig
from mlxdecoder.pretrained.family import told, word
from mlxdecoder.pretrained.generation import marks, told_marks
from mlxdecoder.pretrained.rotary import rotary, told_rotary
from mlxdecoder.pretrained.settings import Settings
from mlxdecoder.pretrained.table import Row, linear, norm, same, turned

ACTIVATIONS = {
    **dict.fromkeys(("silu", "swish"), "swiglu"),
    **dict.fromkeys(("gelu_new", "gelu_pytorch_tanh"), "geglu_tanh"),
    "gelu": "geglu",
    "relu": "reglu",
}
DEFAULTS: dict[str, Any] = {
    "vocab_size": 32_000,
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": None,
    "head_dim": None,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
    "attention_dropout": 0.0,
    "default_theta": 10_000.0,
    "attention_bias": False,
    "mlp_bias": False,
}
NAMES = {
    "target_vocab": "vocab_size",
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_kv_heads": "num_key_value_heads",
    "head_width": "head_dim",
    "d_ff": "intermediate_size",
    "n_layers": "num_hidden_layers",
    "max_length": "max_position_embeddings",
    "norm_epsilon": "rms_norm_eps",
    "tied": "tie_word_embeddings",
    "attention_dropout": "attention_dropout",
}


def common_fields(settings: Settings) -> dict[str, Any]:
    """The fields of a `ModelConfig` for any block of this kind."""
    return {
        "architecture": "language_model",
        "target_vocab": settings.whole("vocab_size", least=1),
        "d_model": settings.whole("hidden_size"),
        "n_heads": settings.whole("num_attention_heads"),
        "n_kv_heads": settings.maybe_whole("num_key_value_heads"),
        "head_width": settings.maybe_whole("head_dim"),
        "d_ff": settings.whole("intermediate_size"),
        "n_layers": settings.whole("num_hidden_layers"),
        "norm_kind": "rms",
        "norm_epsilon": settings.number("rms_norm_eps"),
        "activation": settings.choice("hidden_act", ACTIVATIONS),
        "bias": False,
        "tied": settings.flag("tie_word_embeddings"),
        "scaled_embeddings": False,
        "attention_dropout": settings.number("attention_dropout"),
        **rotary(settings),
        **marks(settings, settings.whole("vocab_size")),
    }


def described(config: ModelConfig) -> dict[str, Any]:
    """What `common_fields` reads."""
    return {
        "hidden_act": word(ACTIVATIONS, config, "activation"),
        **told(config, NAMES),
        **told_rotary(config),
        **told_marks(config),
    }


def block_rows() -> list[Row]:
    """All but the MLP."""
    theirs, ours = "layers.*", "stack.blocks.*"
    attention, own = f"{theirs}.self_attn", f"{ours}.attention"
    return [
        same("embed_tokens.weight", "embedding.weight"),
        *norm(f"{theirs}.input_layernorm", f"{ours}.attention_norm"),
        *linear(f"{attention}.q_proj", f"{own}.query"),
        *linear(f"{attention}.k_proj", f"{own}.key"),
        *linear(f"{attention}.v_proj", f"{own}.value"),
        *linear(f"{attention}.o_proj", f"{own}.output"),
        *norm(f"{attention}.q_norm", f"{own}.query_norm"),
        *norm(f"{attention}.k_norm", f"{own}.key_norm"),
        *norm(f"{theirs}.post_attention_layernorm", f"{ours}.mlp_norm"),
        *norm("norm", "stack.norm"),
        turned("lm_head.weight", "head.weight"),
    ]
