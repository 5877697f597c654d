"""Whether a model can be built as a configuration says: each wrong value is refused with the name of its field."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, TypeGuard, get_args, get_origin, get_type_hints

from mlxdecoder.errors import UserError, shown

if TYPE_CHECKING:
    from mlxdecoder.config import ModelConfig

LARGEST = 2**31 - 1  # an axis of an array in MLX


def check_config(config: ModelConfig) -> None:
    """Raise `UserError` for a value of another type, out of range, or at odds with the others."""
    _check_types(config)
    for check in (_check_sizes, _check_ranges, _check_experts, _check_heads, _check_widths, _check_positions):
        check(config)
    for check in (_check_layers, _check_outputs, _check_inputs, _check_ids):
        check(config)


def _check_types(config: ModelConfig) -> None:
    hints = get_type_hints(type(config))
    for field in fields(config):
        value, hint = getattr(config, field.name), hints[field.name]
        choices = get_args(hint)
        if choices and isinstance(choices[0], str):
            _require(value in choices, field.name, value, f"one of {', '.join(choices)}")
        elif value is None and type(None) in choices:
            continue
        elif hint is bool or bool in choices:
            _require(isinstance(value, bool), field.name, value, "true or false")
        elif hint is float or float in choices:
            _require(is_number(value), field.name, value, "a finite number")
        elif get_origin(hint) is tuple:
            wholes = isinstance(value, tuple) and all(map(is_whole, value))
            _require(wholes, field.name, value, "a list of whole numbers")
        else:
            _require(is_whole(value), field.name, value, "a whole number")


def _check_sizes(config: ModelConfig) -> None:
    """Sizes that have to be there, sizes that may be null, and counts that may be 0."""
    needed = ("target_vocab", "d_model", "n_heads", "d_ff", "n_layers", "max_length", "image_channels")
    for name in (*needed, "experts_per_token"):
        _check_size(name, getattr(config, name), 1)
    optional = ("source_vocab", "n_kv_heads", "head_width", "window", "image_size", "patch_size")
    for name in (*optional, "rotary_trained_length"):
        if (value := getattr(config, name)) is not None:
            _check_size(name, value, 1, ", or null")
    for name in ("n_classes", "n_experts", "n_segments", "pad_id", "begin_id", "end_id"):
        _check_size(name, getattr(config, name), 0)
    _check_size("n_encoder_layers", config.encoder_layers, 0, ", or null")


def _check_size(name: str, value: int, least: int, or_else: str = "") -> None:
    _require(value >= least, name, value, f"at least {least}{or_else}")
    _require(value <= LARGEST, name, value, f"at most {LARGEST:,}{or_else}")


def _check_widths(config: ModelConfig) -> None:
    """Axes of arrays whose lengths are products."""
    heads = f"at most {LARGEST:,} together with n_heads = {config.n_heads}"
    _require(config.n_heads * config.width_per_head <= LARGEST, "head_width", config.width_per_head, heads)
    pixels = (config.patch_size or 0) ** 2 * config.image_channels
    _require(pixels <= LARGEST, "patch_size", config.patch_size, f"at most {LARGEST:,} numbers in a patch")


def _check_ranges(config: ModelConfig) -> None:
    for name in ("dropout", "attention_dropout"):
        _require(0 <= getattr(config, name) < 1, name, getattr(config, name), "at least 0 and below 1")
    for name in ("norm_epsilon", "repetition_penalty"):
        _require(getattr(config, name) > 0, name, getattr(config, name), "above 0")


def _check_experts(config: ModelConfig) -> None:
    few = config.n_experts == 0 or config.experts_per_token <= config.n_experts
    _require(few, "experts_per_token", config.experts_per_token, f"at most n_experts = {config.n_experts}")
    gated = config.n_experts == 0 or config.is_gated
    _require(gated, "activation", config.activation, "one that gates (swiglu, ...) when n_experts is set")


def _check_heads(config: ModelConfig) -> None:
    divides = config.head_width is not None or config.d_model % config.n_heads == 0
    _require(divides, "n_heads", config.n_heads, f"a divisor of d_model = {config.d_model}, or a head_width")
    wanted = f"a divisor of n_heads = {config.n_heads}"
    _require(config.n_heads % config.kv_heads == 0, "n_kv_heads", config.n_kv_heads, wanted)


def _check_positions(config: ModelConfig) -> None:
    rotates = config.positions == "rotary"
    _require(not rotates or config.width_per_head % 2 == 0, "head_width", config.width_per_head, "even for rotary")
    even = config.positions != "sinusoidal" or config.d_model % 2 == 0
    _require(even, "d_model", config.d_model, "even for sinusoidal positions")
    _require(config.rotary_base > 1, "rotary_base", config.rotary_base, "above 1")
    _require(config.rotary_factor >= 1, "rotary_factor", config.rotary_factor, "at least 1")
    ordered = 0 < config.rotary_slow < config.rotary_fast
    _require(ordered, "rotary_slow", config.rotary_slow, f"above 0 and below rotary_fast = {config.rotary_fast}")
    strong = config.rotary_strength is None or config.rotary_strength > 0
    _require(strong, "rotary_strength", config.rotary_strength, "above 0, or null")


def _check_layers(config: ModelConfig) -> None:
    """Layers of a language model that differ from each other."""
    layers = config.unrotated_layers
    rotates = config.architecture == "language_model" and config.positions == "rotary"
    known = sorted({*layers}) == list(layers) and all(0 <= layer < config.n_layers for layer in layers)
    wanted = (
        f"layers from 0 to below n_layers = {config.n_layers}, each once and in their order, of a language model with "
        "rotary positions"
    )
    _require(not layers or (rotates and known), "unrotated_layers", layers, wanted)


def _check_outputs(config: ModelConfig) -> None:
    encoder = config.architecture == "encoder"
    _require(encoder or config.n_classes == 0, "n_classes", config.n_classes, "0 unless architecture is encoder")
    _require(encoder or config.pooling == "none", "pooling", config.pooling, "none unless architecture is encoder")
    only_pooled = not config.pooler or config.pooling != "none"
    _require(only_pooled, "pooler", config.pooler, "false unless pooling is cls or mean")
    pooled = config.n_classes == 0 or config.pooling != "none"
    _require(pooled, "pooling", config.pooling, "cls or mean when n_classes is set")


def _check_inputs(config: ModelConfig) -> None:
    encoder = config.architecture == "encoder"
    segmented = config.n_segments == 0 or (encoder and not config.image_size)
    _require(segmented, "n_segments", config.n_segments, "0 unless the architecture is an encoder of text")
    together = (config.image_size is None) == (config.patch_size is None)
    _require(together, "patch_size", config.patch_size, "set together with image_size")
    if config.image_size and config.patch_size:
        wanted = f"a divisor of image_size = {config.image_size}, for an encoder"
        _require(encoder and config.image_size % config.patch_size == 0, "patch_size", config.patch_size, wanted)
    same_ids = config.architecture != "translator" or not config.tied or config.n_source_ids == config.target_vocab
    _require(same_ids, "source_vocab", config.source_vocab, "equal to target_vocab when tied is true")


def _check_ids(config: ModelConfig) -> None:
    for name in ("pad_id", "begin_id", "end_id"):
        known = config.architecture == "encoder" or getattr(config, name) < config.target_vocab
        _require(known, name, getattr(config, name), f"below target_vocab = {config.target_vocab}")
    for name in ("more_end_ids", "banned_ids"):
        known = all(0 <= id < config.target_vocab for id in getattr(config, name))
        _require(known, name, getattr(config, name), f"ids from 0 to below target_vocab = {config.target_vocab}")


def _require(holds: bool, name: str, found: object, wanted: str) -> None:
    if not holds:
        raise UserError(f"{name} = {shown(repr(found))}: wanted {wanted}.")


def is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Whether this is a number that a float can hold."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of some hundred digits
        return False
