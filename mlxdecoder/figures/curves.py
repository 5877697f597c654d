"""The course of a training: the gap between its curves is the diagnosis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from mlxdecoder.errors import UserError
from mlxdecoder.figures.labels import one_line, style
from mlxdecoder.figures.panel import INK, PIXELS_PER_INCH, QUIET
from mlxdecoder.figures.shown import ShownFigure
from mlxdecoder.training.observer import Measures

Points = list[tuple[float, float]]


@dataclass(frozen=True)
class Curve:
    """A key of the history, its name, and how it is drawn: dashes and markers differ, not the colour alone."""

    key: str
    name: str
    colour: str
    dashes: str
    marker: str


LOSS = Curve("training_loss", "training loss", "#1a1a1a", "-", "")
SHARES = (
    Curve("teacher_forced", "teacher-forced accuracy", "#0b5fa5", "--", "o"),
    Curve("exact_match", "free-running exact match", "#b35900", "-.", "s"),
)


def curves_figure(history: Sequence[Mapping[str, float] | Measures], *, title: str = "") -> Figure:
    """Training loss above; teacher-forced accuracy and free-running exact match below, over the same steps.

    `history` is what a trainer gives, or records as mappings: each has "step" and any of "training_loss",
    "teacher_forced" (share of next tokens that are right when the ones before are given, 0 to 1) and "exact_match"
    (share of sentences generated right, 0 to 1).
    Raises `UserError` when a record has no step, a share is not within 0 and 1, or nothing was recorded.
    """
    records = [record.to_dict() if isinstance(record, Measures) else record for record in history]
    curves = {curve: _points(records, curve) for curve in (LOSS, *SHARES)}
    if not any(curves.values()):
        raise UserError(
            f"history holds no points; each record needs step and {', '.join(curve.key for curve in curves)}."
        )
    steps = [step for points in curves.values() for step, _ in points]
    margin = max(1.0, 0.02 * (max(steps) - min(steps)))
    with matplotlib.style.context("default"):
        figure = ShownFigure(figsize=(7.5, 5.6), dpi=PIXELS_PER_INCH, facecolor="white", layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True)
        heading = one_line(title) or "Training"
        figure.suptitle(heading, x=0.01, ha="left", wrap=True, **style(heading, 12, bold=True))
        _draw(above, {LOSS: curves[LOSS]})
        _draw(below, {curve: curves[curve] for curve in SHARES})
        above.set(ylabel="training loss", ylim=(0, None), xlim=(min(steps) - margin, max(steps) + margin))
        below.set(ylabel="validation", ylim=(-0.04, 1.04), xlabel="step")
        figure.align_ylabels()
        below.yaxis.set_major_formatter(PercentFormatter(1.0))
        below.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


def _points(history: Sequence[Mapping[str, float]], curve: Curve) -> Points:
    points = []
    for number, record in enumerate(history):
        if "step" not in record:
            raise UserError(f'history[{number}] has no "step"; it has {", ".join(record) or "nothing"}.')
        if curve.key in record:
            points.append((float(record["step"]), float(record[curve.key])))
            _check(curve, *points[-1])
    return points


def _check(curve: Curve, step: float, value: float) -> None:
    if curve in SHARES and not math.isnan(value) and not 0 <= value <= 1:
        raise UserError(f"{curve.key} is {value:g} at step {step:g}; wanted a share between 0 and 1.")


def _draw(axes: Axes, curves: Mapping[Curve, Points]) -> None:
    for curve, points in curves.items():
        look: dict[str, Any] = {"color": curve.colour, "linestyle": curve.dashes, "markersize": 5}
        steps, values = zip(*points, strict=True) if points else ((), ())
        # A line through few points, or past values that are not finite, may not be seen at all.
        look |= {"marker": curve.marker or ("D" if len(points) <= 25 else ""), "markerfacecolor": "white"}
        spacing = max(1, len(points) // 25)
        axes.plot(steps, values, linewidth=1.6, markevery=spacing, label=_legend(curve, points), **look)
    axes.grid(color="#e4e4e4", linewidth=0.6)
    axes.tick_params(color=QUIET, labelcolor=INK, labelsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=9, handlelength=3.2)


def _legend(curve: Curve, points: Points) -> str:
    if not points:
        return f"{curve.name}: not measured"
    last = points[-1][1]
    broken = [step for step, value in points if not math.isfinite(value)]
    end = f"{last:.3g}" if curve is LOSS else f"{100 * last:.3g}%"
    return f"{curve.name}: " + (f"not finite from step {broken[0]:g}" if broken else f"{end} at the end")
