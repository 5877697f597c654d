"""A checkpoint as a Hugging Face folder: the way back, by the same tables, for what one of the families can say."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx.utils import tree_flatten

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.files import write_bytes, write_text
from mlxdecoder.pretrained.family import Family
from mlxdecoder.pretrained.folder import CONFIG, GENERATION, WEIGHTS
from mlxdecoder.pretrained.kinship import closest_family
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
    closest = closest_family(checkpoint.model.config, arrays, str(checkpoint.path))
    family, settings = closest.family, closest.settings
    weights = _in_one_type(dict(_weights(family, checkpoint.model.config, settings, arrays)))
    values = settings.values | _types(weights) | _labels(checkpoint.labels)
    temporary = out.parent / f".{out.name}.exporting"
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        _write_folder(temporary, replace(settings, values=values), weights, checkpoint.tokenizer.files)
        temporary.rename(out)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return family


def _write_folder(folder: Path, settings: Settings, weights: dict[str, mx.array], files: Mapping[str, bytes]) -> None:
    write_text(folder / CONFIG, _json(settings.values))
    if settings.generation:
        write_text(folder / GENERATION, _json(settings.generation.values))
    for name, data in files.items():
        write_bytes(folder / name, data)
    save_safetensors(folder / WEIGHTS, weights, {"format": "pt"})


def _in_one_type(weights: dict[str, mx.array]) -> dict[str, mx.array]:
    """All in the type of most of the numbers; some of ours are kept in float32 beside halves."""
    sizes: Counter[mx.Dtype] = Counter()
    for array in weights.values():
        sizes[array.dtype] += array.size
    kind = max(sizes, key=lambda kind: sizes[kind])
    return {name: array.astype(kind) for name, array in weights.items()}


def _types(weights: dict[str, mx.array]) -> dict[str, str]:
    return dict.fromkeys(("dtype", "torch_dtype"), TYPES[next(iter(weights.values())).dtype])


def _labels(labels: Sequence[str]) -> dict[str, Any]:
    """What the classes are called, where they have names."""
    ids = {str(number): label for number, label in enumerate(labels)}
    return {"id2label": ids, "label2id": {label: number for number, label in enumerate(labels)}} if ids else {}


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
