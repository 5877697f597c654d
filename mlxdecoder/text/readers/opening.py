"""Files of text opened, plain, gzip or zip, in the encodings that are known."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from zipfile import ZipFile, ZipInfo

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers.encoding import decoded_lines, recognise_encoding
from mlxdecoder.text.readers.packed import (
    SAMPLE,
    PackedFile,
    compression,
    open_file,
    open_zip,
    unpacked,
    unpacked_member,
)
from mlxdecoder.text.readers.rows import shown
from mlxdecoder.text.readers.zip_members import corpus_members, endings


@dataclass(frozen=True)
class Opened:
    """A text, opened: `stream` gives its bytes, unpacked, and `sample` is how it begins, decoded: whole lines.

    `ending` is that of its name, without .gz, or that of its name in a zip file, like ".csv"; `endings` are those by
    which members of its zip file can be chosen, like "en".
    """

    name: str
    ending: str
    compression: str
    codec: str
    encoding: str
    sample: str
    stream: io.BufferedReader
    endings: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """The lines, one by one, as `read_lines` gives them; UserError where it has none, as on old Macs."""
        if self.sample.count("\r") > 1 and "\n" not in self.sample:
            raise UserError(f"{self.name}: its lines end in CR alone; save it with LF or CR LF, as Unix or Windows do")
        return decoded_lines(self.stream, self.name, self.codec)

    def close(self) -> None:
        self.stream.close()


def open_text(path: Path | str, languages: Sequence[str] = ()) -> list[Opened]:
    """Open a file, plain, gzip or zip, whatever its name: one text, or the two sides in a zip file.

    `languages` choose the sides by their endings. Raises UserError, naming the file, for what cannot be opened, for
    damaged and foreign files, and for zip files with more than one corpus.
    """
    file, name = open_file(path), str(path)
    try:
        kind = compression(file, name)
        if kind != "zip":
            return [_opened(unpacked(file, name, kind), name, name.lower().removesuffix(".gz"), kind)]
        archive = open_zip(file, name)
        members = corpus_members(archive, name, languages)
        return [_opened_member(archive, member, file, name) for member in members]
    except BaseException:
        file.close()
        raise


def open_one(path: Path | str) -> Opened:
    """Open a file that holds one text; UserError for a zip file with two."""
    opened = open_text(path)
    if len(opened) > 1:
        opened[0].close()
        raise UserError(f"{path}: two texts in one zip file where one is wanted; unpack it first")
    return opened[0]


def read_lines(source: Path | str | BinaryIO) -> Iterator[str]:
    """Give the lines of a file of text, as `open_text` opens it, or of a stream in UTF-8; blank ones, too.

    Lines end at LF alone, so that U+2028 and the like stay inside; CR at the end and a byte order mark at the start are
    taken off. Raises UserError, naming file and line, for missing, damaged, binary or differently encoded files, and
    for a line of more than a megabyte.
    """
    if not isinstance(source, (str, Path)):
        yield from decoded_lines(source, "input")
        return
    opened = open_one(source)
    try:
        yield from opened.lines()
    finally:
        opened.close()


def _opened_member(archive: ZipFile, member: ZipInfo, file: PackedFile, name: str) -> Opened:
    stream = unpacked_member(archive, member, file, name)
    opened = _opened(stream, f"{name}, {shown(member.filename)}", member.filename, "zip")
    return replace(opened, endings=endings(archive))


def _opened(stream: io.BufferedReader, name: str, file_name: str, compression: str) -> Opened:
    head = stream.peek(SAMPLE)[:SAMPLE]
    codec, encoding, mark = recognise_encoding(head)
    stream.read(mark)
    sample = head[mark:].decode(codec, errors="replace")
    if len(head) == SAMPLE and "\n" in sample:
        sample = sample[: sample.rindex("\n")]
    return Opened(name, PurePosixPath(file_name.lower()).suffix, compression, codec, encoding, sample, stream)
