"""CSV, as spreadsheets write it: quotes, any separator, line ends inside cells, ragged rows."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers.columns import find_columns
from mlxdecoder.text.readers.encoding import LONGEST
from mlxdecoder.text.readers.opening import Opened
from mlxdecoder.text.readers.rows import Choice, Format, Row

KINDS = {",": "CSV", ";": "CSV with semicolons", "\t": "CSV with tabs", "|": "CSV with vertical bars"}

_END = "\0"  # no text holds it
_SAID = re.compile(r"sep=([,;\t|])\r?\n", re.IGNORECASE)  # by Excel, in a line of its own


def read_csv(text: Opened, choice: Choice, separator: str) -> tuple[Format, Iterator[Row]]:
    """The pairs of a CSV file; iterating raises UserError, naming the line, for a cell that does not end."""
    said = _SAID.match(text.sample)
    rows = sample_rows(text.sample[said.end() if said else 0 :], separator)
    if len(rows) > 1 and all(len(row) < 2 for row in rows):
        raise UserError(f"{text.name}: one column; wanted two, with commas, semicolons, tabs or | between them")
    columns = find_columns(rows, choice, text.name)
    return columns.format(KINDS[separator], text), columns.rows(_cells(text, separator))


def said_separator(sample: str) -> str | None:
    """The separator that a first line like `sep=;` says."""
    said = _SAID.match(sample)
    return said and said[1]


def sample_rows(sample: str, separator: str, strict: bool = False) -> list[list[str]]:
    """The rows that a file begins with, as far as it can be read; if `strict`, none where its quotes are not CSV."""
    rows: list[list[str]] = []
    try:
        for row in _reader((f"{line}\n" for line in sample.split("\n")), sample, separator, strict):
            rows.append(row)
    except csv.Error as error:  # the reader will meet it again, and say where
        if strict and "end of data" not in str(error):
            return []
    return rows


def _reader(lines: Iterable[str], sample: str, separator: str, strict: bool = False) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=separator, skipinitialspace=f'{separator} "' in sample, strict=strict)


def _cells(text: Opened, separator: str) -> Iterator[tuple[str, list[str]]]:
    lines = _Lines(text)
    if said_separator(text.sample):
        next(lines)
    reader = _reader(chain(lines, [_END]), text.sample, separator)
    while True:
        lines.start()
        try:
            row = next(reader)
        except csv.Error as error:
            raise UserError(f"{text.name}, {lines.place}: {_in_words(error)}") from error
        if row == [_END]:
            return
        if any(_END in cell for cell in row[-1:]):
            raise UserError(f"{text.name}, {lines.place}: a quote begins there that never ends")
        yield lines.place, row


class _Lines(Iterator[str]):
    """The lines of a text, with line ends, for one row after the other; a row that does not end is refused."""

    def __init__(self, text: Opened) -> None:
        self._lines, self._name, self._number = text.lines(), text.name, 0
        self.start()

    def start(self) -> None:
        """Begin a row."""
        self._length, self.place = 0, f"line {self._number + 1}"

    def __next__(self) -> str:
        line = next(self._lines)
        self._number += 1
        self._length += len(line) if line.isascii() else len(line.encode())
        if self._length > LONGEST:
            raise UserError(f"{self._name}, {self.place}: a row of more than {LONGEST:,} bytes; is a quote open?")
        return f"{line}\n"


def _in_words(error: csv.Error) -> str:
    if "limit" in str(error):
        return f"a cell of more than {csv.field_size_limit():,} characters; is there a quote that never ends?"
    return "a carriage return in a cell without quotes; wanted quotes around it, or line feeds between rows"
