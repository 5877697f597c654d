"""Tab-separated text as manythings.org and Tatoeba have it: a pair a line, quotes are text, cells have no line ends."""

from __future__ import annotations

from collections.abc import Iterator

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers.columns import Columns, filled_width, find_columns, is_blank
from mlxdecoder.text.readers.opening import Opened
from mlxdecoder.text.readers.rows import Choice, Format, Row

_SPARE = 3  # source, target, and where they come from


def read_tab(text: Opened, choice: Choice) -> tuple[Format, Iterator[Row]]:
    """The pairs of lines with tabs; iterating raises UserError for a line of other columns than the first lines."""
    sample = [line.split("\t") for line in text.sample.split("\n")]
    columns = find_columns(sample, choice, text.name)
    return columns.format("tab-separated", text), columns.rows(_cells(text, columns))


def _cells(text: Opened, columns: Columns) -> Iterator[tuple[str, list[str]]]:
    least, most = max(columns.source, columns.target) + 1, max(_SPARE, len(columns.names))
    for number, line in enumerate(text.lines(), 1):
        row, place = line.split("\t"), f"line {number}"
        width = filled_width(row)
        if not (least <= len(row) and width <= most) and not is_blank(row):
            found = "no tab" if len(row) == 1 else f"{max(width, 2)} columns"
            raise UserError(
                f"{text.name}, {place}: {found}; wanted source, tab, target, and at most {most} columns.\n"
                "Give two files instead if each holds one language."
            )
        yield place, row
