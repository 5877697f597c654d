"""Attention weights as heatmaps: every head of every layer, or a right and a mistaken model side by side."""

from __future__ import annotations

import matplotlib.style
import numpy as np
from matplotlib.figure import Figure

from mlxdecoder.errors import UserError
from mlxdecoder.figures.labels import drawable
from mlxdecoder.figures.panel import Panel, Scale
from mlxdecoder.figures.sheet import Sheet, Words
from mlxdecoder.heads import ABOUT_SINKS
from mlxdecoder.maps import KINDS, TOLERANCE, AttentionMap, spread
from mlxdecoder.words import WordMap

WEIGHTS = Scale("viridis", 0.0, 1.0, "weight")
OUTSIDE, WRONG_SUM, NOT_FINITE, BEYOND = "◂○▨±"
SINK = "▽"
MOST_PANELS, MOST_ABREAST = 200, 40


def attention_figure(map: AttentionMap, *, title: str = "") -> Figure:
    """Every head of every layer: rows of panels are layers, columns are heads; colours always run from 0 to 1.

    The raw weights are painted. The intended mask is an outline over them; rows with more than 0.001 of weight outside
    it, rows whose sum is wrong and numbers that are not finite are flagged. Sinks are named, and heads that share keys
    and values. Raises `UserError` for more panels than can be read: `map.select(layers, heads)` chooses some.
    """
    rows, columns = map.weights.shape[:2]
    if rows * columns > MOST_PANELS or max(rows, columns) > MOST_ABREAST:
        raise UserError(
            f"{rows} layers x {columns} heads are more than one figure can show: {MOST_PANELS} panels, "
            f"{MOST_ABREAST} abreast; choose some with select(layers=..., heads=...)."
        )
    with_sums = rows * columns == 1
    panels = [[_panel(map.select([layer], [head]), with_sums=with_sums) for head in map.heads] for layer in map.layers]
    return _drawn(panels, map, title)


def comparison_figure(
    correct: AttentionMap, mistaken: AttentionMap, *, layer: int = 0, head: int = 0, title: str = ""
) -> Figure:
    """One head of two models on the same tokens: both on one scale from 0 to 1, and mistaken minus correct.

    The scale of the difference is symmetric about 0. Raises `UserError` when the maps do not belong together or have no
    such layer or head.
    """
    if (correct.kind, correct.queries, correct.keys) != (mistaken.kind, mistaken.queries, mistaken.keys):
        raise UserError("The maps to compare differ in kind or tokens; trace both models with the same sentence.")
    maps = [each.select([layer], [head]) for each in (correct, mistaken)]
    right, wrong = (_panel(each, prefix) for each, prefix in zip(maps, ("correct · ", "mistaken · "), strict=True))
    change = wrong.values - right.values
    finite = np.abs(change[np.isfinite(change)])
    largest = float(finite.max(initial=0.0)) or 1.0
    scale = Scale("cividis", -largest, largest, "mistaken minus correct")
    word = "difference" if finite.any() or finite.size < change.size else "no difference"
    difference = Panel(f"{word} · {_place(maps[0])}", change, correct.intended, scale)
    return _drawn([[right, wrong, difference]], maps[0], title)


def _panel(map: AttentionMap, prefix: str = "", with_sums: bool = False) -> Panel:
    values, sums, outside = map.weights[0, 0], map.row_sums()[0, 0], map.mass_outside()[0, 0]
    # Written so that a NaN counts as wrong.
    leaking = np.flatnonzero(~(outside <= TOLERANCE)).tolist()
    wrong_sums = np.flatnonzero(~(map.row_sum_errors()[0, 0] <= TOLERANCE)).tolist()
    return Panel(
        heading=prefix + _place(map),
        values=values,
        allowed=map.intended,
        scale=WEIGHTS,
        findings=_findings(values, outside[leaking], sums[wrong_sums]),
        remarks=[f"{SINK} key {key}: {share:.0%}" for key, share in map.sinks().get((0, 0), [])],
        outside=leaking,
        wrong_sums=wrong_sums,
        sums=sums.tolist() if with_sums else [],
    )


def _place(map: AttentionMap) -> str:
    return f"layer {map.layers[0]} · head {map.heads[0]}"


def _findings(values: np.ndarray, outside: np.ndarray, sums: np.ndarray) -> list[str]:
    finite = values[np.isfinite(values)]
    beyond = finite[(finite < -TOLERANCE) | (finite > 1 + TOLERANCE)]
    unusable = values.size - finite.size
    return [
        *([f"{OUTSIDE} {_most(outside)} outside"] if outside.size else []),
        *([f"{WRONG_SUM} sum {spread(sums)}"] if sums.size else []),
        *([f"{NOT_FINITE} {unusable} not finite"] if unusable else []),
        *([f"{BEYOND} value {spread(beyond)}"] if beyond.size else []),
    ]


def _most(numbers: np.ndarray) -> str:
    # NumPy's nanmax warns about a row of NaN alone.
    finite = numbers[np.isfinite(numbers)]
    return f"up to {finite.max():.2g}" if finite.size else "NaN"


def _notes(panels: list[Panel], map: AttentionMap) -> list[str]:
    found = " ".join(line for panel in panels for line in (*panel.findings, *panel.remarks))
    notes = [
        (map.intended is None, "The intended mask is not known."),
        (map.intended is not None and not map.intended.all(), "White line: border of the intended mask."),
        (map.kind != "encoder", "A row is the token just read; what it looks at serves to choose the next one."),
        (bool(map.note), map.note),
        (bool(map.grouping and map.grouping.shares), _shared(map)),
        (SINK in found, f"{SINK} {ABOUT_SINKS}"),
        (OUTSIDE in found, f"{OUTSIDE} row with weight outside the intended mask (more than {TOLERANCE})."),
        (WRONG_SUM in found, f"{WRONG_SUM} row with a wrong sum: not 1, or not 0 where the mask allows nothing."),
        (NOT_FINITE in found, f"{NOT_FINITE} hatched: not finite (NaN or infinite)."),
        (BEYOND in found, f"{BEYOND} values below 0 or above 1: they have the colour of the scale's end."),
        (_unknown(map), "U+…: an invisible character, or one that no font on this machine has."),
    ]
    return [note for holds, note in notes if holds]


def _shared(map: AttentionMap) -> str:
    """Which heads share keys and values."""
    if map.grouping is None:
        return ""
    alone = len(map.heads) == 1
    return f"{map.grouping.describe(map.heads[0]).capitalize()}." if alone else map.grouping.describe_all(map.heads)


def _unknown(map: AttentionMap) -> bool:
    return any("U+" in drawable(token) and "U+" not in token for token in (*map.queries, *map.keys))


def _drawn(panels: list[list[Panel]], map: AttentionMap, title: str) -> Figure:
    kind = KINDS[map.kind]
    unit = "weights of words" if isinstance(map, WordMap) else "raw weights"
    words = Words(
        title or kind.capitalize(),
        f"{kind + ' · ' if title else ''}rows: queries, columns: keys · {unit}",
        "queries (target)" if map.kind == "cross" else "queries",
        "keys (source)" if map.kind == "cross" else "keys",
        _notes([panel for row in panels for panel in row], map),
    )
    # The user's own style may have white text, or TeX for every label.
    with matplotlib.style.context("default"):
        return Sheet(panels, map.queries, map.keys, words).draw()
