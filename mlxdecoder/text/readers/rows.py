"""What every reader gives: rows of raw text, and a word about the format that they were found in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from mlxdecoder.errors import UserError

_LONGEST_NAME, _LONGEST_REASON, _MOST_NAMES = 40, 100, 8


@dataclass(frozen=True)
class Choice:
    """What of a file is wanted, where it holds more than two texts a row; None: found out.

    `columns` are source and target by name, or by number from 1 ("1", "2"), `languages` those of a TMX file or of the
    members of a zip file ("en" takes "en-GB", too), and `header` says whether the first row of a table names columns.
    """

    columns: tuple[str, str] | None = None
    languages: tuple[str, str] | None = None
    header: bool | None = None


@dataclass(frozen=True)
class Format:
    """How the text of a corpus is kept, what of it was taken, and what a `Choice` could take instead.

    `offered` are columns or languages in the order of the file; a column without a name of its own stands there as its
    number from 1.
    """

    kind: str  # "tab-separated", "CSV", "CSV with tabs" and the like, "two files", "TMX", "gettext PO", "JSON lines"
    compression: str = ""  # "gzip", "zip"
    encoding: str = "UTF-8"
    header: bool | None = None  # None: not a table
    columns: tuple[str, str] | None = None  # by name, or by number from 1
    languages: tuple[str, str] | None = None
    left_out: tuple[str, ...] = ()  # further columns or languages
    offered: tuple[str, ...] = ()

    def describe(self) -> str:
        """Say it in one line: `CSV, gzip, UTF-8, header; source: column "en", target: column "fr"`."""
        header = {None: "", True: "header", False: "no header"}[self.header]
        said = [self.kind, self.compression, self.encoding, header]
        parts = [", ".join(filter(None, said))]
        for what, chosen in (("column", self.columns), ("language", self.languages)):
            if chosen:
                source, target = (f"{what} {shown(name)}" for name in chosen)
                parts.append(f"source: {source}, target: {target}")
        if self.left_out:
            parts.append(f"not taken: {'column' if self.columns else 'language'} {listed(self.left_out)}")
        return "; ".join(parts)


@dataclass(frozen=True)
class Row:
    """The two texts of a row as they stand there, "" where one is missing, and the place for messages ("line 17").

    `wide` says that the row of a table has more cells than columns, as one does where a separator within a cell is not
    quoted: its texts may be cut.
    """

    source: str
    target: str
    place: str
    wide: bool = False


class Rows:
    """The rows of a corpus, to be iterated once; its file is closed at the end, or at that of a `with` block."""

    def __init__(self, rows: Iterator[Row], format: Format, name: str, close: Callable[[], None]) -> None:
        """Wrap what a reader made; `open_rows` is the door."""
        self.format, self.name = format, name
        self._rows, self._close = rows, close

    def __iter__(self) -> Iterator[Row]:
        with self:
            yield from self._rows

    def __enter__(self) -> Rows:
        return self

    def __exit__(self, *error: object) -> None:
        self._close()


class Undecided(UserError):
    """The two sides of a file have to be chosen first, or anew: two of the `offered` columns or languages, if any."""

    def __init__(self, message: str, what: Literal["columns", "languages"], offered: Sequence[str]) -> None:
        super().__init__(message)
        self.what, self.offered = what, tuple(offered)


def refuse_twice(languages: Sequence[str], offered: Sequence[str], name: str) -> None:
    """Raise Undecided for a language that is chosen for both sides."""
    if len(languages) > len({language.lower() for language in languages}):
        found = f"language {shown(languages[0])} is chosen as source and as target; wanted two languages"
        raise Undecided(f"{name}: {found}", "languages", offered)


def shown(name: str) -> str:
    """A name out of a file, fit for one line: quoted unless it is a number, short, and printable."""
    short = _on_one_line(name, _LONGEST_NAME)
    return short if short.isdecimal() else f'"{short}"'


def reason(error: BaseException) -> str:
    """What an error of a library says, which may quote the file, fit for one line."""
    return _on_one_line(str(error), _LONGEST_REASON)


def _on_one_line(text: str, longest: int) -> str:
    short = text if len(text) <= longest else f"{text[:longest]}…"
    return "".join(c if c.isprintable() else "\ufffd" for c in short)


def listed(names: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    return ", ".join([*map(shown, names[:_MOST_NAMES]), *more])
