"""One heatmap: raw numbers as colours, the intended mask as an outline over them, flags beside the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Colormap, Normalize

from mlxdecoder.cells import mask_outline, max_pool
from mlxdecoder.figures.labels import POINTS_PER_INCH, style

ALARM, INK, QUIET = "#b3122a", "#1a1a1a", "#555555"
PIXELS_PER_INCH = 100
OUTLINE = "border of the intended mask"
NUMBERED = 0.4  # cells carry their number from this size on
OUTSIDE_AT, WRONG_SUM_AT = 0.08, 0.19  # where the flags stand, right of the panel


@dataclass(frozen=True)
class Scale:
    """How numbers become colours: a map of rising luminance, its ends, and what the numbers are."""

    colours: str
    low: float
    high: float
    name: str

    @property
    def signed(self) -> bool:
        return self.low < 0

    @property
    def norm(self) -> Normalize:
        return Normalize(self.low, self.high)

    @property
    def colormap(self) -> Colormap:
        # Transparent where a value is not finite: the hatched paper shows through.
        return colormaps[self.colours].with_extremes(bad=(0, 0, 0, 0))

    def mappable(self) -> ScalarMappable:
        return ScalarMappable(self.norm, self.colormap)


@dataclass(frozen=True)
class Panel:
    """`values` [T, S] as they are, the intended mask `allowed` [T, S] or None, and what was found in them.

    `findings` are lines under the heading of what is wrong, `remarks` lines of what is only worth knowing. `outside`
    and `wrong_sums` are the rows to flag, `sums` are written beside the rows.
    """

    heading: str
    values: np.ndarray
    allowed: np.ndarray | None
    scale: Scale
    findings: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    outside: list[int] = field(default_factory=list)
    wrong_sums: list[int] = field(default_factory=list)
    sums: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Cell:
    """The size of one cell in inches."""

    width: float
    height: float

    @property
    def points(self) -> float:
        return min(self.width, self.height) * POINTS_PER_INCH

    @property
    def numbered(self) -> bool:
        return min(self.width, self.height) >= NUMBERED

    def to_pool(self) -> tuple[int, int]:
        """How many rows and columns must share a pixel."""
        return math.ceil(1 / (self.height * PIXELS_PER_INCH)), math.ceil(1 / (self.width * PIXELS_PER_INCH))


def draw_panel(axes: Axes, panel: Panel, cell: Cell) -> None:
    """The values as they are, the outline of the mask, numbers where cells are large, and flags beside the rows."""
    n_queries, n_keys = panel.values.shape
    rows, columns = cell.to_pool()
    pooled = pool(panel.values, rows, columns, panel.scale.signed)
    edges = (-0.5, pooled.shape[1] * columns - 0.5, pooled.shape[0] * rows - 0.5, -0.5)
    look: dict[str, Any] = {"cmap": panel.scale.colormap, "norm": panel.scale.norm}
    axes.imshow(pooled, extent=edges, aspect="auto", interpolation="nearest", **look)
    axes.set(xlim=(-0.5, n_keys - 0.5), ylim=(n_queries - 0.5, -0.5), label=panel.heading)
    axes.patch.set(facecolor="#dddddd", edgecolor="#777777", hatch="//////")
    if panel.allowed is not None and not panel.allowed.all():
        _outline(axes, panel.allowed, cell)
    if cell.numbered:
        _number(axes, panel)
    _flag_rows(axes, panel, cell)


def pool(values: np.ndarray, rows: int, columns: int, signed: bool) -> np.ndarray:
    """The largest value of each block of `values` [T, S], or the one farthest from 0 when `signed`."""
    if rows == columns == 1:
        return values
    high = max_pool(values, rows, columns)
    low = -max_pool(-values, rows, columns)
    return np.where(high >= -low, high, low) if signed else high


def _outline(axes: Axes, allowed: np.ndarray, cell: Cell) -> None:
    width = min(max(cell.points / 12, 0.25), 1.4)
    lines = mask_outline(allowed)
    # White on black stands out from every colour; it lies on the border and is thin, so that cells keep their inside.
    for colour, points in (("black", min(2.4 * width, cell.points / 3)), ("white", width)):
        strokes = LineCollection(list(lines), colors=colour, linewidths=points, capstyle="projecting")
        strokes.set(clip_on=False, zorder=3, label=OUTLINE)
        axes.add_collection(strokes, autolim=False)


def _number(axes: Axes, panel: Panel) -> None:
    colours = panel.scale.mappable().to_rgba(panel.values)
    dark = colours[..., :3] @ (0.299, 0.587, 0.114) < 0.56
    for (row, column), value in np.ndenumerate(panel.values):
        text = "0" if value == 0 else f"{value:{'+' if panel.scale.signed else ''}.2f}"
        colour = "white" if dark[row, column] and np.isfinite(value) else INK
        axes.text(column, row, text, color=colour, ha="center", va="center", **style(text, 7))


def _flag_rows(axes: Axes, panel: Panel, cell: Cell) -> None:
    edge = panel.values.shape[1] - 0.5
    size = min(5.0, max(2.0, cell.points))
    look: dict[str, Any] = {"color": ALARM, "markersize": size, "markeredgewidth": 0.8, "linestyle": ""}
    for rows, inches, marker, fill, name in (
        (panel.outside, OUTSIDE_AT, "<", ALARM, "outside the intended mask"),
        (panel.wrong_sums, WRONG_SUM_AT, "o", "white", "wrong row sum"),
    ):
        at = [edge + inches / cell.width] * len(rows)
        axes.plot(at, rows, marker=marker, markerfacecolor=fill, clip_on=False, label=name, **look)
