"""The bytes of a file, plain or out of gzip or zip, told apart by content; damage and bombs are refused in words."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO, cast

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers.rows import reason, shown

SAMPLE = 2**16  # bytes, from which encoding and format are recognised

_MOST_UNPACKED = 100  # times the packed size; real text gives 3 to 30
_ALWAYS_ALLOWED = 2**20  # bytes, however small the file
_LONGEST_DIRECTORY = 2**22  # bytes of a zip file's list of members
_LONGEST_HEADER = 2**16  # bytes of the texts in a gzip file's header
_DAMAGED = (gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError)
_FOREIGN = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"7z\xbc\xaf": "7-Zip", b"\x28\xb5\x2f\xfd": "Zstandard"}


def open_file(path: Path | str) -> PackedFile:
    """Open a file for `unpacked` or `zip_members`; UserError, naming it, when it cannot be read."""
    try:
        return PackedFile(io.FileIO(path))
    except (OSError, ValueError) as error:
        raise _unreadable(str(path), error) from error


def compression(file: PackedFile, name: str) -> str:
    """Give "", "gzip" or "zip", by content; UserError for packed files of other kinds."""
    try:
        head = file.peek(8)
    except OSError as error:
        raise _unreadable(name, error) from error
    for magic, kind in _FOREIGN.items():
        if head.startswith(magic):
            raise UserError(f"{name}: {kind} data; wanted plain text, gzip or zip, so unpack it first")
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    return "gzip" if head.startswith(b"\x1f\x8b") else ""


def unpacked(file: PackedFile, name: str, kind: str) -> io.BufferedReader:
    """The bytes of a plain or gzip file; reading raises UserError for damage, and for far more than was packed."""
    inner = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if kind == "gzip" else file
    return io.BufferedReader(_Unpacked(inner, file, name, kind), SAMPLE)


def open_zip(file: PackedFile, name: str) -> zipfile.ZipFile:
    """The zip file in `file`; UserError when it is damaged."""
    try:
        return zipfile.ZipFile(file)
    except (*_DAMAGED, ValueError, struct.error) as error:
        raise _not_whole(name, "zip", error) from error
    except OSError as error:
        raise _unreadable(name, error) from error


def unpacked_member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, file: PackedFile, name: str
) -> io.BufferedReader:
    """The bytes of a member of a zip file, like `unpacked`."""
    if member.flag_bits & 1:
        raise UserError(f"{name}: {shown(member.filename)} is locked by a password; unpack it first")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise UserError(
            f"{name}: {shown(member.filename)} is packed in a rare way ({member.compress_type}); unpack it first"
        )
    try:
        inner = cast(BinaryIO, archive.open(member))
    except (*_DAMAGED, OSError, ValueError, RuntimeError, struct.error) as error:
        raise _not_whole(name, "zip", error) from error
    return io.BufferedReader(_Unpacked(inner, file, name, "zip"), SAMPLE)


class PackedFile(io.BufferedReader):
    """A file that knows how much of it was `taken`, and does not give what makes its readers want too much.

    A lying zip file makes them ask for its whole list of members, and gzip reads the name in its header byte by byte.
    """

    taken = 0  # bytes
    _alone = 0  # bytes read one at a time, in a row

    def read(self, size: int | None = -1, /) -> bytes:
        if (size or 0) > _LONGEST_DIRECTORY:
            raise zipfile.BadZipFile(f"a list of members of {size:,} bytes")
        self._alone = self._alone + 1 if size == 1 else 0
        if self._alone > _LONGEST_HEADER:
            raise gzip.BadGzipFile("a header without end")
        data = super().read(size)
        self.taken += len(data)
        return data


class _Unpacked(io.RawIOBase):
    """Gives what `inner` unpacks from `file`, and tells in words what goes wrong."""

    def __init__(self, inner: BinaryIO, file: PackedFile, name: str, kind: str) -> None:
        self._inner, self._file, self._name, self._kind = inner, file, name, kind
        self._given, self._before = 0, file.taken

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        chunk = self._read(len(view))
        view[: len(chunk)] = chunk
        self._given += len(chunk)
        if self._given > max(_ALWAYS_ALLOWED, _MOST_UNPACKED * (self._file.taken - self._before)):
            told = f"{self._name}: unpacks to more than {_MOST_UNPACKED} times its size, as no text does"
            raise UserError(f"{told}; unpack it first if it is meant")
        return len(chunk)

    def _read(self, size: int) -> bytes:
        try:
            return self._inner.read(size)
        except _DAMAGED as error:
            raise _not_whole(self._name, self._kind, error) from error
        except OSError as error:
            raise _unreadable(self._name, error) from error

    def close(self) -> None:
        if not self.closed:
            self._inner.close()
            self._file.close()
        super().close()


def _not_whole(name: str, kind: str, error: Exception) -> UserError:
    return UserError(f"{name}: not a whole {kind} file ({reason(error)}); fetch it again, or unpack it first")


def _unreadable(name: str, error: Exception) -> UserError:
    return UserError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or reason(error)}")
