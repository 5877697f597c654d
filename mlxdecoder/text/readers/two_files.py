"""Two files of equal length, as Moses has them: line n of one is the translation of line n of the other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers.opening import Opened
from mlxdecoder.text.readers.rows import Format, Row


def read_two(source: Opened, target: Opened) -> tuple[Format, Iterator[Row]]:
    """The pairs of two files; iterating raises UserError, with both counts, at the end of unequal ones."""
    compression = _both(source.compression, target.compression)
    return Format("two files", compression, _both(source.encoding, target.encoding)), _side_by_side(source, target)


def _both(source: str, target: str) -> str:
    return source if source == target else f"{source or 'plain'} and {target or 'plain'}"


def _side_by_side(source: Opened, target: Opened) -> Iterator[Row]:
    sources, targets = source.lines(), target.lines()
    for number, (left, right) in enumerate(zip_longest(sources, targets), 1):
        if left is None or right is None:
            longer = number + sum(1 for _ in (targets if left is None else sources))
            counts = (number - 1, longer) if left is None else (longer, number - 1)
            raise UserError(
                f"{source.name} has {counts[0]} lines, {target.name} has {counts[1]}; wanted the same number.\n"
                "Line n of one must be the translation of line n of the other."
            )
        yield Row(left, right, f"line {number}")
