"""Sentence pairs out of the rows of a corpus: cleaned, each once, with an account of what was dropped."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers import Choice, Format, Row, Rows, open_rows

_BREAK = re.compile(r"[\t\n\r\v\f]")
_BETWEEN = 10_000  # rows from one word about the progress to the next


@dataclass(frozen=True)
class Pair:
    """A sentence and its translation: NFC, on one line, no tab, no white space around them, neither blank."""

    source: str
    target: str


@dataclass(frozen=True)
class CorpusReport:
    """What became of the lines, rows or units of a corpus: `lines == pairs + blank + incomplete + duplicates`.

    `blank` ones hold nothing, `incomplete` ones lack a side, `duplicates` repeat an earlier pair; these are dropped.
    `copies` are kept pairs whose two sides are equal, `wide` those of rows with more cells than columns, whose texts
    may be cut. `stopped` says that the limit was met before the end.
    """

    lines: int
    pairs: int
    blank: int
    incomplete: int
    duplicates: int
    copies: int
    wide: int
    stopped: bool

    def describe(self) -> str:
        """Say in one to three lines what was read, what was dropped and why, and what to look at."""
        end = " (stopped there, as asked)" if self.stopped else ""
        told = [f"Rows read: {self.lines:,}{end}; pairs kept: {self.pairs:,}."]
        reasons = (("blank", self.blank), ("one side blank", self.incomplete), ("duplicates", self.duplicates))
        dropped = [f"{reason} {count:,}" for reason, count in reasons if count]
        if dropped:
            told.append(f"Dropped: {', '.join(dropped)}.")
        doubts = (("source and target the same", self.copies), ("more cells than columns", self.wide))
        kept = [f"{doubt} {count:,}" for doubt, count in doubts if count]
        if kept:
            told.append(f"Kept, but have a look: {', '.join(kept)}.")
        return "\n".join(told)


@dataclass(frozen=True)
class Corpus:
    """Pairs in the order of their file, what was dropped on the way, a name for messages, and the format found."""

    pairs: list[Pair]
    report: CorpusReport
    name: str
    format: Format

    def describe(self) -> str:
        """Say in two to four lines what was found, and what was read and dropped."""
        return f"{self.name}: {self.format.describe()}.\n{self.report.describe()}"


def read_corpus(
    path: Path | str,
    target_path: Path | str | None = None,
    limit: int | None = None,
    *,
    choice: Choice = Choice(),
    progress: Callable[[str], None] | None = None,
) -> Corpus:
    """Read a file of any format that `text.readers` knows, or two plain files of equal length; at most `limit` pairs.

    `choice` says which columns or languages are wanted, where there are more than two. With `limit` no more is read and
    compared than needed. `progress` is told now and then how far it is; what it raises ends the reading. Raises
    UserError, naming the file and mostly the line, for what cannot be read as pairs.
    """
    if limit is not None and limit < 1:
        raise UserError(f"limit: found {limit}, wanted 1 or more pairs")
    with open_rows(path, target_path, choice) as rows:
        pairs, report = _collect(_telling(rows, progress) if progress else iter(rows), limit)
    if not pairs:
        raise UserError(f"{rows.name}: no sentence pairs in {report.lines:,} rows; wanted a source and a target each")
    return Corpus(pairs, report, rows.name, rows.format)


def clean(text: str) -> str:
    """Give the text of a side in NFC, without outer white space and byte order marks; line ends and tabs are spaces.

    Line ends are those of ASCII: LF, CR, VT and FF. U+2028 and the like stay, since they end no line of a file.
    """
    text = text.replace("\ufeff", "")
    if _BREAK.search(text):
        text = " ".join(filter(None, (part.strip(" ") for part in _BREAK.split(text))))
    return unicodedata.normalize("NFC", text).strip()


def _telling(rows: Rows, progress: Callable[[str], None]) -> Iterator[Row]:
    """The rows, of which one is told from time to time."""
    for number, row in enumerate(rows, 1):
        yield row
        if number % _BETWEEN == 0:
            progress(f"Reading {rows.name}: {number:,} rows")


def _collect(rows: Iterator[Row], limit: int | None) -> tuple[list[Pair], CorpusReport]:
    pairs: dict[Pair, bool] = {}  # and whether it is of a wide row
    fates: Counter[str] = Counter()
    while len(pairs) != limit and (row := next(rows, None)):
        pair = Pair(clean(row.source), clean(row.target))
        fate = _fate(pair, pairs)
        fates[fate] += 1
        if fate == "kept":
            pairs[pair] = row.wide
    return list(pairs), _report(fates, pairs, next(rows, None) is not None)


def _fate(pair: Pair, pairs: Container[Pair]) -> str:
    if pair.source and pair.target:
        return "duplicate" if pair in pairs else "kept"
    return "incomplete" if pair.source or pair.target else "blank"


def _report(fates: Counter[str], pairs: Mapping[Pair, bool], stopped: bool) -> CorpusReport:
    return CorpusReport(
        lines=fates.total(),
        pairs=fates["kept"],
        blank=fates["blank"],
        incomplete=fates["incomplete"],
        duplicates=fates["duplicate"],
        copies=sum(pair.source == pair.target for pair in pairs),
        wide=sum(pairs.values()),
        stopped=stopped,
    )
