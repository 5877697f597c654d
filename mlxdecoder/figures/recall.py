"""How far back models find facts: the curves of one, or those of toys with different positions side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib
import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter, ScalarFormatter

from mlxdecoder.errors import UserError
from mlxdecoder.figures.labels import one_line, style
from mlxdecoder.figures.panel import INK, PIXELS_PER_INCH, QUIET
from mlxdecoder.figures.shown import ShownFigure
from mlxdecoder.recall.curve import Recall

COLUMNS = 3
LOOKS = {"associative": ("#0b5fa5", "-", "o"), "copy": ("#b35900", "--", "s"), "needle": ("#1a1a1a", ":", "D")}
MARKERS = "osD^vPX"


def recall_figure(found: Recall, *, title: str = "") -> Figure:
    """Accuracy by distance, a panel for each task and a line for each length; dashed past the configured one.

    Raises `UserError` when nothing was measured.
    """
    _check(found)
    with matplotlib.style.context("default"):
        size = (3.4 * len(found.tasks) + 0.6, 3.9)
        figure = ShownFigure(figsize=size, dpi=PIXELS_PER_INCH, facecolor="white", layout="constrained")
        words = f"configured for {found.configured:,} tokens, effective {found.effective_length():,}"
        _head(figure, f"{one_line(title) or 'Recall'}: {words}")
        panels = figure.subplots(1, len(found.tasks), sharey=True, squeeze=False)[0]
        for axes, task in zip(panels, found.tasks, strict=True):
            _draw_lengths(axes, found, task)
            _frame(axes, f"{task}: effective {found.effective_length(task):,}", "distance, tokens")
        panels[0].set_ylabel("accuracy")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9)
    return figure


def toys_figure(toys: Mapping[str, Recall], trained: int) -> Figure:
    """Accuracy at the worst distance by length, a panel for each kind of positions and a line for each task.

    The line stands at the `trained` length; what lies past the configured length is grey. Raises `UserError` when
    nothing was measured.
    """
    for found in toys.values():
        _check(found)
    rows = -(-len(toys) // COLUMNS)
    with matplotlib.style.context("default"):
        size = (9.5, 0.9 + 2.3 * rows)
        figure = ShownFigure(figsize=size, dpi=PIXELS_PER_INCH, facecolor="white", layout="constrained")
        words = f"Toys trained on {trained} tokens (line): accuracy at the worst distance; grey: past what is promised"
        _head(figure, words)
        panels = figure.subplots(rows, COLUMNS, sharey=True, squeeze=False).flatten()
        for axes, (name, found) in zip(panels, toys.items(), strict=False):
            _draw_tasks(axes, found, trained)
            _frame(axes, f"{name}: effective {found.effective_length():,}", "tokens in a row")
        for axes in panels[len(toys) :]:
            axes.set_visible(False)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9)
    return figure


def _draw_lengths(axes: Axes, found: Recall, task: str) -> None:
    colours = matplotlib.colormaps["viridis"].resampled(len(found.lengths) + 1)
    for i, length in enumerate(found.lengths):
        points = sorted(
            (cell.distance, cell.accuracy) for cell in found.cells if (cell.task, cell.length) == (task, length)
        )
        xs, ys = zip(*points, strict=True) if points else ((), ())
        dashes = "-" if length <= found.configured else "--"
        _line(axes, xs, ys, colours(i), dashes, MARKERS[i % len(MARKERS)], f"{length:,} tokens")
    axes.axhline(found.threshold, color=QUIET, linewidth=0.8, linestyle=":")
    _ticks(axes, [2**i for i in range(2, max(found.lengths).bit_length())])


def _draw_tasks(axes: Axes, found: Recall, trained: int) -> None:
    read = [length for length in found.lengths if length not in found.refused]
    for task in found.tasks:
        colour, dashes, marker = LOOKS[task]
        _line(axes, read, [found.worst(length, task) for length in read], colour, dashes, marker, task)
    axes.axvline(trained, color=QUIET, linewidth=0.8)
    axes.axhline(found.threshold, color=QUIET, linewidth=0.8, linestyle=":")
    ends = found.lengths[0], found.lengths[-1]
    axes.set_xlim(ends[0] / 1.15, ends[1] * 1.15)
    axes.axvspan(max(found.configured, ends[0]), 10 * ends[1], color="#f0f0f0", zorder=0)
    for length in found.refused:
        axes.annotate("refused", (length, 0.03), rotation=90, ha="center", fontsize=8, color=INK)
    _ticks(axes, found.lengths)


def _line(axes: Axes, xs: Any, ys: Any, colour: Any, dashes: str, marker: str, label: str) -> None:
    axes.plot(
        xs,
        ys,
        color=colour,
        linestyle=dashes,
        marker=marker,
        label=label,
        linewidth=1.6,
        markersize=4.5,
        markerfacecolor="white",
    )


def _ticks(axes: Axes, values: list[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(values))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(ScalarFormatter())


def _frame(axes: Axes, heading: str, below: str) -> None:
    axes.set_title(heading, loc="left", fontsize=9.5, color=INK)
    axes.set_xlabel(below, fontsize=8.5, color=INK)
    axes.set_ylim(-0.04, 1.06)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.tick_params(color=QUIET, labelcolor=INK, labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.6)


def _head(figure: Figure, words: str) -> None:
    figure.suptitle(words, x=0.01, ha="left", wrap=True, **style(words, 12, bold=True))


def _check(found: Recall) -> None:
    if not found.cells:
        raise UserError("recall: no cells found; a model that reads at least one length is wanted.")
