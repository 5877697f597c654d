"""A right and a mistaken training side by side: loss, accuracy when told the right prefix, exact match alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from mlxdecoder.errors import UserError
from mlxdecoder.figures.labels import one_line, style
from mlxdecoder.figures.panel import INK, PIXELS_PER_INCH, QUIET
from mlxdecoder.figures.shown import ShownFigure
from mlxdecoder.training.observer import Measures

SMOOTHED = 10  # steps


@dataclass(frozen=True)
class Course:
    """One training: the loss of each step in nats, and the measures on the way."""

    losses: Sequence[float]
    history: Sequence[Measures]


def twins_figure(correct: Course, mistaken: Course, *, title: str = "") -> Figure:
    """Training loss (mean of ten steps), teacher-forced accuracy and exact match of both, over the same steps.

    Raises `UserError` when neither has made a step.
    """
    if not correct.losses and not mistaken.losses:
        raise UserError("losses: none found in either training; at least one step is wanted.")
    twins = {"correct": correct, "mistaken": mistaken}
    with matplotlib.style.context("default"):
        figure = ShownFigure(figsize=(7.5, 7.4), dpi=PIXELS_PER_INCH, facecolor="white", layout="constrained")
        axes = figure.subplots(3, 1, sharex=True)
        heading = one_line(title) or "Twins"
        figure.suptitle(heading, x=0.01, ha="left", wrap=True, **style(heading, 12, bold=True))
        for name, twin in twins.items():
            _draw(axes[0], name, np.arange(1, len(twin.losses) + 1), _smooth(twin.losses), marked=False)
            steps = np.array([measures.step for measures in twin.history])
            for below, key in ((axes[1], "teacher_forced"), (axes[2], "exact_match")):
                _draw(below, name, steps, np.array([getattr(measures, key) for measures in twin.history]), marked=True)
        axes[0].set(ylabel="training loss", ylim=(0, None))
        axes[1].set(ylabel="teacher-forced accuracy")
        axes[2].set(ylabel="exact match, on its own", xlabel="step")
        for below in axes[1:]:
            below.set(ylim=(-0.04, 1.04))
            below.yaxis.set_major_formatter(PercentFormatter(1.0))
        axes[2].xaxis.set_major_locator(MaxNLocator(integer=True))
        axes[0].legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=9, handlelength=3.2)
        figure.align_ylabels()
    return figure


LOOKS = {"correct": ("#0b5fa5", "-", "o"), "mistaken": ("#b35900", "--", "s")}


def _draw(axes: Axes, name: str, steps: np.ndarray, values: np.ndarray, marked: bool) -> None:
    colour, dashes, marker = LOOKS[name]
    ends = f": {values[-1]:.3g} at the end" if len(values) and np.isfinite(values[-1]) else ": no longer a number"
    markers: dict[str, Any] = {
        "marker": marker if marked or len(steps) == 1 else "",
        "markersize": 5,
        "markerfacecolor": "white",
    }
    axes.plot(steps, values, color=colour, linestyle=dashes, linewidth=1.6, label=name + ends, **markers)
    axes.grid(color="#e4e4e4", linewidth=0.6)
    axes.tick_params(color=QUIET, labelcolor=INK, labelsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def _smooth(losses: Sequence[float]) -> np.ndarray:
    """The mean of up to ten losses that end with each step."""
    sums = np.cumsum([0.0, *losses])
    ends = np.arange(1, len(losses) + 1)
    begins = np.maximum(ends - SMOOTHED, 0)
    return np.asarray((sums[ends] - sums[begins]) / (ends - begins))
