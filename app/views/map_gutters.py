"""How much room the labels and sums of a large map take."""

from __future__ import annotations

from functools import lru_cache
from math import ceil

from PySide6.QtGui import QFont, QFontMetricsF

from mlxdecoder.app.views import words
from mlxdecoder.app.views.map_layout import Gutters
from mlxdecoder.app.views.map_painter import MARGIN, sum_width
from mlxdecoder.app.views.shown import Head

MANY = 10  # from more tokens on, some only may be named, with their number


def label_font(font: QFont) -> QFont:
    """The font of labels and numbers, a little smaller than that of the window."""
    smaller = QFont(font)
    if font.pointSizeF() > 0:
        smaller.setPointSizeF(font.pointSizeF() * 0.92)
    return smaller


def gutters_of(head: Head, font: QFont) -> Gutters:
    """The room around a head whose labels have this font."""
    metrics, bold = QFontMetricsF(font), QFont(font)
    bold.setBold(True)
    numbered = metrics.horizontalAdvance("0000 ") if max(head.values.shape) > MANY else 0.0
    query, key = _widest(bold, head.queries), _widest(font, head.keys)
    heading = metrics.height() + 6 if head.sums is not None or head.leaking else 0.0
    return Gutters(
        left=ceil(query + numbered + MARGIN + 6),
        top=ceil(max(key + numbered + 12, heading)),
        level=ceil(metrics.height() + 8),
        right=ceil(2 * sum_width(font) + 8),
        widest_key=key,
        line=metrics.height(),
    )


def _widest(font: QFont, tokens: tuple[str, ...]) -> float:
    name = font.toString()
    return max(_width(name, token) for token in tokens)


@lru_cache(16384)  # asked for every token of a long text, at every step
def _width(font: str, token: str) -> float:
    named = QFont()
    named.fromString(font)
    return QFontMetricsF(named).horizontalAdvance(words.label(token))
