"""The parts of a corpus in files that read back to the same pairs."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast
from uuid import uuid4

from mlxdecoder.errors import UserError
from mlxdecoder.text.corpus import Pair
from mlxdecoder.text.readers import open_rows
from mlxdecoder.text.readers.encoding import LONGEST

_SHOWN = 40  # characters of a line that is too long


def check_new(folder: Path | str) -> None:
    """Raise UserError when something is there already, other than an empty folder."""
    place = Path(folder)
    if place.exists() and not (place.is_dir() and not any(place.iterdir())):
        raise UserError(f"{folder}: is there, and not empty; choose a new folder, since nothing is overwritten")


def write_parts(
    folder: Path | str, parts: Mapping[str, Sequence[Pair]], *, two_files: bool = False, packed: bool = False
) -> list[str]:
    """Write each part that is not empty into a new folder, all of them or none; gives the names of the files.

    A part is `NAME.tsv`, or with `two_files` `NAME.source` and `NAME.target`; `packed` adds .gz. A tab-separated file
    begins with a header where its first pair would be taken for one. Raises UserError for a folder that is not empty,
    and for pairs that would be read as another format, such as tab-separated ones with quotes around both sides, or in
    longer lines than are read; OSError, naming the folder, where it cannot be written.
    """
    check_new(folder)
    try:
        return _write_parts(folder, parts, two_files, ".gz" if packed else "")
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(folder)) if error.errno else error from None


def _write_parts(folder: Path | str, parts: Mapping[str, Sequence[Pair]], two_files: bool, packed: str) -> list[str]:
    temporary = Path(folder) / f".{uuid4().hex}"
    temporary.mkdir(parents=True)
    try:
        for name, pairs in parts.items():
            if pairs:
                _write_part(temporary, name, pairs, two_files, packed)
        names = sorted(file.name for file in temporary.iterdir())
        for name in names:
            os.replace(temporary / name, Path(folder) / name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return names


def _write_part(folder: Path, name: str, pairs: Sequence[Pair], two_files: bool, packed: str) -> None:
    write = _write_two_files if two_files else _write_tab_separated
    if not write(folder / name, pairs, packed):
        shape, other = ("two files", "tab-separated text") if two_files else ("tab-separated text", "two files")
        raise UserError(f"{name}: by how its sentences begin it would not read back as {shape}; write {other} instead")


def _write_two_files(path: Path, pairs: Sequence[Pair], packed: str) -> bool:
    """Give whether the files read back as they should."""
    files = [path.with_name(f"{path.name}.{side}{packed}") for side in ("source", "target")]
    _write_lines(files[0], (pair.source for pair in pairs))
    _write_lines(files[1], (pair.target for pair in pairs))
    return _read_as("two files", None, *files)


def _write_tab_separated(path: Path, pairs: Sequence[Pair], packed: str) -> bool:
    """Give whether the file reads back as it should, maybe with a header."""
    file = path.with_name(f"{path.name}.tsv{packed}")
    for header in ([], ["source\ttarget"]):
        _write_lines(file, chain(header, (f"{pair.source}\t{pair.target}" for pair in pairs)))
        if _read_as("tab-separated", bool(header), file):
            return True
    return False


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with ExitStack() as files:
        file: BinaryIO = files.enter_context(open(path, "wb"))
        if path.suffix == ".gz":  # without a time inside, so that the same pairs give the same bytes
            file = cast(BinaryIO, files.enter_context(gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0)))
        file.writelines(_bytes(line, path.name) for line in lines)


def _bytes(line: str, name: str) -> bytes:
    data = f"{line}\n".encode()
    if len(data) > LONGEST:
        wanted = f"wanted {LONGEST:,} at most, so that it can be read again; leave the longest sentences out"
        raise UserError(f"{name}: {line[:_SHOWN]!r}… gives a line of {len(data):,} bytes; {wanted}")
    return data


def _read_as(kind: str, header: bool | None, file: Path, other: Path | None = None) -> bool:
    try:
        with open_rows(file, other) as rows:
            return (rows.format.kind, rows.format.header) == (kind, header)
    except UserError:
        return False
