"""Llama, Touvron et al. 2023, and what is the same function under other names: Mistral, Qwen2, Qwen3, SmolLM.

They differ in biases, in the window and in the norm of queries and keys.
"""

from __future__ import annotations

from typing import Any

from mlxdecoder.config import ModelConfig
from mlxdecoder.pretrained.families import llama_block
from mlxdecoder.pretrained.family import Family
from mlxdecoder.pretrained.settings import Settings
from mlxdecoder.pretrained.table import Row, linear

QWEN = {
    **llama_block.DEFAULTS,
    "vocab_size": 151_936,
    "intermediate_size": 22_016,
    "num_key_value_heads": 32,
    "max_position_embeddings": 32_768,
    "use_sliding_window": False,
    "sliding_window": 4096,
    "max_window_layers": 28,
}
DEFAULTS = {
    "llama": {**llama_block.DEFAULTS, "bos_token_id": 1, "intermediate_size": 11_008, "max_position_embeddings": 2048},
    "mistral": {
        **llama_block.DEFAULTS,
        "bos_token_id": 1,
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
    fields = llama_block.common_fields(settings) | special[settings.values["model_type"]](settings)
    return ModelConfig(**fields)


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
    return llama_block.described(config) | _special(config)


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
        *llama_block.block_rows(),
        *linear(f"{theirs}.mlp.gate_proj", f"{ours}.mlp.gate"),
        *linear(f"{theirs}.mlp.up_proj", f"{ours}.mlp.inward"),
        *linear(f"{theirs}.mlp.down_proj", f"{ours}.mlp.outward"),
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
