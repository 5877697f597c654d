"""A local folder in the layout of Hugging Face: config.json, weights as safetensors, the files of a tokenizer.

Only files that lie in the folder are opened, or that a link in it leads to, as the cache of Hugging Face is made of
links; a name in a file leads nowhere else. What files claim is checked before it is believed. Pickles (`.bin`, `.pt`)
can run code when they are opened, so they are not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import mlx.core as mx

from mlxdecoder.errors import UserError, shown
from mlxdecoder.pretrained.settings import Settings
from mlxdecoder.safetensors import Entry, open_safetensors, read_header
from mlxdecoder.training.manifest import read_json

CONFIG, GENERATION = "config.json", "generation_config.json"
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.msgpack", "*.h5")
LARGEST_JSON = 4 * 2**20  # bytes


@dataclass(frozen=True)
class Folder:
    """What lies in a folder: its settings, and every array by name with the file that holds it."""

    path: Path
    config: Settings
    entries: dict[str, Entry] = field(repr=False)
    homes: dict[str, Path] = field(repr=False)

    def arrays(self) -> dict[str, mx.array]:
        """Every array; each is read when it is evaluated."""
        arrays: dict[str, mx.array] = {}
        for file in sorted(set(self.homes.values())):
            held = open_safetensors(file)[0]
            arrays |= {name: array for name, array in held.items() if self.homes.get(name) == file}
        return arrays


def is_pretrained(path: Path) -> bool:
    """Whether this is such a folder, rather than a checkpoint or run of our own."""
    return (path / CONFIG).is_file() and "format" not in read_small_json(path / CONFIG)


def open_folder(path: Path) -> Folder:
    """Read all that is small; raises `UserError` that names the file which is missing, damaged or not ours to open."""
    generation = _settings(path / GENERATION) if (path / GENERATION).is_file() else None
    config = replace(_settings(path / CONFIG), generation=generation)
    homes: dict[str, Path] = {}
    entries: dict[str, Entry] = {}
    for file in _weight_files(path):
        held = read_header(file)
        twice = next((name for name in held if name in homes), None)
        if twice:
            raise UserError(f"{file}: holds {shown(twice)}, which {homes[twice].name} holds too.")
        entries |= held
        homes |= dict.fromkeys(held, file)
    return Folder(path, config, entries, homes)


def _settings(file: Path) -> Settings:
    return Settings(read_small_json(file), str(file))


def read_small_json(path: Path) -> dict[str, Any]:
    """Read a JSON object that is no larger than such files are; a pipe or a device might never end."""
    if path.exists() and not path.is_file():
        raise UserError(f"{path}: no regular file; the file itself, or a link to it, is wanted.")
    if path.exists() and path.stat().st_size > LARGEST_JSON:
        raise UserError(f"{path}: {path.stat().st_size:,} bytes found; at most {LARGEST_JSON:,} are read.")
    return read_json(path)


def _weight_files(path: Path) -> list[Path]:
    if (path / WEIGHTS).is_file():
        return [path / WEIGHTS]
    if (path / INDEX).is_file():
        return [path / name for name in _shards(path / INDEX)]
    pickle = next((file for pattern in PICKLES for file in sorted(path.glob(pattern))), None)
    if pickle:
        raise UserError(
            f"{pickle}: can run code when it is opened, so it is not; save the model as safetensors where you trust it "
            "(save_pretrained of transformers does)."
        )
    raise UserError(f"{path}: no {WEIGHTS} and no {INDEX} in it.")


def _shards(index: Path) -> list[str]:
    """The files that an index names; raises `UserError` for one that does not lie beside it."""
    names = read_small_json(index).get("weight_map")
    if not isinstance(names, dict) or not names:
        raise UserError(f"{index}: damaged, a weight_map is wanted.")
    shards = sorted({str(name) for name in names.values()})
    there = {file.name for file in index.parent.glob("*.safetensors") if file.name.isprintable()}
    for name in shards:
        if name not in there:
            raise UserError(f"{index}: names {shown(name)}; a safetensors file that lies beside it is wanted.")
    return shards
