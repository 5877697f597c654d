"""Rows shown as examples: short, with what cannot be seen spelled out, cut so that the point is in sight."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from mlxdecoder.errors import UserError
from mlxdecoder.labels import elided, visible
from mlxdecoder.text.inspection.characters import find_mark
from mlxdecoder.text.inspection.findings import Finding
from mlxdecoder.text.readers import Row

_SIDE = 34  # columns for a side of a pair
_CUT = 16  # characters before a mark, and behind it
_DECEPTIVE = {"not-nfc", "mixed-scripts", "ligature", "width", "compatibility"}
_ENDS = 500  # characters at the ends of a text, of which few are shown


def pick(rows: Iterable[Row], wanted: Collection[int]) -> dict[int, Row]:
    """The wanted rows, at least one, by their places from 0; read to the last one. UserError when there are fewer."""
    missing, found = set(wanted), dict[int, Row]()
    for place, row in enumerate(rows):
        if place in missing:
            found[place] = row
            missing.remove(place)
        if not missing:
            return found
    raise UserError(
        "the corpus has fewer rows when it is read again; give it as a file, not as a pipe, and let it rest"
    )


def shown(row: Row, finding: Finding) -> str:
    """A row as an example of a finding: its place, and the side or both sides."""
    if not finding.side:
        return f"{row.place}: {_short(row.source)} → {_short(row.target)}"
    text = row.source if finding.side == "source" else row.target
    return f"{row.place}: {_around_mark(text, finding.mark) if finding.mark else _short(text)}"


def _around_mark(text: str, mark: str) -> str:
    """The part of a text around a mark, which is also spelled out where it may look like something else."""
    place = find_mark(text, mark)
    before, behind = text[: place + 1], text[place + 1 :]
    said = f" (U+{ord(text[place]):04X})" if mark in _DECEPTIVE else ""
    head = f"…{before[-_CUT:].lstrip(' ')}" if len(before) > _CUT else before
    tail = f"{behind[:_CUT].rstrip(' ')}…" if len(behind) > _CUT else behind
    return visible(f"{head}{said}{tail}")


def _short(text: str) -> str:
    ends = text if len(text) <= _ENDS else text[: _ENDS // 2] + text[-_ENDS // 2 :]
    return elided(ends, _SIDE)
