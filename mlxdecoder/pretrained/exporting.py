"""A checkpoint as a Hugging Face folder: the way back, by the same tables, for what one of the families can say."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx.utils import tree_flatten

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.files import write_bytes, write_text
from mlxdecoder.pretrained.families import FAMILIES
from mlxdecoder.pretrained.family import Family
from mlxdecoder.pretrained.folder import CONFIG, GENERATION, WEIGHTS
from mlxdecoder.pretrained.settings import Settings
from mlxdecoder.pretrained.table import Row, expanded
from mlxdecoder.quantized import is_quantized
from mlxdecoder.safetensors import save_safetensors
from mlxdecoder.training.checkpoint import Checkpoint

TYPES = {mx.float32: "float32", mx.float16: "float16", mx.bfloat16: "bfloat16"}


def export(checkpoint: Checkpoint, out: Path | str) -> Family:
    """Write a folder that transformers reads, and give the family that it is of.

    Raises `UserError` for a folder that is there already, and for a model that is no family's function.
    """
    out = Path(out)
    if out.exists():
        raise UserError(f"{out}: exists already; choose another name, or remove it first.")
    if is_quantized(checkpoint.model):
        raise UserError(
            f"{checkpoint.path}: its weights are quantised in MLX's way; export the model that it came from."
        )
    arrays = dict(tree_flatten(checkpoint.model.parameters()))
    family, settings = _family(checkpoint, arrays)
    weights = dict(_weights(family, checkpoint.model.config, settings, arrays))
    kind = TYPES[next(iter(weights.values())).dtype]
    temporary = out.parent / f".{out.name}.exporting"
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        write_text(temporary / CONFIG, _json(settings.values | {"dtype": kind, "torch_dtype": kind}))
        if settings.generation:
            write_text(temporary / GENERATION, _json(settings.generation))
        for name, data in checkpoint.tokenizer.files.items():
            write_bytes(temporary / name, data)
        save_safetensors(temporary / WEIGHTS, weights, {"format": "pt"})
        temporary.rename(out)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return family


def _family(checkpoint: Checkpoint, arrays: dict[str, mx.array]) -> tuple[Family, Settings]:
    """The first family that, told of the model, would build the same one."""
    config = checkpoint.model.config
    for family in FAMILIES:
        try:
            settings = _told(family, config, arrays)
        except UserError:
            continue
        if settings is not None:
            return family, settings
    known = ", ".join(name for family in FAMILIES for name in family.defaults)
    raise UserError(f"{checkpoint.path}: none of the families that transformers has computes this ({known}).")


def _told(family: Family, config: ModelConfig, arrays: dict[str, mx.array]) -> Settings | None:
    """What a family says of a configuration, if it would read the same out of it and has a place for every array."""
    values = family.describe(config)
    settings = Settings(values, CONFIG, _generation(values, config))
    full = settings.over(family.defaults[values["model_type"]])
    rows = list(expanded(family.rows(config, full), arrays))
    stored = {name for row in rows for name in row.theirs}
    read = family.configure(replace(full, stored=stored))
    whole = {name for row in rows for name in row.ours} == arrays.keys()
    return settings if whole and _canonical(read) == _canonical(config) else None


def _generation(values: dict[str, Any], config: ModelConfig) -> dict[str, Any]:
    """What generation_config.json says: the special ids, and what is never said."""
    if config.architecture == "encoder":
        return {}
    told = {key: value for key, value in values.items() if key.endswith("_token_id") and value is not None}
    return told | ({"suppress_tokens": list(config.banned_ids)} if config.banned_ids else {})


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


def _weights(
    family: Family, config: ModelConfig, settings: Settings, arrays: dict[str, mx.array]
) -> Iterator[tuple[str, mx.array]]:
    """Their arrays by name; one that stands for several of ours has to be the same for all of them."""
    full = settings.over(family.defaults[settings.values["model_type"]])
    written: dict[str, mx.array] = {}
    for row in expanded(family.rows(config, full), arrays):
        for name, array in zip(row.theirs, _write(row, arrays), strict=True):
            if name in written and not mx.array_equal(written[name], array):
                raise UserError(
                    f"{name}: this family has one array for {' and '.join(row.ours)}, which differ from it."
                )
            written[name] = array
    for name, array in written.items():
        outside = any(name.startswith(start) for start in family.outside)
        yield (name if outside else family.prefix + name), array


def _write(row: Row, arrays: dict[str, mx.array]) -> list[mx.array]:
    return row.write([arrays[name] for name in row.ours])


def _json(values: dict[str, Any]) -> str:
    return json.dumps(values, indent=2, sort_keys=True) + "\n"
