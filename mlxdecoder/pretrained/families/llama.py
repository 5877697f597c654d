"""Llama, Touvron et al. 2023, and what is the same function under other names: Mistral, Qwen2, Qwen3, SmolLM.

Pre-norm with RMSNorm, rotary positions, grouped heads, SwiGLU. They differ in biases, in the window and in the norm of
queries and keys.
"""

from __future__ import annotations

from typing import Any

from mlxdecoder.config import ModelConfig
from mlxdecoder.pretrained.family import Family, marks, told_marks, word
from mlxdecoder.pretrained.rotary import rotary, told_rotary
from mlxdecoder.pretrained.settings import Settings
from mlxdecoder.pretrained.table import Row, linear, norm, same, turned

ACTIVATIONS = {
    **dict.fromkeys(("silu", "swish"), "swiglu"),
    **dict.fromkeys(("gelu_new", "gelu_pytorch_tanh"), "geglu_tanh"),
    "gelu": "geglu",
    "relu": "reglu",
}
COMMON: dict[str, Any] = {
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
MARKS = {"bos_token_id": 1, "eos_token_id": 2}
QWEN = {
    **COMMON,
    "vocab_size": 151_936,
    "intermediate_size": 22_016,
    "num_key_value_heads": 32,
    "max_position_embeddings": 32_768,
    "use_sliding_window": False,
    "sliding_window": 4096,
    "max_window_layers": 28,
}
DEFAULTS = {
    "llama": {**COMMON, **MARKS, "intermediate_size": 11_008, "max_position_embeddings": 2048},
    "mistral": {
        **COMMON,
        **MARKS,
        "intermediate_size": 14_336,
        "num_key_value_heads": 8,
        "max_position_embeddings": 4096 * 32,
        "sliding_window": 4096,
    },
    "qwen2": QWEN,
    "qwen3": {**QWEN, "head_dim": 128},
}


def configure(settings: Settings) -> ModelConfig:
    special = {"llama": _llama, "mistral": _mistral, "qwen2": _qwen2, "qwen3": _qwen3}
    fields = common_fields(settings) | special[settings.values["model_type"]](settings)
    return ModelConfig(**fields)


def common_fields(settings: Settings) -> dict[str, Any]:
    """The fields of a `ModelConfig` for any block of this kind."""
    return {
        "architecture": "language_model",
        "target_vocab": settings.whole("vocab_size"),
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
        **marks(settings),
    }


def _llama(settings: Settings) -> dict[str, Any]:
    return {"bias": settings.flag("attention_bias"), "mlp_bias": settings.flag("mlp_bias")}


def _mistral(settings: Settings) -> dict[str, Any]:
    return {"window": settings.maybe_whole("sliding_window")}


def _qwen2(settings: Settings) -> dict[str, Any]:
    return {"qkv_bias": True, "window": _qwen_window(settings)}


def _qwen3(settings: Settings) -> dict[str, Any]:
    return {
        "bias": settings.flag("attention_bias"),
        "mlp_bias": False,
        "query_key_norm": True,
        "window": _qwen_window(settings),
    }


def _qwen_window(settings: Settings) -> int | None:
    """The window of all layers; raises `UserError` where only some of them have it."""
    window = settings.maybe_whole("sliding_window") if settings.flag("use_sliding_window") else None
    layers, full = settings.whole("num_hidden_layers"), settings.whole("max_window_layers")
    kinds = settings.values.get("layer_types")
    if window is None:
        windowed = 0
    elif isinstance(kinds, list):
        windowed = kinds.count("sliding_attention")
    else:
        windowed = max(layers - max(full, 0), 0)
    if windowed not in (0, layers):
        raise settings.refused("layer_types" if kinds else "max_window_layers", "one window for all layers is wanted")
    return window if windowed else None


def describe(config: ModelConfig) -> dict[str, Any]:
    return described(config) | _special(config)


def described(config: ModelConfig) -> dict[str, Any]:
    """What `common_fields` reads."""
    return {
        "vocab_size": config.target_vocab,
        "hidden_size": config.d_model,
        "num_attention_heads": config.n_heads,
        "num_key_value_heads": config.kv_heads,
        "head_dim": config.width_per_head,
        "intermediate_size": config.d_ff,
        "num_hidden_layers": config.n_layers,
        "rms_norm_eps": config.norm_epsilon,
        "hidden_act": word(ACTIVATIONS, config.activation),
        "tie_word_embeddings": config.tied,
        "attention_dropout": config.attention_dropout,
        **told_rotary(config),
        **told_marks(config),
    }


def _special(config: ModelConfig) -> dict[str, Any]:
    """The relative that it is, and what only that one says."""
    if config.query_key_norm:
        return _named("qwen3", "Qwen3") | _told_window(config) | {"attention_bias": config.bias}
    if config.qkv_has_bias and not config.bias:
        return _named("qwen2", "Qwen2") | _told_window(config)
    if config.window is not None:
        return _named("mistral", "Mistral") | {"sliding_window": config.window}
    return _named("llama", "Llama") | {"attention_bias": config.bias, "mlp_bias": config.mlp_has_bias}


def _named(model_type: str, name: str) -> dict[str, Any]:
    return {"model_type": model_type, "architectures": [f"{name}ForCausalLM"]}


def _told_window(config: ModelConfig) -> dict[str, Any]:
    return {
        "use_sliding_window": config.window is not None,
        "sliding_window": config.window,
        "max_window_layers": 0,
    }


def rows(config: ModelConfig, settings: Settings) -> list[Row]:
    theirs, ours = "layers.*", "stack.blocks.*"
    return [
        *block_rows(),
        *linear(f"{theirs}.mlp.gate_proj", f"{ours}.mlp.gate"),
        *linear(f"{theirs}.mlp.up_proj", f"{ours}.mlp.inward"),
        *linear(f"{theirs}.mlp.down_proj", f"{ours}.mlp.outward"),
    ]


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


FAMILY = Family(
    defaults=DEFAULTS,
    classes=tuple(f"{name}ForCausalLM" for name in ("Llama", "Mistral", "Qwen2", "Qwen3")),
    configure=configure,
    describe=describe,
    rows=rows,
    prefix="model.",
    outside=("lm_head.",),
    copies={"lm_head.weight": "embed_tokens.weight"},
    unused=("layers.*.self_attn.rotary_emb.inv_freq",),
)
