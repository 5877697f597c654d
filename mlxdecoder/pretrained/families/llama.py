"""Llama, Touvron et al. 2023, and what is the same function under other names: Mistral, Qwen2, Qwen3, SmolLM.

They differ in biases, in the norm of queries and keys, and in the layers that have a window or rotary positions.
"""

from __future__ import annotations

from typing import Any

from mlxdecoder.config import ModelConfig
from mlxdecoder.pretrained.families import llama_block
from mlxdecoder.pretrained.family import Family
from mlxdecoder.pretrained.settings import Settings
from mlxdecoder.pretrained.sizes import MOST_LAYERS
from mlxdecoder.pretrained.table import Row, linear

FULL, SLIDING = "full_attention", "sliding_attention"
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
    "smollm3": {
        **llama_block.DEFAULTS,
        "vocab_size": 128_256,
        "hidden_size": 2048,
        "intermediate_size": 11_008,
        "num_hidden_layers": 36,
        "num_attention_heads": 16,
        "num_key_value_heads": 4,
        "max_position_embeddings": 32_768,
        "default_theta": 2_000_000.0,
        "tie_word_embeddings": True,
        "use_sliding_window": False,
        "sliding_window": None,
        "no_rope_layer_interval": 4,
    },
}


def configure(settings: Settings) -> ModelConfig:
    special = {"llama": _llama, "mistral": _mistral, "qwen2": _qwen2, "qwen3": _qwen3, "smollm3": _smollm3}
    fields = llama_block.common_fields(settings) | special[settings.values["model_type"]](settings)
    return ModelConfig(**fields)


def _llama(settings: Settings) -> dict[str, Any]:
    return {"bias": settings.flag("attention_bias"), "mlp_bias": settings.flag("mlp_bias")}


def _mistral(settings: Settings) -> dict[str, Any]:
    return {"window": settings.maybe_whole("sliding_window")}


def _qwen2(settings: Settings) -> dict[str, Any]:
    return {"qkv_bias": True, **_windows(settings, _last(settings), "max_window_layers")}


def _qwen3(settings: Settings) -> dict[str, Any]:
    return {
        "bias": settings.flag("attention_bias"),
        "mlp_bias": False,
        "query_key_norm": True,
        **_windows(settings, _last(settings), "max_window_layers"),
    }


def _last(settings: Settings) -> list[bool]:
    """Which layers have a window where only their number is told: the last."""
    return [layer >= settings.whole("max_window_layers") for layer in _layers(settings)]


def _smollm3(settings: Settings) -> dict[str, Any]:
    """Some layers go without positions, and have the window where there is one."""
    rotates = settings.each("no_rope_layers", len(_layers(settings)), {1: True, 0: False})  # for all its name
    if rotates is None:
        interval = settings.whole("no_rope_layer_interval")
        if interval < 1:
            raise settings.refused("no_rope_layer_interval", "at least 1 is wanted")
        rotates = [(layer + 1) % interval != 0 for layer in _layers(settings)]
    unrotated = tuple(layer for layer, rotated in enumerate(rotates) if not rotated)
    windows = _windows(settings, [not rotated for rotated in rotates], "no_rope_layers")
    return _llama(settings) | {"unrotated_layers": unrotated} | windows


def _layers(settings: Settings) -> range:
    """Raises `UserError` for more than are built, of which a list would take all memory."""
    layers = settings.whole("num_hidden_layers")
    if layers > MOST_LAYERS:
        raise settings.refused("num_hidden_layers", f"at most {MOST_LAYERS:,} layers are built")
    return range(layers)


def _windows(settings: Settings, windowed: list[bool], told_by: str) -> dict[str, Any]:
    """The window of all layers; `windowed` are those that have it where no list says so.

    Raises `UserError` where only some of them have it: a picture outlines one mask for all.
    """
    used = settings.flag("use_sliding_window") and settings.values.get("sliding_window") is not None
    kinds = {FULL: False, SLIDING: True} if used else {FULL: False}
    listed = settings.each("layer_types", len(windowed), kinds)
    windowed = listed or windowed
    if not used or not any(windowed):
        return {}
    window = settings.whole("sliding_window", least=1)
    if not all(windowed):
        raise settings.refused("layer_types" if listed else told_by, "one window for all layers is wanted")
    return {"window": window}


def describe(config: ModelConfig) -> dict[str, Any]:
    return llama_block.described(config) | _special(config)


def _special(config: ModelConfig) -> dict[str, Any]:
    """The relative that it is, and what only that one says."""
    biases = {"attention_bias": config.bias, "mlp_bias": config.mlp_has_bias}
    if config.query_key_norm:
        return _named("qwen3", "Qwen3") | _told_window(config) | {"attention_bias": config.bias}
    if config.qkv_has_bias and not config.bias:
        return _named("qwen2", "Qwen2") | _told_window(config)
    if config.unrotated_layers:
        rotates = [int(layer not in config.unrotated_layers) for layer in range(config.n_layers)]
        return _named("smollm3", "SmolLM3") | _told_window(config) | biases | {"no_rope_layers": rotates}
    if config.window is not None:
        return _named("mistral", "Mistral") | {"sliding_window": config.window}
    return _named("llama", "Llama") | biases


def _named(model_type: str, name: str) -> dict[str, Any]:
    return {"model_type": model_type, "architectures": [f"{name}ForCausalLM"]}


def _told_window(config: ModelConfig) -> dict[str, Any]:
    has = config.window is not None
    return {
        "use_sliding_window": has,
        "sliding_window": config.window,
        "layer_types": [SLIDING if has else FULL] * config.n_layers,
        "max_window_layers": 0 if has else config.n_layers,
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
    classes=tuple(f"{name}ForCausalLM" for name in ("Llama", "Mistral", "Qwen2", "Qwen3", "SmolLM3")),
    configure=configure,
    describe=describe,
    rows=rows,
    names={**llama_block.NAMES, "window": "sliding_window"},
    prefix="model.",
    outside=("lm_head.",),
    copies={"lm_head.weight": "embed_tokens.weight"},
    unused=("layers.*.self_attn.rotary_emb.inv_freq",),
)
