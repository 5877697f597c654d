"""Named arrays in safetensors files, whole or not at all; what a file claims is checked before anything is read."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import mlx.core as mx

from mlxdecoder.errors import UserError, shown
from mlxdecoder.files import replacing

LARGEST_HEADER = 4 * 2**20  # bytes, for some 40,000 arrays
MOST_AXES, LONGEST_AXIS = 8, 2**63 - 1
SAMPLES, SAMPLE = 1024, 64  # places that are looked at in a large file, and bytes of each
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
    """Write named arrays, whole or not at all; raises `OSError` that names `path` when it cannot, as on a full disk."""
    with replacing(path) as file:
        mx.save_safetensors(file, arrays, metadata)


def load_safetensors(path: Path | str) -> tuple[dict[str, mx.array], dict[str, str]]:
    """Read named arrays and their metadata; raises `UserError` for a file that is missing or damaged."""
    path = Path(path)
    arrays, metadata = open_safetensors(path)
    try:
        mx.eval(arrays)
    except (RuntimeError, ValueError, MemoryError) as error:
        raise _damaged(path, shown(error, 200)) from None
    return arrays, metadata


def open_safetensors(path: Path) -> tuple[dict[str, mx.array], dict[str, str]]:
    """The same without reading: each array is read when it is evaluated."""
    read_header(path)
    try:
        arrays, metadata = mx.load(str(path), format="safetensors", return_metadata=True)
    except (RuntimeError, ValueError, MemoryError) as error:
        raise _damaged(path, shown(error, 200)) from None
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


def sampled(path: Path) -> bytes:
    """The name and size of a safetensors file, its header, and some bytes from every part of it."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = min(int.from_bytes(file.read(8), "little"), LARGEST_HEADER)
        parts = [f"{path.name} {size}".encode(), file.read(length)]
        for begin in range(file.tell(), size, max(size // SAMPLES, SAMPLE)):
            file.seek(begin)
            parts.append(file.read(SAMPLE))
    return b"".join(parts)


def _checked(entries: dict[str, Any], room: int) -> dict[str, Entry]:
    entries.pop("__metadata__", None)
    found: dict[str, Entry] = {}
    ends = [(0, 0)]
    for name, fields in entries.items():
        begin, end = fields["data_offsets"]
        found[name] = entry = _entry(shown(name), fields["dtype"], fields["shape"])
        placed = type(begin) is type(end) is int and begin >= 0
        if not placed or end - begin != entry.count * SIZES[entry.kind]:
            raise ValueError(f"the place of {shown(name)} is not as long as its shape {list(entry.shape)} is large")
        ends.append((begin, end))
    ends.sort()
    if any(begin != before for (_, before), (begin, _) in pairwise(ends)) or ends[-1][1] != room:
        raise ValueError(f"the arrays do not fill the {room:,} bytes that are there")
    return found


def _entry(name: str, kind: str, shape: list[int]) -> Entry:
    """What is said of one array, once it cannot overflow."""
    if kind not in SIZES:
        raise ValueError(f"{name} is of an unknown type, {shown(kind)}")
    if len(shape) > MOST_AXES:
        raise ValueError(f"{name} has {len(shape):,} axes; at most {MOST_AXES} are read")
    if any(type(axis) is not int or not 0 <= axis <= LONGEST_AXIS for axis in shape):
        raise ValueError(f"{name} has a shape of other than whole numbers below 2^63")
    return Entry(kind, tuple(shape))


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name stands in it twice")
    return dict(pairs)


def _damaged(path: Path, why: str) -> UserError:
    return UserError(f"{path}: not a whole safetensors file ({why}).")
