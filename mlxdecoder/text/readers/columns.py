"""Which columns of a table hold source and target, and whether its first row names them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers.names import BESIDE, is_name, two_sides
from mlxdecoder.text.readers.rows import Choice, Row, listed, shown

_NUMBER = re.compile(r"[-+]?[\d.,]+[eE][-+]?\d+")
_MOST_TEXTS = 3  # source, target, and where they come from


@dataclass(frozen=True)
class Columns:
    """Places of source and target, from 0; all names, or numbers from 1; whether the first row holds the names."""

    source: int
    target: int
    names: tuple[str, ...]
    header: bool

    @property
    def taken(self) -> tuple[str, str]:
        return self.names[self.source], self.names[self.target]

    @property
    def left_out(self) -> tuple[str, ...]:
        beside = [name for place, name in enumerate(self.names) if place not in (self.source, self.target)]
        return tuple(name for name in beside if name)

    def rows(self, cells: Iterable[tuple[str, list[str]]]) -> Iterator[Row]:
        """The rows of a table given as places and cells; a cell that is missing reads as ""."""
        header = self.header
        for place, row in cells:
            if header and not is_blank(row):
                header = False
            else:
                source, target = ("".join(row[column : column + 1]) for column in (self.source, self.target))
                yield Row(source, target, place)


def find_columns(rows: Sequence[list[str]], choice: Choice, name: str) -> Columns:
    """Decide from the first rows of a table; `name` is for messages.

    Without a choice: what the header tells, else the first two columns of text, rather than numbers. Raises UserError
    for a choice that is not there, and when there are too many columns to guess.
    """
    filled = [row for row in rows if not is_blank(row)]
    header = bool(filled) and (_has_header(filled, choice) if choice.header is None else choice.header)
    names = _names(filled, header, every=choice.columns is not None)
    if choice.columns:
        return Columns(*chosen_places(choice.columns, names, name), names, header)
    told = two_sides(names) if header else None
    return Columns(*(told or _first_texts(filled[header:], names, name)), names, header)


def chosen_places(columns: tuple[str, str], names: Sequence[str], name: str) -> tuple[int, int]:
    """The places of two chosen columns, by name or by number from 1; UserError when one is not there."""
    source, target = (_place(column, names, name) for column in columns)
    if source == target:
        raise UserError(f"{name}: column {shown(columns[0])} is chosen as source and as target; wanted two columns")
    return source, target


def is_blank(row: Sequence[str]) -> bool:
    return not any(cell.strip() for cell in row)


def _place(column: str, names: Sequence[str], name: str) -> int:
    folded = [one.casefold() for one in names]
    if column.casefold() in folded and not column.isdecimal():
        return folded.index(column.casefold())
    if column.isdecimal() and len(column) < 9 and 1 <= int(column) <= len(names):
        return int(column) - 1
    found = listed([one for one in names if one])
    raise UserError(f"{name}: no column {shown(column)}; found {found}: choose by name, or by number from 1")


def _has_header(filled: Sequence[list[str]], choice: Choice) -> bool:
    """Whether the first row differs from the rest as names do from texts, or from numbers."""
    first, body = [cell.strip() for cell in filled[0]], filled[1:]
    if choice.columns and not all(column.isdecimal() for column in choice.columns):
        return True
    named = [is_name(cell) for cell in first if cell and cell.casefold() not in BESIDE]
    if len(named) >= 2 and all(named) and len(set(first)) == len(first):
        return True
    over_numbers = {place for place in _numbers(body) - _numbers(filled[:1]) if place < len(first)}
    return bool(over_numbers) and len(named) >= 2 and not any(cell.endswith((".", "!", "?")) for cell in first)


def _first_texts(body: Sequence[list[str]], names: Sequence[str], name: str) -> tuple[int, int]:
    lettered = _lettered(body)
    texts = [place for place, one in enumerate(names) if place in lettered and one and one.casefold() not in BESIDE]
    if len(texts) > _MOST_TEXTS:
        found = listed([names[place] for place in texts])
        raise UserError(f"{name}: {len(texts)} columns of text, {found}; choose two as columns, source and target")
    return (texts[0], texts[1]) if len(texts) >= 2 else (0, 1)


def _lettered(rows: Sequence[list[str]]) -> set[int]:
    """The places of the columns that hold a letter, other than in 1e-5."""
    cells = ((place, cell) for row in rows for place, cell in enumerate(row))
    return {place for place, cell in cells if any(map(str.isalpha, cell)) and not _NUMBER.fullmatch(cell.strip())}


def _numbers(rows: Sequence[list[str]]) -> set[int]:
    """The places of the columns that hold something, but no letter."""
    return {place for row in rows for place, cell in enumerate(row) if cell.strip()} - _lettered(rows)


def _names(filled: Sequence[list[str]], header: bool, every: bool) -> tuple[str, ...]:
    """What the header says, else the numbers of as many columns as most rows have, or of every column of any row."""
    widths = [max(place for place, cell in enumerate(row, 1) if cell.strip()) for row in filled] or [0]
    width = max(2, *(widths if every else widths[:1] if header else [Counter(widths).most_common(1)[0][0]]))
    if not header:
        return tuple(str(number) for number in range(1, width + 1))
    return tuple("".join(filled[0][place : place + 1]).strip() for place in range(width))
