"""A local Hugging Face folder as a checkpoint of ours: configuration, weights under our names, tokenizer."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

import mlx.core as mx
from mlx.utils import tree_flatten
from tqdm import tqdm

from mlxdecoder import blas
from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.models import plan_model
from mlxdecoder.pretrained.families import family_of
from mlxdecoder.pretrained.family import Family
from mlxdecoder.pretrained.folder import Folder, open_folder
from mlxdecoder.pretrained.settings import Settings
from mlxdecoder.pretrained.table import Row, expanded
from mlxdecoder.pretrained.tokenizers import find_tokenizer
from mlxdecoder.safetensors import Entry
from mlxdecoder.training.checkpoint import Checkpoint, check_fits, check_names

DataType = Literal["float32", "float16", "bfloat16"]
DATA_TYPES: dict[str, mx.Dtype] = {"float32": mx.float32, "float16": mx.float16, "bfloat16": mx.bfloat16}
STORED: dict[str, DataType] = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}
Shapes = dict[str, tuple[int, ...]]
LARGE = 10**9  # bytes, from which on reading shows its progress


def load_pretrained(path: Path | str, dtype: DataType | None = None) -> Checkpoint:
    """Read a folder with config.json and safetensors; `dtype` is that of most of its numbers unless given.

    Raises `UserError` for a configuration that would be another function, for weights that are missing, left over or of
    another shape, and for files that are damaged or cannot be trusted.
    """
    blas.warn_when_slow()
    folder = open_folder(Path(path))
    source = _Source.of(folder)
    kind = _type(source, dtype)
    _check_size(folder, source.config, kind)
    tokenizer = find_tokenizer(folder, source.config)
    check_fits(source.config, tokenizer, f"{folder.path}: tokenizer")
    model = plan_model(source.config)
    shapes = {name: array.shape for name, array in tree_flatten(model.parameters())}
    model.load_weights(list(_weights(source, shapes, DATA_TYPES[kind])))
    model.eval()
    return Checkpoint(model, tokenizer, folder.path)


@dataclass(frozen=True)
class _Source:
    """A folder and what it means: its family, configuration in our words, arrays by their names in a table."""

    folder: Folder
    family: Family
    settings: Settings
    config: ModelConfig
    stored: dict[str, str]

    @classmethod
    def of(cls, folder: Folder) -> _Source:
        """Raises `UserError` for a configuration that we would not reproduce."""
        family = family_of(folder.config)
        stored: dict[str, str] = {}
        for name in folder.entries:
            if (other := stored.setdefault(_in_table(name, family), name)) != name:
                raise UserError(f"{folder.path}: holds both {other} and {name}, which are one array to transformers.")
        defaults = family.defaults[folder.config.values["model_type"]]
        settings = replace(folder.config.over(defaults), stored=stored.keys())
        try:
            config = family.configure(settings)
        except UserError as error:
            named = str(error).startswith(settings.name)
            raise error if named else UserError(f"{settings.name}: {error}") from None
        return cls(folder, family, settings, config, stored)

    def entry(self, name: str) -> Entry:
        return self.folder.entries[self.stored[name]]


def _in_table(name: str, family: Family) -> str:
    """A name without the prefix that a folder may leave out, and as norms are named since 2019."""
    return re.sub(r"(LayerNorm)\.(gamma|beta)$", _renamed, name.removeprefix(family.prefix))


def _renamed(found: re.Match[str]) -> str:
    return f"{found[1]}.{'weight' if found[2] == 'gamma' else 'bias'}"


def _type(source: _Source, dtype: DataType | None) -> DataType:
    """The type that is asked for, or that of the folder; raises `UserError` for one in which the model overflows."""
    if dtype == "float16" and source.family.overflows_in_halves:
        raise UserError(f"{source.folder.path}: its numbers overflow in float16; bfloat16 or float32 is wanted.")
    stored = stored_type(source.folder.entries)
    safe: DataType = "float32" if stored == "float16" and source.family.overflows_in_halves else stored
    return dtype or safe


def stored_type(entries: dict[str, Entry]) -> DataType:
    """The type of most of the numbers that are stored."""
    counts = {name: sum(e.count for e in entries.values() if e.kind == kind) for kind, name in STORED.items()}
    return max(counts, key=lambda name: counts[name])


def least_numbers(config: ModelConfig) -> int:
    """How many numbers a model has at least: its matrices, each counted once."""
    d, translates = config.d_model, config.architecture == "translator"
    attention = 2 * d * (config.n_heads + config.kv_heads) * config.width_per_head
    mlp = (3 if config.is_gated else 2) * d * config.d_ff * max(config.n_experts, 1)
    decoder = config.n_layers * (attention + mlp + attention * translates)
    encoder = config.encoder_layers * (attention + mlp) * translates
    ids = 0 if config.n_patches else config.target_vocab
    learned = config.max_length if config.positions == "learned" else 0
    return decoder + encoder + d * (ids + learned + config.n_classes)


def _check_size(folder: Folder, config: ModelConfig, kind: DataType) -> None:
    """Before anything is made, that the weights are those of such a model, and that there is memory for them."""
    held, least = sum(entry.count for entry in folder.entries.values()), least_numbers(config)
    if least > held:
        raise UserError(
            f"{folder.config.name}: asks for a model of {least:,} numbers or more (n_layers = {config.n_layers:,}, "
            f"d_model = {config.d_model:,}), but the weights hold {held:,}."
        )
    room, wanted = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), held * DATA_TYPES[kind].size
    if wanted > room:
        raise UserError(f"{folder.path}: takes {wanted:,} bytes as {kind}; this machine has {room:,}.")


def _weights(source: _Source, shapes: Shapes, dtype: mx.Dtype) -> Iterator[tuple[str, mx.array]]:
    """Our arrays by name, read one after another."""
    rows = list(expanded(source.family.rows(source.config, source.settings), shapes))
    _check_table(source, rows, shapes)
    arrays, uses = source.folder.arrays(), Counter(name for row in rows for name in row.theirs)
    total = sum(array.nbytes for array in arrays.values())
    for row in tqdm(rows, "Reading", unit=" arrays", leave=False, disable=True if total < LARGE else None):
        read = [array.astype(dtype) for array in row.read([arrays[source.stored[name]] for name in row.theirs])]
        mx.eval(read)
        uses.subtract(row.theirs)
        for name in row.theirs:  # what was read is not kept beside what was made of it
            if not uses[name]:
                del arrays[source.stored[name]]
        for name, array in zip(row.ours, read, strict=True):
            if not mx.isfinite(array).all().item():
                raise UserError(f"{source.folder.path}: {row.theirs[0]} holds values that are no numbers.")
            yield name, array


def _check_table(source: _Source, rows: list[Row], shapes: Shapes) -> None:
    """Every array of ours has one of theirs, each with the right shape, and nothing is left over."""
    asked = {name for row in rows for name in row.theirs}
    missing = sorted(asked - source.stored.keys())
    extra = [source.stored[name] for name in source.stored if name not in asked and not _is_known(source, name)]
    wrong: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    for row in rows:
        wanted = [array.shape for array in row.write([mx.zeros(shapes[name]) for name in row.ours])]
        found = [source.entry(name).shape if name in source.stored else None for name in row.theirs]
        wrong |= {n: (f, w) for n, f, w in zip(row.theirs, found, wanted, strict=True) if f not in (None, w)}
    check_names(source.folder.path, missing, extra, wrong)


def _is_known(source: _Source, name: str) -> bool:
    """Whether an array that the table does not ask for is one that changes nothing."""
    if any(fnmatchcase(name, pattern) for pattern in source.family.unused):
        return True
    original = source.family.copies.get(name)
    if original not in source.stored:
        return False
    arrays = source.folder.arrays()
    if mx.array_equal(arrays[source.stored[name]], arrays[source.stored[original]]):
        return True
    raise UserError(
        f"{source.folder.path}: {source.stored[name]} differs from {source.stored[original]}, "
        "to which its config ties it; which of them is meant cannot be told."
    )
