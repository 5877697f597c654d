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
    given = given.over({"rope_theta": settings.values.get("rope_theta"), "rope_type": given.values.get("type")})
    for each in (settings, given):
        each.must("partial_rotary_factor", 1, 1.0)
    for key, value in given.values.items():
        if isinstance(value, dict):  # one object for each kind of layer
            raise given.refused(key, "the same positions in every layer are wanted")
    scaling = "none" if given.values["rope_type"] is None else given.choice("rope_type", SCALINGS)
    fields: dict[str, Any] = {
        "positions": "rotary",
        "rotary_base": given.maybe_number("rope_theta") or settings.number("default_theta"),
        "rotary_scaling": scaling,
        "max_length": settings.whole("max_position_embeddings"),
    }
    read = {"linear": _factor, "dynamic": _factor, "yarn": _yarn, "llama3": _llama3}.get(scaling)
    return fields if read is None else fields | read(given, settings)


def told_rotary(config: ModelConfig) -> dict[str, Any]:
    """The same as a config.json of any age says it; raises `UserError` for a scaling that has no word."""
    told: dict[str, Any] = {"max_position_embeddings": config.max_length, "rope_theta": config.rotary_base}
    kind = word(SCALINGS, config.rotary_scaling)
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
    return {"rotary_factor": given.number("factor")}


def _llama3(given: Settings, settings: Settings) -> dict[str, Any]:
    return {
        "rotary_factor": given.number("factor"),
        "rotary_trained_length": _trained_length(given, settings),
        "rotary_slow": given.number("low_freq_factor"),
        "rotary_fast": given.number("high_freq_factor"),
    }


def _yarn(given: Settings, settings: Settings) -> dict[str, Any]:
    given.must("truncate", True)
    trained = _trained_length(given, settings)
    factor = given.maybe_number("factor") or settings.whole("max_position_embeddings") / trained
    return {
        "rotary_factor": factor,
        "rotary_trained_length": trained,
        "rotary_slow": given.maybe_number("beta_slow") or 1.0,
        "rotary_fast": given.maybe_number("beta_fast") or 32.0,
        "rotary_strength": _strength(given, factor),
    }


def _strength(given: Settings, factor: float) -> float | None:
    """YaRN's factor on queries and keys where it is not the usual one."""
    strength, mine, all_ = (given.maybe_number(key) for key in ("attention_factor", "mscale", "mscale_all_dim"))
    if strength is None and mine and all_:
        strength = (0.1 * mine * math.log(factor) + 1) / (0.1 * all_ * math.log(factor) + 1)
    return strength


def _trained_length(given: Settings, settings: Settings) -> int:
    key = "original_max_position_embeddings"
    found = settings.maybe_whole(key) or given.maybe_whole(key)
    return found or settings.whole("max_position_embeddings")
