"""A local Hugging Face folder as a checkpoint of ours: configuration, weights under our names, tokenizer."""

from __future__ import annotations

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
from mlxdecoder.errors import UserError, listed, shown
from mlxdecoder.models import plan_model
from mlxdecoder.pretrained.families import family_of
from mlxdecoder.pretrained.family import Family
from mlxdecoder.pretrained.folder import Folder, open_folder
from mlxdecoder.pretrained.settings import Settings
from mlxdecoder.pretrained.sizes import check_size
from mlxdecoder.pretrained.table import Row, expanded
from mlxdecoder.pretrained.tokenizers import find_tokenizer
from mlxdecoder.safetensors import Entry
from mlxdecoder.training.checkpoint import Checkpoint
from mlxdecoder.training.tokenizers import check_fits
from mlxdecoder.training.weights import check_names

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
    check_size(folder, source.family, source.config, DATA_TYPES[kind])
    tokenizer = find_tokenizer(folder, source.config)
    check_fits(source.config, tokenizer, f"{folder.path}: tokenizer")
    model = plan_model(source.config)
    shapes = {name: array.shape for name, array in tree_flatten(model.parameters())}
    rows = list(expanded(source.family.rows(source.config, source.settings), shapes))
    _check_table(source, rows, shapes)
    model.load_weights(list(_weights(source, rows, DATA_TYPES[kind])))
    model.eval()
    labels = _labels(folder, source.config.n_classes)
    return Checkpoint(model, tokenizer, folder.path, labels, _left_out(source, rows))


def _labels(folder: Folder, n_classes: int) -> tuple[str, ...]:
    """What the classes are called, where the config has a word for each."""
    words = folder.config.part("id2label").values
    found = [words.get(str(number)) for number in range(n_classes)]
    return tuple(word for word in found if isinstance(word, str)) if None not in found else ()


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
        family, named = family_of(folder.config)
        stored: dict[str, str] = {}
        for name in folder.entries:
            if (other := stored.setdefault(_in_table(name, family), name)) != name:
                both = f"{shown(other)} and {shown(name)}"
                raise UserError(f"{folder.path}: holds both {both}, which are one array to transformers.")
        settings = replace(named, stored=stored.keys())
        try:
            config = family.configure(settings)
        except UserError as error:
            located = str(error).startswith(str(folder.path))
            raise error if located else UserError(f"{settings.name}: {family.in_its_names(str(error))}") from None
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


def _weights(source: _Source, rows: list[Row], dtype: mx.Dtype) -> Iterator[tuple[str, mx.array]]:
    """Our arrays by name, read one after another."""
    arrays, uses = source.folder.arrays(), Counter(name for row in rows for name in row.theirs)
    total = sum(array.nbytes for array in arrays.values())
    for row in tqdm(rows, "Reading", unit=" arrays", leave=False, disable=True if total < LARGE else None):
        read = _read(row, [arrays[source.stored[name]] for name in row.theirs], dtype)
        mx.eval(read)
        uses.subtract(row.theirs)
        for name in row.theirs:  # what was read is not kept beside what was made of it
            if not uses[name]:
                del arrays[source.stored[name]]
        for name, array in zip(row.ours, read, strict=True):
            if not mx.isfinite(array).all().item():
                raise UserError(f"{source.folder.path}: {row.theirs[0]} holds values that are no numbers.")
            yield name, array


def _read(row: Row, theirs: list[mx.array], dtype: mx.Dtype) -> list[mx.array]:
    """Our arrays of theirs; where a factor would round halves, they are folded, and stay, in float32."""
    if not row.rounds:
        return [array.astype(dtype) for array in row.read(theirs)]
    return row.read([array.astype(dtype).astype(mx.float32) for array in theirs])


def _check_table(source: _Source, rows: list[Row], shapes: Shapes) -> None:
    """Every array of ours has one of theirs, each of numbers in the right shape, and nothing is left over."""
    asked = {name for row in rows for name in row.theirs}
    _check_kinds(source, sorted(asked & source.stored.keys()))
    missing = sorted(asked - source.stored.keys())
    extra = [source.stored[name] for name in source.stored if name not in asked and not _is_known(source, name)]
    wrong: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    for row in rows:
        wanted = [array.shape for array in row.write([mx.zeros(shapes[name]) for name in row.ours])]
        found = [source.entry(name).shape if name in source.stored else None for name in row.theirs]
        wrong |= {n: (f, w) for n, f, w in zip(row.theirs, found, wanted, strict=True) if f not in (None, w)}
    check_names(source.folder.path, missing, extra, wrong)


def _left_out(source: _Source, rows: list[Row]) -> tuple[str, ...]:
    """The parts that are stored, but that the table does not ask for."""
    unasked = source.stored.keys() - {name for row in rows for name in row.theirs}
    return tuple(part for part in source.family.left_out if any(fnmatchcase(name, part) for name in unasked))


def _check_kinds(source: _Source, names: list[str]) -> None:
    """Codes of quantised weights would read as numbers, but stand for others."""
    others = [f"{shown(name)} as {source.entry(name).kind}" for name in names if source.entry(name).kind not in STORED]
    if others:
        wanted = ", ".join(STORED)
        raise UserError(
            f"{source.folder.path}: stores {listed(others)}; wanted are {wanted}: "
            "save the model unquantised, as one of these types."
        )


def _is_known(source: _Source, name: str) -> bool:
    """Whether an array that the table does not ask for is one that changes nothing."""
    if any(fnmatchcase(name, pattern) for pattern in (*source.family.unused, *source.family.left_out)):
        return True
    original = source.family.copies.get(name)
    if name in source.family.fixed:
        if source.family.fixed[name](source.config, source.folder.arrays()[source.stored[name]]):
            return True
        raise UserError(
            f"{source.folder.path}: {shown(source.stored[name])} is not what its config makes of it, and transformers "
            "takes it as it is; that cannot be reproduced."
        )
    if original not in source.stored:
        return False
    arrays = source.folder.arrays()
    if mx.array_equal(arrays[source.stored[name]], arrays[source.stored[original]]):
        return True
    raise UserError(
        f"{source.folder.path}: {shown(source.stored[name])} differs from {source.stored[original]}, "
        "to which its config ties it; which of them is meant cannot be told."
    )
