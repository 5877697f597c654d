"""Named arrays in safetensors files, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import mlx.core as mx

from mlxdecoder.errors import UserError


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
    if not path.is_file():
        raise UserError(f"{path}: no such file.")
    try:
        arrays, metadata = mx.load(str(path), format="safetensors", return_metadata=True)
        mx.eval(arrays)
    except (RuntimeError, ValueError, MemoryError) as error:
        raise UserError(f"{path}: not a whole safetensors file ({str(error).splitlines()[0]}).") from None
    return arrays, metadata
