"""Numbers and texts as people read them. No Qt."""

from __future__ import annotations

import math
import re

LONGEST_WORD = 24


def share(value: float | None) -> str:
    """A share of 1 in per cent, without saying 100% of what is not all."""
    if value is None or not math.isfinite(value):
        return "not a number"
    rounded = f"{value:.0%}"
    return "over 99%" if rounded == "100%" and value < 1 else rounded


def number(value: float | None) -> str:
    """A loss in three digits."""
    return "not a number" if value is None or not math.isfinite(value) else f"{value:.3g}"


def duration(seconds: float) -> str:
    """How long something takes, in the unit that fits: 40 s, 3 min, 2 h 5 min."""
    if seconds < 90:
        return f"{math.ceil(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def breakable(text: str) -> str:
    """The same text with places where long words may be broken, so that no word makes a panel wider."""
    return re.sub(rf"(\S{{{LONGEST_WORD}}})(?=\S)", "\\1\u200b", text)


def isolated(text: str) -> str:
    """A text of either direction that leaves that of its surroundings alone."""
    return f"\u2068{text}\u2069"


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
