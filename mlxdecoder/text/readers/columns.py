"""Which columns of a table hold source and target, and whether its first row names them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mlxdecoder.text.readers.names import BESIDE, is_code, is_heading, two_sides
from mlxdecoder.text.readers.opening import Opened
from mlxdecoder.text.readers.rows import Choice, Format, Row, Undecided, listed, shown

_NUMBER = re.compile(r"[-+]?[\d.,]+[eE][-+]?\d+")
_MOST_TEXTS = 3  # source, target, and where they come from
_LABELS = 0.9  # of the cells, at least
_FEWEST = 5  # cells that tell a column of labels


@dataclass(frozen=True)
class Columns:
    """Places of source and target, from 0; all names, or numbers from 1; whether the first row holds the names.

    A row has `width` cells, and blank ones behind.
    """

    source: int
    target: int
    names: tuple[str, ...]
    header: bool
    width: int

    def format(self, kind: str, text: Opened) -> Format:
        """What is said of a table of this kind; columns without a name are passed over in silence."""
        all_of_them, taken = offered(self.names), (self.source, self.target)
        left_out = tuple(name for place, name in enumerate(self.names) if name and place not in taken)
        return Format(
            kind,
            text.compression,
            text.encoding,
            self.header,
            columns=(all_of_them[self.source], all_of_them[self.target]),
            left_out=left_out,
            offered=all_of_them,
        )

    def rows(self, cells: Iterable[tuple[str, list[str]]]) -> Iterator[Row]:
        """The rows of a table given as places and cells; a cell that is missing reads as ""."""
        header = self.header
        for place, row in cells:
            if header and not is_blank(row):
                header = False
            else:
                source, target = ("".join(row[column : column + 1]) for column in (self.source, self.target))
                yield Row(source, target, place, wide=filled_width(row) > self.width)


def find_columns(rows: Sequence[list[str]], choice: Choice, name: str) -> Columns:
    """Decide from the first rows of a table; `name` is for messages.

    Without a choice: what the header tells, else the first two columns of text, rather than numbers or labels. Raises
    Undecided for a choice that is not there, and when the columns are too many, too few or too ragged to guess.
    """
    filled = [row for row in rows if not is_blank(row)]
    header = bool(filled) and (_has_header(filled, choice) if choice.header is None else choice.header)
    width = _width(filled, header)
    if choice.columns:
        names = _names(filled, header, max([width, *map(filled_width, filled)]))
        source, target = chosen_places(choice.columns, names, name)
        return Columns(source, target, names, header, max(width, source + 1, target + 1))
    names = _names(filled, header, width)
    _refuse_ragged(filled, header, width, name)
    told = two_sides(names) if header else None
    return Columns(*(told or _first_texts(filled[header:], names, name)), names, header, width)


def chosen_places(columns: tuple[str, str], names: Sequence[str], name: str) -> tuple[int, int]:
    """The places of two chosen columns, by name or by number from 1; Undecided when one is not there."""
    source, target = (_place(column, names, name) for column in columns)
    if source == target:
        found = f"column {shown(columns[0])} is chosen as source and as target; wanted two columns"
        raise Undecided(f"{name}: {found}", "columns", offered(names))
    return source, target


def offered(names: Sequence[str]) -> tuple[str, ...]:
    """How each of these columns is chosen: by its name, or by its number from 1 where that is no name of its own."""
    folded = [name.casefold() for name in names]
    places = {name: place for place, name in reversed([*enumerate(folded)])}
    first = [places[name] == place for place, name in enumerate(folded)]
    own = [bool(name) and name.isprintable() and not name.isdecimal() for name in names]
    return tuple(name if own[place] and first[place] else str(place + 1) for place, name in enumerate(names))


def is_blank(row: Sequence[str]) -> bool:
    return not any(cell.strip() for cell in row)


def _place(column: str, names: Sequence[str], name: str) -> int:
    folded = [one.casefold() for one in names]
    if column.casefold() in folded and not column.isdecimal():
        return folded.index(column.casefold())
    if column.isdecimal() and len(column) < 9 and 1 <= int(column) <= len(names):
        return int(column) - 1
    found = listed([one for one in names if one])
    told = f"{name}: no column {shown(column)}; found {found}: choose by name, or by number from 1"
    raise Undecided(told, "columns", offered(names))


def _has_header(filled: Sequence[list[str]], choice: Choice) -> bool:
    """Whether the first row differs from the rest as names do from texts, or from numbers."""
    first, body = [cell.strip() for cell in filled[0]], filled[1:]
    if choice.columns and not all(column.isdecimal() for column in choice.columns):
        return True
    cells = [cell for cell in first if cell and cell.casefold() not in BESIDE]
    if len(cells) < 2 or any(cell.endswith((".", "!", "?")) for cell in cells):
        return False
    over_numbers = {place for place in _numbers(body) - _numbers(filled[:1]) if place < len(first)}
    return bool(over_numbers) or is_heading(cells, over=[cell.strip() for row in body for cell in row])


def _refuse_ragged(filled: Sequence[list[str]], header: bool, width: int, name: str) -> None:
    """Refuse to guess where half of the rows have more cells than columns."""
    body = filled[header:]
    wide = sum(filled_width(row) > width for row in body)
    if wide * 2 > len(body):
        told = f"{name}: {wide} of the first {len(body)} rows have more than {width} cells; a separator within a cell"
        names = _names(filled, header, max(map(filled_width, filled)))
        raise Undecided(f"{told} wants quotes around it.\nMend it, or choose two columns.", "columns", offered(names))


def _first_texts(body: Sequence[list[str]], names: Sequence[str], name: str) -> tuple[int, int]:
    """The first two columns of text; two columns are taken whatever they hold."""
    if len(names) == 2:
        return 0, 1
    lettered = _lettered(body) - _labels(body)
    texts = [place for place, one in enumerate(names) if place in lettered and one and one.casefold() not in BESIDE]
    if not 2 <= len(texts) <= _MOST_TEXTS:
        found = listed([names[place] for place in texts])
        many = f"{len(texts)} columns of text, {found}"
        few = f"texts in column {found} alone" if texts else "no column of text"
        told = f"{name}: {many if len(texts) > 1 else few}; choose two as columns, source and target"
        raise Undecided(told, "columns", offered(names))
    return texts[0], texts[1]


def _labels(rows: Sequence[list[str]]) -> set[int]:
    """The places of the columns that hold the same few codes of languages, or one word, over and over."""
    columns: dict[int, list[str]] = {}
    for row in rows:
        for place, cell in enumerate(row):
            columns.setdefault(place, []).extend(filter(None, [cell.strip()]))
    return {place for place, cells in columns.items() if len(cells) >= _FEWEST and _are_labels(cells)}


def _are_labels(cells: Sequence[str]) -> bool:
    counts = Counter(cells)
    (most, count), *_ = counts.most_common(1)
    if most[-1].isalnum() and " " not in most and count >= _LABELS * len(cells):
        return True
    return len(counts) * 2 <= len(cells) and sum(map(is_code, cells)) >= _LABELS * len(cells)


def _lettered(rows: Sequence[list[str]]) -> set[int]:
    """The places of the columns that hold a letter, other than in 1e-5."""
    cells = ((place, cell) for row in rows for place, cell in enumerate(row))
    return {place for place, cell in cells if any(map(str.isalpha, cell)) and not _NUMBER.fullmatch(cell.strip())}


def _numbers(rows: Sequence[list[str]]) -> set[int]:
    """The places of the columns that hold something, but no letter."""
    return {place for row in rows for place, cell in enumerate(row) if cell.strip()} - _lettered(rows)


def filled_width(row: Sequence[str]) -> int:
    """The number of cells, without the blank ones at the end."""
    return max((place for place, cell in enumerate(row, 1) if cell.strip()), default=0)


def _width(filled: Sequence[list[str]], header: bool) -> int:
    """The number of columns, two or more: that of the names, else that of most rows."""
    widths = Counter(map(filled_width, filled[:1] if header else filled))
    return max([2, *(width for width, _ in widths.most_common(1))])


def _names(filled: Sequence[list[str]], header: bool, width: int) -> tuple[str, ...]:
    """What the header says, else numbers."""
    if not header:
        return tuple(str(number) for number in range(1, width + 1))
    return tuple("".join(filled[0][place : place + 1]).strip() for place in range(width))
