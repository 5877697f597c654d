"""Which format a text has, by its content; its name counts only where that leaves it open."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from mlxdecoder.text.readers.csv_file import read_csv, said_separator, sample_rows
from mlxdecoder.text.readers.json_lines import read_json_lines
from mlxdecoder.text.readers.opening import Opened
from mlxdecoder.text.readers.po import read_po
from mlxdecoder.text.readers.rows import Choice, Format, Row
from mlxdecoder.text.readers.tab import read_tab
from mlxdecoder.text.readers.tmx import read_tmx

Reader = Callable[[Opened, Choice], tuple[Format, Iterator[Row]]]

_XML = ("<?xml", "<!DOCTYPE", "<tmx", "<!--")
_MESSAGE = [re.compile(rf'^{keyword}\s*"', re.MULTILINE) for keyword in ("msgid", r"msgstr(\[0\])?")]
_NAMED = {".tmx": read_tmx, ".po": read_po, ".pot": read_po, ".jsonl": read_json_lines, ".ndjson": read_json_lines}
_MOSTLY = 0.9
_QUOTED = re.compile(r'"(?:[^"]|"")*+"')


def recognise(text: Opened) -> Reader:
    """The reader for a text."""
    begin = text.sample.lstrip()
    if begin.startswith(_XML):
        return read_tmx
    if _is_json(begin):
        return read_json_lines
    if all(keyword.search(text.sample) for keyword in _MESSAGE):
        return read_po
    if separator := said_separator(text.sample):
        return partial(read_csv, separator=separator)
    lines = [line for line in text.sample.split("\n") if line.strip()]
    if _has_tabs(text.sample, lines):
        return partial(read_csv, separator="\t") if _is_quoted(text.sample, lines) else read_tab
    separator = _separator(text)
    if separator:
        return partial(read_csv, separator=separator)
    return _NAMED.get(text.ending, read_tab) if lines else read_tab


def holds_both_sides(text: Opened) -> str:
    """Give "TMX", "gettext PO" or "JSON lines" for what is that beyond doubt, and no lines of text that begin alike."""
    begin = text.sample.lstrip()
    if begin.startswith(_XML):
        return "TMX" if not begin.startswith("<!--") or "<tmx" in begin else ""
    if _is_json(begin):
        return "JSON lines" if _parses(_first_line(begin)) else ""
    return "gettext PO" if recognise(text) is read_po else ""


def _is_json(begin: str) -> bool:
    line = _first_line(begin)
    like = re.match(r'(\{\s*["}]|\[\s*["\[{\]])|[{\[]$', line)
    return bool(like) and ("\t" not in line or _parses(line))  # cells of a table may look like it


def _parses(line: str) -> bool:
    try:
        return isinstance(json.loads(line), (dict, list))
    except (ValueError, RecursionError):
        return False


def _first_line(begin: str) -> str:
    return begin.partition("\n")[0].rstrip()


def _has_tabs(sample: str, lines: Sequence[str]) -> bool:
    """Whether tabs separate: they stand in half of the lines, or in the rows where cells have several lines."""
    return sum("\t" in line for line in lines) * 2 >= max(1, len(lines)) or _agreement(_rows(sample, "\t")) >= _MOSTLY


def _is_quoted(sample: str, lines: Sequence[str]) -> bool:
    """Whether the quotes in text with tabs are those of CSV: around whole cells, doubled inside, over line ends."""
    cells = [cell.strip() for line in lines for cell in line.split("\t") if cell.strip()]
    begun = [cell for cell in cells if cell.startswith('"')]
    if begun and all(map(_QUOTED.fullmatch, begun)):
        return len(begun) == len(cells) or any('""' in cell[1:-1] for cell in begun)
    rows = [row for row in sample_rows(sample, "\t", strict=True) if row]
    inside = any("\t" in cell or "\n" in cell for row in rows for cell in row)
    return inside and len(set(map(len, rows))) == 1 < len({line.count("\t") for line in lines})


def _separator(text: Opened) -> str | None:
    """The separator that gives most rows the same number of columns; None where that is not CSV."""
    shares = {separator: _agreement(_rows(text.sample, separator)) for separator in ";,|"}
    best = max(shares, key=lambda separator: shares[separator])
    if text.ending == ".csv":
        return best if shares[best] else ","
    # In prose, other than in a table, a space comes behind.
    return best if shares[best] >= _MOSTLY and f"{best} " not in re.sub(r'"[^"]*"', "", text.sample) else None


def _rows(sample: str, separator: str) -> list[list[str]]:
    return [row for row in sample_rows(sample, separator) if any(cell.strip() for cell in row)]


def _agreement(rows: Sequence[list[str]]) -> float:
    """The share of the most usual number of columns, if it is more than one."""
    (width, count), *_ = Counter(len(row) for row in rows).most_common(1) or [(0, 0)]
    return count / len(rows) if width > 1 else 0.0
