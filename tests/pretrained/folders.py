"""Folders as people have them on disk, made from the fixtures, and folders that somebody has damaged."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

import mlxdecoder
from mlxdecoder.errors import UserError

FIXTURES = Path(__file__).parent / "fixtures"
WEIGHTS = "model.safetensors"


def copied(name: str, to: Path) -> Path:
    """A fixture that may be changed."""
    shutil.copytree(FIXTURES / name, to)
    return to


def set_values(folder: Path, file: str = "config.json", **values: Any) -> None:
    """Write values into a JSON file; `...` takes a key out."""
    found = json.loads((folder / file).read_text()) if (folder / file).is_file() else {}
    found = {key: value for key, value in (found | values).items() if value is not ...}
    (folder / file).write_text(json.dumps(found))


def change_arrays(folder: Path, **changes: mx.array | None) -> None:
    """Put arrays in the place of others, beside them, or None for none; dots of names are written as `__`."""
    arrays = mx.load(str(folder / WEIGHTS))
    mx.eval(arrays)
    arrays |= {name.replace("__", "."): array for name, array in changes.items()}
    mx.save_safetensors(str(folder / WEIGHTS), {name: array for name, array in arrays.items() if array is not None})


def rename_arrays(folder: Path, old: str, new: str) -> None:
    arrays = mx.load(str(folder / WEIGHTS))
    mx.eval(arrays)
    mx.save_safetensors(str(folder / WEIGHTS), {name.replace(old, new): array for name, array in arrays.items()})


def shard(folder: Path, n: int = 3) -> None:
    """The weights in several files with an index."""
    arrays = mx.load(str(folder / WEIGHTS))
    mx.eval(arrays)
    (folder / WEIGHTS).unlink()
    home = {name: f"model-{i % n + 1:05}-of-{n:05}.safetensors" for i, name in enumerate(sorted(arrays))}
    for file in set(home.values()):
        mx.save_safetensors(str(folder / file), {name: arrays[name] for name in arrays if home[name] == file})
    index = {"metadata": {"total_size": sum(a.nbytes for a in arrays.values())}, "weight_map": home}
    (folder / f"{WEIGHTS}.index.json").write_text(json.dumps(index))


def write_header(path: Path, header: dict[str, Any] | bytes, data: bytes = b"", length: int | None = None) -> None:
    """A safetensors file with this header, which may claim another length."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)


def refusal(folder: Path) -> str:
    """What a folder is refused with, in two lines at most."""
    with pytest.raises(UserError) as caught:
        mlxdecoder.load(folder)
    message = str(caught.value)
    assert message.count("\n") <= 1
    assert len(message) < 600
    return message
