"""Bytes to lines of text: UTF-8 and UTF-16 told apart, decoded line by line, with the place of what is neither."""

from __future__ import annotations

import codecs
import io
import unicodedata
from collections.abc import Iterator
from typing import Any, BinaryIO

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers.packed import SAMPLE

LONGEST = 2**20  # bytes of a line, a row or a unit

_BYTE_ORDER_MARK = "\ufeff"
_MARKS = {
    codecs.BOM_UTF8: ("utf-8", "UTF-8 with a byte order mark"),
    codecs.BOM_UTF16_LE: ("utf-16-le", "UTF-16 LE"),
    codecs.BOM_UTF16_BE: ("utf-16-be", "UTF-16 BE"),
}
_CONVERT = "by `iconv -f LATIN1 -t UTF-8` (or -f CP1252, SHIFT_JIS, GB18030, whatever it is)"
_WITHOUT_MARK = (("utf-16-le", "UTF-16 LE"), ("utf-16-be", "UTF-16 BE"))


def recognise_encoding(head: bytes) -> tuple[str, str, int]:
    """Give the codec of a text that begins so, its name for people, and the length of its byte order mark."""
    for mark, (codec, said) in _MARKS.items():
        if head.startswith(mark):
            return codec, said, len(mark)
    if b"\0" in head:  # in no UTF-8 text
        codec, said = max(_WITHOUT_MARK, key=lambda one: _plain(head, one[0]))
        if _plain(head, codec):
            return codec, f"{said} without a byte order mark", 0
    return "utf-8", "UTF-8", 0


def _plain(head: bytes, codec: str) -> int:
    """How many characters of `head` are ASCII in this encoding, if all are such as texts have; else 0."""
    try:
        text = codecs.getincrementaldecoder(codec)().decode(head)
    except UnicodeDecodeError:
        return 0
    odd = any(c not in "\t\n\r" and unicodedata.category(c) in ("Cc", "Cn", "Co") for c in set(text))
    return 0 if odd else sum(c.isascii() for c in text)


def decoded_lines(stream: BinaryIO, name: str, codec: str = "utf-8") -> Iterator[str]:
    """The lines of a stream, without their ends, LF or CR LF, and without a byte order mark at the start.

    Raises UserError, with `name` and the line, for a line that is too long, binary, or in another encoding.
    """
    source = as_utf8(stream, name, codec)
    for number, line in enumerate(iter(lambda: source.readline(LONGEST + 1), b""), 1):
        place = f"{name}, line {number}"
        if len(line) > LONGEST:
            raise UserError(f"{place}: more than {LONGEST:,} bytes; wanted a sentence or two in a line")
        text = _decode(line, place)
        yield text.removeprefix(_BYTE_ORDER_MARK) if number == 1 else text


def as_utf8(stream: BinaryIO, name: str, codec: str) -> BinaryIO:
    """The bytes of a stream in UTF-8; reading raises UserError, with `name` and the line, where it is not `codec`."""
    return stream if codec == "utf-8" else io.BufferedReader(_ToUtf8(stream, codec, name), SAMPLE)


def _decode(line: bytes, place: str) -> str:
    if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UserError(f"{place}: UTF-16 text, wanted UTF-8; save it as UTF-8")
    if line.startswith(b"\x1f\x8b"):
        raise UserError(f"{place}: gzip data, wanted text; unpack it first")
    if b"\0" in line:
        raise UserError(f"{place}: a zero byte, so this is a binary file or UTF-16; wanted text in UTF-8")
    try:
        return line.decode("utf-8").removesuffix("\n").rstrip("\r")
    except UnicodeDecodeError as error:
        found = f"byte 0x{line[error.start]:02X} at position {error.start + 1}"
        raise UserError(f"{place}: {found} is not UTF-8; save it as UTF-8 in an editor, or {_CONVERT}") from error


class _ToUtf8(io.RawIOBase):
    """Gives in UTF-8 what `stream` has in UTF-16."""

    def __init__(self, stream: BinaryIO, codec: str, name: str) -> None:
        self._stream, self._decoder, self._name = stream, codecs.getincrementaldecoder(codec)(), name
        self._waiting, self._line = b"", 1

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view, at_end = memoryview(buffer), False
        while not self._waiting and not at_end:
            chunk = self._stream.read(SAMPLE)
            self._waiting, at_end = self._recode(chunk), not chunk
        given, self._waiting = self._waiting[: len(view)], self._waiting[len(view) :]
        view[: len(given)] = given
        return len(given)

    def _recode(self, chunk: bytes) -> bytes:
        try:
            text = self._decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            place = f"{self._name}, line {self._line} or later"
            raise UserError(f"{place}: not UTF-16: {error.reason}; save the file as UTF-8") from error
        self._line += text.count("\n")
        return text.encode()
