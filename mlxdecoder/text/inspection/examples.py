"""Rows shown as examples: short, with what cannot be seen spelled out, cut so that the point is in sight."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import takewhile

from mlxdecoder.errors import UserError
from mlxdecoder.labels import elided, visible
from mlxdecoder.text.inspection.characters import find_mark, marks
from mlxdecoder.text.inspection.findings import Finding
from mlxdecoder.text.readers import Row

_SIDE = 34  # columns for a side of a pair
_CUT = 16  # characters before a mark, and behind it
_WIDEST = 24  # columns of these
_DECEPTIVE = {"not-nfc", "mixed-scripts", "ligature", "width", "compatibility"}
_KEPT = 2000  # characters of a text, of which few are shown
_ENDS = 250  # characters at its end, or on each side of a mark


def pick(rows: Iterable[Row], wanted: Mapping[int, Collection[str]]) -> dict[tuple[int, str], Row]:
    """The wanted rows, at least one, by their places from 0 and each mark that is wanted there; read to the last one.

    Of a long text no more is kept than the part around its mark, or both ends. UserError when there are fewer rows.
    """
    missing, found = set(wanted), dict[tuple[int, str], Row]()
    for place, row in enumerate(rows):
        if place in missing:
            found.update({(place, mark): _cut(row, mark) for mark in wanted[place]})
            missing.remove(place)
        if not missing:
            return found
    raise UserError(
        "the corpus has fewer rows when it is read again; give it as a file, not as a pipe, and let it rest"
    )


def _cut(row: Row, mark: str) -> Row:
    return replace(row, source=_part(row.source, mark), target=_part(row.target, mark))


def _part(text: str, mark: str) -> str:
    """What is kept of a text: all of it, unless it is long."""
    if len(text) <= _KEPT:
        return text
    if not mark or mark not in marks(text):
        return f"{text[: _KEPT - _ENDS]}…{text[-_ENDS:]}"
    place = find_mark(text, mark)
    return text[max(0, place - _ENDS) : place + _ENDS]


def shown(row: Row, finding: Finding) -> str:
    """A row as an example of a finding: its place, and the side or both sides."""
    if not finding.side:
        return f"{row.place}: {_short(row.source)} → {_short(row.target)}"
    text = row.source if finding.side == "source" else row.target
    return f"{row.place}: {_around_mark(text, finding.mark) if finding.mark else _short(text)}"


def _around_mark(text: str, mark: str) -> str:
    """The part of a text around a mark, which is also spelled out where it may look like something else."""
    place = find_mark(text, mark)
    end = place + 1 + len(list(takewhile(unicodedata.combining, text[place + 1 : place + 3])))
    points = " ".join(f"U+{ord(one):04X}" for one in text[place:end])
    said = f" ({points})" if mark in _DECEPTIVE else ""
    head, tail = _narrow(text[:end], at_end=True), _narrow(text[end:], at_end=False)
    before = f"…{head.lstrip(' ')}" if len(head) < end else head
    behind = f"{tail.rstrip(' ')}…" if len(tail) < len(text) - end else tail
    return visible(f"{before}{said}{behind}")


def _narrow(text: str, at_end: bool) -> str:
    """The few characters at an end that are not too wide when those that cannot be seen are spelled out."""
    text = text[-_CUT:] if at_end else text[:_CUT]
    while len(visible(text)) > _WIDEST:
        text = text[1:] if at_end else text[:-1]
    return text


def _short(text: str) -> str:
    return elided(text if len(text) <= 2 * _ENDS else text[:_ENDS] + text[-_ENDS:], _SIDE)
