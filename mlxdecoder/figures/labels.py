"""Tokens as labels: any script, never read as mathematics, no longer than there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font

from mlxdecoder import labels

# In order of preference: what matplotlib brings along, then what Linux, macOS and Windows bring for the other scripts.
FAMILIES = (
    "DejaVu Sans",
    "Noto Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans SC",
    "Noto Sans JP",
    "Noto Sans KR",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "PingFang SC",
    "Hiragino Sans GB",
    "Hiragino Sans",
    "Heiti TC",
    "Apple SD Gothic Neo",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "Noto Sans Arabic",
    "Geeza Pro",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
    "Kohinoor Devanagari",
    "Devanagari Sangam MN",
    "Noto Sans Bengali",
    "Noto Sans Tamil",
    "Noto Sans Thai",
    "Thonburi",
    "Nirmala UI",
    "Leelawadee UI",
    "Noto Sans Symbols",
    "Noto Sans Symbols 2",
    "Apple Symbols",
    "Segoe UI Symbol",
    "Noto Emoji",
    "Segoe UI Emoji",
    "Arial Unicode MS",
)
SMALLEST, SPACING = 6.0, 1.2
POINTS_PER_INCH = 72


@cache
def _glyphs(family: str) -> frozenset[int]:
    """The code points that the family draws; none when it is not installed."""
    try:
        path = findfont(FontProperties(family=[family]), fallback_to_default=False)
    except ValueError:
        return frozenset()
    return frozenset(get_font(path).get_charmap())


@cache
def _family_with(character: str) -> str | None:
    return next((family for family in FAMILIES if ord(character) in _glyphs(family)), None)


def drawable(text: str) -> str:
    """`text` with U+XXXX for each character that is invisible or in no installed font; spaces at the ends as ␣."""
    return labels.visible(text, _is_drawable)


def one_line(text: str) -> str:
    """`text` drawable and on one line, for titles."""
    return drawable(" ".join(text.split())) if text.strip() else ""


def elided(text: str, widest: int = labels.WIDEST) -> str:
    """`text` drawable, its middle replaced by … when it is wider than `widest` columns."""
    return labels.elided(text, widest, _is_drawable)


def _is_drawable(character: str) -> bool:
    return labels.is_visible(character) and _family_with(character) is not None


def style(text: str, size: float, bold: bool = False) -> dict[str, Any]:
    """What matplotlib needs to draw exactly `text`: fonts that hold its characters, no mathematics, no TeX.

    Bold is for what the first family draws: it is the only one that surely has it.
    """
    others = {_family_with(character) for character in text} - {None, FAMILIES[0]}
    family = [FAMILIES[0], *(each for each in FAMILIES if each in others)]
    weight = "bold" if bold and not others else "normal"
    return {"fontsize": size, "fontfamily": family, "fontweight": weight, "parse_math": False, "usetex": False}


def extent(texts: Sequence[str], size: float) -> tuple[float, float]:
    """The width of the widest and the height of the highest of `texts`, in inches."""
    figure = Figure(dpi=POINTS_PER_INCH)
    FigureCanvasAgg(figure)  # the figure measures with the canvas it is given
    boxes = [figure.text(0, 0, text, **style(text, size)).get_window_extent() for text in set(texts)]
    return max(box.width for box in boxes) / POINTS_PER_INCH, max(box.height for box in boxes) / POINTS_PER_INCH


@dataclass(frozen=True)
class Ticks:
    """Which tokens of an axis are named, and how: `positions` counts cells, `labels` are ready to draw."""

    positions: list[int]
    labels: list[str]
    size: float

    @classmethod
    def of(cls, tokens: Sequence[str], cell: float, size: float) -> Ticks:
        """Name as many `tokens` as fit when a cell is `cell` inches; smaller or, if need be, some only, numbered."""
        fitting = cell * POINTS_PER_INCH / SPACING
        size = min(size, fitting) if fitting >= SMALLEST else size
        needed = size / fitting
        step = next((step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500) if step >= needed), int(needed) + 1)
        positions = list(range(0, len(tokens), step))
        texts = [elided(tokens[position]) for position in positions]
        labels = texts if step == 1 else [f"{at} {text}" for at, text in zip(positions, texts, strict=True)]
        return cls(positions, labels, size)

    def extent(self) -> tuple[float, float]:
        return extent(self.labels, self.size)
