"""Rotary positions as foreign settings write them, older and newer, with every scaling that ours can reproduce."""

from __future__ import annotations

import math
from typing import Any

from mlxdecoder.config import ModelConfig
from mlxdecoder.pretrained.family import word
from mlxdecoder.pretrained.settings import Settings

SCALINGS = {"default": "none", **{name: name for name in ("linear", "dynamic", "yarn", "llama3")}}


def rotary(settings: Settings) -> dict[str, Any]:
    """The fields of a `ModelConfig` for rotary positions; raises `UserError` for a scaling that is not known."""
    given = settings.part("rope_scaling" if settings.values.get("rope_scaling") else "rope_parameters")
    given = given.over({"rope_type": given.values.get("type")})
    base = settings if given.values.get("rope_theta") is None else given
    for each in (settings, given):
        each.must("partial_rotary_factor", 1, 1.0)
    for key, value in given.values.items():
        if isinstance(value, dict):  # one object for each kind of layer
            raise given.refused(key, "the same positions in every layer are wanted")
    scaling = "none" if given.values["rope_type"] is None else given.choice("rope_type", SCALINGS)
    fields: dict[str, Any] = {
        "positions": "rotary",
        "rotary_base": base.number("rope_theta", settings.number("default_theta"), above=1),
        "rotary_scaling": scaling,
        "max_length": settings.whole("max_position_embeddings"),
    }
    read = {"linear": _factor, "dynamic": _factor, "yarn": _yarn, "llama3": _llama3}.get(scaling)
    return fields if read is None else fields | read(given, settings)


def told_rotary(config: ModelConfig) -> dict[str, Any]:
    """The same as a config.json of any age says it; raises `UserError` for a scaling that has no word."""
    told: dict[str, Any] = {"rope_theta": config.rotary_base}
    kind = word(SCALINGS, config, "rotary_scaling")
    if kind == "default":
        return told
    scaling: dict[str, Any] = {"rope_type": kind, "type": kind, "factor": config.rotary_factor}
    if kind in ("yarn", "llama3"):
        scaling["original_max_position_embeddings"] = config.trained_length
    if kind == "llama3":
        scaling |= {"low_freq_factor": config.rotary_slow, "high_freq_factor": config.rotary_fast}
    if kind == "yarn":
        scaling |= {"beta_slow": config.rotary_slow, "beta_fast": config.rotary_fast}
    if config.rotary_strength is not None:
        scaling["attention_factor"] = config.rotary_strength
    return told | {"rope_scaling": scaling}


def _factor(given: Settings, settings: Settings) -> dict[str, Any]:
    return {"rotary_factor": given.number("factor", least=1)}


def _llama3(given: Settings, settings: Settings) -> dict[str, Any]:
    slow = given.number("low_freq_factor", above=0)
    return {
        "rotary_factor": given.number("factor", least=1),
        "rotary_trained_length": _trained_length(given, settings),
        "rotary_slow": slow,
        "rotary_fast": given.number("high_freq_factor", above=slow),
    }


def _yarn(given: Settings, settings: Settings) -> dict[str, Any]:
    given.must("truncate", True)
    trained = _trained_length(given, settings)
    factor = given.number("factor", settings.whole("max_position_embeddings") / trained, least=1)
    slow = given.number("beta_slow", 1.0, above=0)
    return {
        "rotary_factor": factor,
        "rotary_trained_length": trained,
        "rotary_slow": slow,
        "rotary_fast": given.number("beta_fast", 32.0, above=slow),
        "rotary_strength": _strength(given, factor),
    }


def _strength(given: Settings, factor: float) -> float | None:
    """YaRN's factor on queries and keys where it is not the usual one; an `mscale` of 0 is none to transformers."""
    strength = given.maybe_number("attention_factor", above=0)
    scales = [given.number(key, 0.0, least=0) for key in ("mscale", "mscale_all_dim")]
    if strength is not None or not all(scales):
        return strength
    mine, all_ = (0.1 * scale * math.log(factor) + 1 for scale in scales)
    return mine / all_


def _trained_length(given: Settings, settings: Settings) -> int:
    key = "original_max_position_embeddings"
    where = given if settings.values.get(key) is None else settings
    return where.whole(key, settings.whole("max_position_embeddings"), least=1)
