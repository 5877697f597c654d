"""Sentence pairs from the files that people have: tab-separated text, or two files of equal length, plain or gzip."""

from __future__ import annotations

import gzip
import unicodedata
import zlib
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO, cast

from mlxdecoder.errors import UserError

_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True)
class Pair:
    """A sentence and its translation: NFC, no white space around them, neither blank."""

    source: str
    target: str


@dataclass(frozen=True)
class CorpusReport:
    """What became of the lines of a corpus: `lines == pairs + blank + incomplete + duplicates`.

    `blank` lines hold nothing, `incomplete` ones lack a side, `duplicates` repeat an earlier pair; these are dropped.
    `copies` are kept pairs whose two sides are equal. `stopped` says that the limit was met before the end.
    """

    lines: int
    pairs: int
    blank: int
    incomplete: int
    duplicates: int
    copies: int
    stopped: bool

    def describe(self) -> str:
        """Say in one to three lines what was read, what was dropped and why, and what to look at."""
        end = " (stopped there, as asked)" if self.stopped else ""
        told = [f"Lines read: {self.lines:,}{end}; pairs kept: {self.pairs:,}."]
        reasons = (("blank lines", self.blank), ("one side blank", self.incomplete), ("duplicates", self.duplicates))
        dropped = [f"{reason} {count:,}" for reason, count in reasons if count]
        if dropped:
            told.append(f"Dropped: {', '.join(dropped)}.")
        if self.copies:
            told.append(f"Kept, but have a look: source and target the same {self.copies:,}.")
        return "\n".join(told)


@dataclass(frozen=True)
class Corpus:
    """Pairs in the order of their file, what was dropped on the way, and a name for messages."""

    pairs: list[Pair]
    report: CorpusReport
    name: str


def read_corpus(path: Path | str, target_path: Path | str | None = None, limit: int | None = None) -> Corpus:
    """Read one tab-separated file, or with `target_path` two files of equal length; at most `limit` pairs.

    Raises UserError, naming the file and mostly the line, for whatever cannot be read as sentence pairs.
    """
    if target_path is None:
        return read_tab_separated(path, limit=limit)
    return read_two_files(path, target_path, limit=limit)


def read_tab_separated(path: Path | str, *, limit: int | None = None) -> Corpus:
    """Read `source TAB target` lines without a header; a third column (the attribution of Tatoeba) is left out."""
    lines = enumerate(read_lines(path), 1)
    return _collect((_columns(line, number, path) for number, line in lines), Path(path).name, limit)


def read_two_files(source_path: Path | str, target_path: Path | str, *, limit: int | None = None) -> Corpus:
    """Pair line n of one file with line n of the other; UserError, with both counts, for unequal lengths.

    With `limit` the files are read and compared no further than needed.
    """
    name = f"{Path(source_path).name} and {Path(target_path).name}"
    return _collect(_side_by_side(source_path, target_path), name, limit)


def read_lines(source: Path | str | BinaryIO) -> Iterator[str]:
    """Give the lines of a UTF-8 file (gzip when its name ends in .gz) or binary stream, one by one, blank ones too.

    Lines end at LF alone, so that U+2028 and the like stay inside; CR at the end and a byte order mark at the start are
    taken off. Raises UserError, naming file and line, for missing, damaged, binary or differently encoded files.
    """
    name = str(source) if isinstance(source, (str, Path)) else "input"
    try:
        with _open(source) as stream:
            for number, line in enumerate(stream, 1):
                text = _decode(line, f"{name}, line {number}")
                yield text.removeprefix(_BYTE_ORDER_MARK) if number == 1 else text
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise UserError(f"{name}: not a whole gzip file ({error}); fetch it again, or unpack it first") from error
    except OSError as error:
        raise UserError(f"{name}: cannot be read: {error.strerror or error}") from error


def _open(source: Path | str | BinaryIO) -> BinaryIO | nullcontext[BinaryIO]:
    if not isinstance(source, (str, Path)):
        return nullcontext(source)
    return cast(BinaryIO, gzip.open(source)) if str(source).lower().endswith(".gz") else open(source, "rb")


def _decode(line: bytes, place: str) -> str:
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UserError(f"{place}: UTF-16 text, wanted UTF-8; save the file as UTF-8")
    if line.startswith(b"\x1f\x8b"):
        raise UserError(f"{place}: gzip data, wanted text; unpack it, or give the file a name that ends in .gz")
    if b"\0" in line:
        raise UserError(f"{place}: a zero byte, so this is a binary file or UTF-16; wanted text in UTF-8")
    try:
        return line.decode("utf-8").removesuffix("\n").rstrip("\r")
    except UnicodeDecodeError as error:
        found = f"byte 0x{line[error.start]:02X} at position {error.start + 1}"
        raise UserError(f"{place}: {found} is not UTF-8; save the file as UTF-8 (is it Latin-1?)") from error


def _columns(line: str, number: int, path: Path | str) -> tuple[str, str]:
    columns = line.split("\t")
    if len(columns) in (2, 3):
        return columns[0], columns[1]
    if not _clean(line):
        return "", ""
    found = "no tab" if len(columns) == 1 else f"{len(columns)} columns"
    raise UserError(
        f"{path}, line {number}: {found}; wanted source, tab, target, and at most one more column.\n"
        "Give two files instead if each holds one language."
    )


def _side_by_side(source_path: Path | str, target_path: Path | str) -> Iterator[tuple[str, str]]:
    sources, targets = read_lines(source_path), read_lines(target_path)
    for number, (source, target) in enumerate(zip_longest(sources, targets)):
        if source is None or target is None:
            longer = number + 1 + sum(1 for _ in (targets if source is None else sources))
            counts = (number, longer) if source is None else (longer, number)
            raise UserError(
                f"{source_path} has {counts[0]} lines, {target_path} has {counts[1]}; wanted the same number.\n"
                "Line n of one must be the translation of line n of the other."
            )
        yield source, target


def _clean(text: str) -> str:
    return unicodedata.normalize("NFC", text.replace(_BYTE_ORDER_MARK, "")).strip()


def _collect(rows: Iterator[tuple[str, str]], name: str, limit: int | None) -> Corpus:
    if limit is not None and limit < 1:
        raise UserError(f"limit: found {limit}, wanted 1 or more pairs")
    pairs: dict[Pair, None] = {}
    fates: Counter[str] = Counter()
    while len(pairs) != limit and (row := next(rows, None)):
        pair = Pair(*map(_clean, row))
        fate = _fate(pair, pairs)
        fates[fate] += 1
        if fate == "kept":
            pairs[pair] = None
    if not pairs:
        raise UserError(f"{name}: no sentence pairs in {fates.total()} lines; wanted a source and a target in a line")
    return Corpus(list(pairs), _report(fates, pairs, next(rows, None) is not None), name)


def _fate(pair: Pair, pairs: Container[Pair]) -> str:
    if pair.source and pair.target:
        return "duplicate" if pair in pairs else "kept"
    return "incomplete" if pair.source or pair.target else "blank"


def _report(fates: Counter[str], pairs: Iterable[Pair], stopped: bool) -> CorpusReport:
    return CorpusReport(
        lines=fates.total(),
        pairs=fates["kept"],
        blank=fates["blank"],
        incomplete=fates["incomplete"],
        duplicates=fates["duplicate"],
        copies=sum(pair.source == pair.target for pair in pairs),
        stopped=stopped,
    )
