"""Which family of models from elsewhere a model of ours is of, and what stands in the way of its being one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import mlx.core as mx

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError, shown
from mlxdecoder.pretrained.families import FAMILIES
from mlxdecoder.pretrained.family import Family, NoWord
from mlxdecoder.pretrained.folder import CONFIG, GENERATION
from mlxdecoder.pretrained.settings import Settings
from mlxdecoder.pretrained.table import expanded

DETAILS = {
    "rotary": "rotary",
    "unrotated": "rotary",
    "sinusoid": "sinusoidal",
}  # of a kind of positions, as fields begin


@dataclass(frozen=True)
class Telling:
    """What a family says of a model, and what it would read out of it that differs."""

    family: Family
    settings: Settings
    differences: list[str]


def closest_family(config: ModelConfig, arrays: Mapping[str, mx.array], name: str) -> Telling:
    """The first family that, told of a model, would build the same.

    Raises `UserError` with the name of the model for one that is no family's, and says what is in the way of the
    closest.
    """
    told = [telling for family in FAMILIES if (telling := _tried(family, config, arrays))]
    if not told:
        known = ", ".join(name for family in FAMILIES for name in family.defaults)
        raise UserError(f"{name}: none of the families that transformers has computes this ({known}).")
    closest = min(told, key=lambda telling: len(telling.differences))
    if closest.differences:
        raise UserError(
            f"{name}: none of the families that transformers has computes this. The closest is "
            f"{closest.settings.values['model_type']};\nin the way: {'; '.join(closest.differences)}."
        )
    return closest


def _tried(family: Family, config: ModelConfig, arrays: Mapping[str, mx.array]) -> Telling | None:
    """None for a family of another architecture, and for one that could not read what it says."""
    try:
        told, read = _told(family, config, arrays)
    except UserError:
        return None
    return told if read.architecture == config.architecture else None


def _told(family: Family, config: ModelConfig, arrays: Mapping[str, mx.array]) -> tuple[Telling, ModelConfig]:
    """What a family says, and what it reads out of that."""
    values = _described(family, config) | family.describe_arrays(config, arrays)
    generation = _generation(values, config)
    settings = Settings(values, CONFIG, Settings(generation, GENERATION) if generation else None)
    full = settings.over(family.defaults[values["model_type"]])
    rows = list(expanded(family.rows(config, full), arrays))
    stored = {name for row in rows for name in row.theirs}
    read = family.configure(replace(full, stored=stored))
    homeless = sorted(arrays.keys() - {name for row in rows for name in row.ours})
    differences = _differences(_canonical(config), _canonical(read)) or [
        f"{name}, which it has not" for name in homeless
    ]
    return Telling(family, settings, differences), read


def _described(family: Family, config: ModelConfig) -> dict[str, Any]:
    """What a family says of the model, or of one like it that it has words for."""
    try:
        return family.describe(config)
    except NoWord as missing:
        return _described(family, replace(config, **{missing.field: missing.instead}))


def _differences(ours: ModelConfig, theirs: ModelConfig) -> list[str]:
    """The fields that differ, with both values."""
    told = []
    for name in (field.name for field in fields(ours)):
        own, its, kind = getattr(ours, name), getattr(theirs, name), DETAILS.get(name.partition("_")[0])
        if own != its and (kind is None or ours.positions == theirs.positions == kind):
            told.append(f"{name} = {shown(repr(own))}, where it has {shown(repr(its))}")
    return told


def _generation(values: dict[str, Any], config: ModelConfig) -> dict[str, Any]:
    """What generation_config.json says: the special ids, and the rules for all other tokens."""
    if config.architecture == "encoder":
        return {}
    told = {key: value for key, value in values.items() if key.endswith("_token_id") and value is not None}
    rules = {
        "suppress_tokens": list(config.banned_ids),
        "repetition_penalty": config.repetition_penalty,
        "renormalize_logits": config.renormalized,
    }
    return told | {key: value for key, value in rules.items() if value not in ([], 1, False)}


def _canonical(config: ModelConfig) -> ModelConfig:
    """The same function with everything said that follows from the rest, and without what matters in training only."""
    scaled = config.rotary_scaling in ("yarn", "llama3")
    defaults = ModelConfig()
    return replace(
        config,
        n_kv_heads=config.kv_heads,
        head_width=config.width_per_head,
        n_encoder_layers=config.encoder_layers if config.architecture == "translator" else None,
        source_vocab=config.n_source_ids if config.architecture == "translator" else None,
        qkv_bias=config.qkv_has_bias,
        mlp_bias=config.mlp_has_bias,
        rotary_trained_length=config.trained_length if scaled else None,
        rotary_slow=config.rotary_slow if scaled else defaults.rotary_slow,
        rotary_fast=config.rotary_fast if scaled else defaults.rotary_fast,
        dropout=0.0,
        attention_dropout=0.0,
        **(_unread(defaults) if config.architecture == "encoder" else {}),
    )


def _unread(defaults: ModelConfig) -> dict[str, Any]:
    """Marks that an encoder has no use for."""
    names = ("begin_id", "end_id", "pad_id", "more_end_ids", "banned_ids", "forced_end")
    return {name: getattr(defaults, name) for name in names}
