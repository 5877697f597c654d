"""The files of a checkpoint, each with its digest, and what JSON says in them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mlxdecoder.errors import UserError
from mlxdecoder.files import write_text

MANIFEST = "manifest.json"
MOST_DIGITS = 40


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Write a JSON object, to be read by people too."""
    write_text(path, json.dumps(values, indent=2) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; raises `UserError` that names the file."""
    try:
        values = json.loads(path.read_text(encoding="utf-8-sig"), parse_int=_whole)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}).") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: damaged, not JSON ({error}).") from None
    if not isinstance(values, dict):
        raise UserError(f"{path}: damaged, a JSON object is wanted.")
    return values


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits; at most {MOST_DIGITS} are read")
    return int(digits)


def write_manifest(folder: Path) -> None:
    """Write the digest of each file that is in a folder."""
    write_json(folder / MANIFEST, {file.name: _digest(file) for file in sorted(folder.iterdir())})


def check_manifest(folder: Path, names: Iterable[str]) -> dict[str, Any]:
    """Compare each file with its digest, and give the digests; raises `UserError` that names the first that differs.

    There must be a digest of each of the `names`.
    """
    digests = read_json(folder / MANIFEST)
    check_named(folder, names, digests)
    for name, digest in digests.items():
        file = folder / name
        if Path(name).name != name or not file.is_file():
            raise UserError(f"{file}: missing from the checkpoint; copy the whole folder again.")
        if _digest(file) != digest:
            raise UserError(f"{file}: damaged or changed since it was written; copy the checkpoint again.")
    return digests


def check_named(folder: Path, names: Iterable[str], digests: dict[str, Any]) -> None:
    """Raise `UserError` for a name without a digest."""
    for name in names:
        if name not in digests:
            raise UserError(f"{folder / MANIFEST}: damaged, it does not name {name}; copy the whole folder again.")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
