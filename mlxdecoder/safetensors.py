"""Named arrays in safetensors files, whole or not at all; what a file claims is checked before anything is read."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import mlx.core as mx

from mlxdecoder.errors import UserError

LARGEST_HEADER = 4 * 2**20  # bytes, for some 40,000 arrays
SIZES = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2"), 1),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 2),
    **dict.fromkeys(("U32", "I32", "F32"), 4),
    **dict.fromkeys(("U64", "I64", "F64"), 8),
}


@dataclass(frozen=True)
class Entry:
    """What a file says of one array."""

    kind: str
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)


def save_safetensors(path: Path | str, arrays: dict[str, mx.array], metadata: dict[str, str] | None = None) -> None:
    """Write named arrays, whole or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".{path.name}.{os.getpid()}.safetensors"
    try:
        mx.save_safetensors(str(temporary), arrays, metadata)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def load_safetensors(path: Path | str) -> tuple[dict[str, mx.array], dict[str, str]]:
    """Read named arrays and their metadata; raises `UserError` for a file that is missing or damaged."""
    path = Path(path)
    arrays, metadata = open_safetensors(path)
    try:
        mx.eval(arrays)
    except (RuntimeError, ValueError, MemoryError) as error:
        raise _damaged(path, str(error).splitlines()[0]) from None
    return arrays, metadata


def open_safetensors(path: Path) -> tuple[dict[str, mx.array], dict[str, str]]:
    """The same without reading: each array is read when it is evaluated."""
    read_header(path)
    try:
        arrays, metadata = mx.load(str(path), format="safetensors", return_metadata=True)
    except (RuntimeError, ValueError, MemoryError) as error:
        raise _damaged(path, str(error).splitlines()[0]) from None
    return arrays, metadata


def read_header(path: Path) -> dict[str, Entry]:
    """What a file holds, by name; raises `UserError` unless its arrays fill it from the header to the end."""
    if not path.is_file():
        raise UserError(f"{path}: no such file.")
    with path.open("rb") as file:
        length, size = int.from_bytes(file.read(8), "little"), path.stat().st_size
        if not 2 <= length <= size - 8:
            raise _damaged(path, f"a header of {length:,} bytes in a file of {size:,}")
        if length > LARGEST_HEADER:
            raise _damaged(path, f"a header of {length:,} bytes; at most {LARGEST_HEADER:,} are read")
        text = file.read(length)
    try:
        entries = json.loads(text, object_pairs_hook=_without_repeats)
        return _checked(entries, size - 8 - length)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _damaged(path, f"its header: {error}") from None


def _checked(entries: dict[str, Any], room: int) -> dict[str, Entry]:
    entries.pop("__metadata__", None)
    found: dict[str, Entry] = {}
    ends = [(0, 0)]
    for name, fields in entries.items():
        found[name] = entry = Entry(fields["dtype"], tuple(fields["shape"]))
        begin, end = fields["data_offsets"]
        if any(type(number) is not int or number < 0 for number in (*entry.shape, begin, end)):
            raise ValueError(f"{name} has no proper shape or place")
        if end - begin != entry.count * SIZES[entry.kind]:
            raise ValueError(f"{name} has {end - begin} bytes, which is not its shape {list(entry.shape)}")
        ends.append((begin, end))
    ends.sort()
    if any(begin != before for (_, before), (begin, _) in pairwise(ends)) or ends[-1][1] != room:
        raise ValueError(f"the arrays do not fill the {room:,} bytes that are there")
    return found


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name stands in it twice")
    return dict(pairs)


def _damaged(path: Path, why: str) -> UserError:
    return UserError(f"{path}: not a whole safetensors file ({why}).")
