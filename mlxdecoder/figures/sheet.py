"""A sheet of heatmaps: every size in inches and known before anything is drawn, so that nothing is cut or overlaps."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mlxdecoder.figures.labels import POINTS_PER_INCH, Ticks, one_line, style
from mlxdecoder.figures.panel import ALARM, INK, PIXELS_PER_INCH, QUIET, Cell, Panel, Scale, draw_panel
from mlxdecoder.figures.shown import ShownFigure

GRID, LARGE = 10.8, 7.0  # the longest side that all panels may fill together, and that one alone may fill
LARGEST_CELL, LARGEST_CELL_ALONE = 0.42, 0.56
NARROWEST, LOWEST, NARROWEST_SHEET = 1.2, 0.4, 5.0
EVERYWHERE = 4  # up to so many panels, each has its own tokens
NUMBERS = "0 stands for exactly zero, 0.00 for less than 0.005."
POOLED = "Cells are smaller than pixels: each pixel shows the largest value of its cells."
NO_TICKS = Ticks([], [], 1.0)
LINE, PAD, FLAGS, SUMS, BAR = 0.15, 0.08, 0.22, 0.42, 0.95


@dataclass(frozen=True)
class Words:
    """What is written around the panels."""

    title: str
    subtitle: str
    queries: str
    keys: str
    notes: list[str]


class Sheet:
    """Panels of one size in a grid [rows][columns], with tokens on the outer axes, on all axes when there are few."""

    def __init__(self, panels: list[list[Panel]], queries: Sequence[str], keys: Sequence[str], words: Words) -> None:
        self.panels, self.words = panels, words
        self.every = [panel for row in panels for panel in row]
        self.rows, self.columns = len(panels), len(panels[0])
        self.scales = list(dict.fromkeys(panel.scale for panel in self.every))
        self.everywhere = len(self.every) <= EVERYWHERE
        self.token_size = 9.0 if self.everywhere else 7.5
        self._size_panels(len(queries), len(keys))
        self.queries = Ticks.of(queries, self.cell.height, self.token_size)
        self.keys = Ticks.of(keys, self.cell.width, self.token_size)
        self._place_across(upright_needed=len(self.keys.labels) < len(keys))
        self.title = self._wrapped(words.title, 12)
        drawn = [POOLED] if self.cell.to_pool() != (1, 1) else [NUMBERS] if self.cell.numbered else []
        self.notes = [line for note in words.notes + drawn for line in self._wrapped(note, 8)]
        self._place_down()

    def draw(self) -> Figure:
        """The figure; nothing of matplotlib's global state is touched."""
        size = (self.sheet_width, self.sheet_height)
        self.figure = ShownFigure(figsize=size, dpi=PIXELS_PER_INCH, facecolor="white")
        for row in range(self.rows):
            for column in range(self.columns):
                self._draw_panel(row, column)
        for number, scale in enumerate(self.scales):
            self._draw_bar(number, scale)
        self._draw_words()
        return self.figure

    def _size_panels(self, n_queries: int, n_keys: int) -> None:
        alone = len(self.every) == 1
        room, largest = (LARGE, LARGEST_CELL_ALONE) if alone else (GRID, LARGEST_CELL)
        across, down = (max(room / count - 0.2, NARROWEST) for count in (self.columns, self.rows))
        side = min(largest, across / n_keys, down / n_queries)
        self.width, self.height = max(side * n_keys, NARROWEST), max(side * n_queries, LOWEST)
        self.cell = Cell(self.width / n_keys, self.height / n_queries)

    def _place_across(self, upright_needed: bool) -> None:
        query_width = self.queries.extent()[0]
        key_width, key_height = self.keys.extent()
        self.upright = upright_needed or key_width > 0.9 * self.cell.width
        self.key_height = key_width if self.upright else key_height
        flags = FLAGS if any(panel.outside or panel.wrong_sums for panel in self.every) else 0.0
        self.sums_at = flags + PAD
        beside = flags + (SUMS if self.every[0].sums else 0.0)
        self.gap_x = beside + 2 * PAD + (query_width + 2 * PAD if self.everywhere else 0)
        self.left = LINE + query_width + 5 * PAD
        self.grid_width = self.columns * (self.width + self.gap_x) - self.gap_x
        self.bars_at = self.left + self.grid_width + beside + 2 * PAD
        self.sheet_width = max(self.bars_at + BAR * len(self.scales), NARROWEST_SHEET)

    def _place_down(self) -> None:
        self.heading = LINE * (1 + max(len(panel.findings) + len(panel.remarks) for panel in self.every))
        self.gap_y = self.heading + 2.5 * PAD + (self.key_height + 2 * PAD if self.everywhere else 0)
        self.top = 3 * PAD + LINE * (1.6 * len(self.title) + 1.4) + self.heading
        self.grid_height = self.rows * (self.height + self.gap_y) - self.gap_y
        self.keys_at = self.top + self.grid_height + self.key_height + 2 * PAD
        self.notes_at = self.keys_at + LINE + 2 * PAD
        self.sheet_height = self.notes_at + LINE * len(self.notes) + PAD

    def _wrapped(self, text: str, size: float) -> list[str]:
        columns = int((self.sheet_width - 4 * PAD) * POINTS_PER_INCH / size / 0.56)
        return textwrap.wrap(one_line(text), columns)

    def _draw_panel(self, row: int, column: int) -> None:
        panel = self.panels[row][column]
        left = self.left + column * (self.width + self.gap_x)
        top = self.top + row * (self.height + self.gap_y)
        axes = self._axes(left, top, self.width, self.height)
        draw_panel(axes, panel, self.cell)
        self._name_cells(axes, row, column)
        if panel.sums:
            self._write_sums(axes, panel)
        looks = [(panel.heading, 8.5, INK), *((finding, 7.5, ALARM) for finding in panel.findings)]
        looks += [(remark, 7.5, QUIET) for remark in panel.remarks]
        for number, (text, size, colour) in enumerate(looks):
            first = top - PAD / 2 - LINE * (len(looks) - number)
            self._write(left, first, text, size, color=colour, bold=colour != QUIET)

    def _name_cells(self, axes: Axes, row: int, column: int) -> None:
        queries = self.queries if self.everywhere or column == 0 else NO_TICKS
        keys = self.keys if self.everywhere or row == self.rows - 1 else NO_TICKS
        axes.set_yticks(queries.positions, labels=queries.labels)
        axes.set_xticks(keys.positions, labels=keys.labels, rotation=90 if self.upright else 0)
        axes.tick_params(length=2, pad=2, color=QUIET)
        for ticks, labels in ((queries, axes.get_yticklabels()), (keys, axes.get_xticklabels())):
            for label in labels:
                label.set(color=INK, **style(label.get_text(), ticks.size))
        for spine in axes.spines.values():
            spine.set(color=QUIET, linewidth=0.6)

    def _write_sums(self, axes: Axes, panel: Panel) -> None:
        left = len(panel.values[0]) - 0.5 + self.sums_at / self.cell.width
        above = -0.5 - 0.04 / self.cell.height
        axes.text(left, above, "row sum", color=QUIET, va="bottom", **style("row sum", 7.5))
        for row in self.queries.positions:
            wrong = row in panel.wrong_sums
            text = f"{panel.sums[row]:{'.3g' if wrong else '.2f'}}"
            look = style(text, self.queries.size, bold=wrong)
            axes.text(left, row, text, va="center_baseline", color=ALARM if wrong else QUIET, **look)

    def _draw_bar(self, number: int, scale: Scale) -> None:
        height = min(max(self.grid_height, 1.0), 3.0)
        axes = self._axes(self.bars_at + BAR * number, self.top, 0.14, height)
        self.figure.colorbar(scale.mappable(), cax=axes).outline.set(linewidth=0.6, color=QUIET)
        axes.tick_params(length=2, labelsize=8, color=QUIET, labelcolor=INK)
        axes.set_ylabel(scale.name, color=QUIET, **style(scale.name, 8.5))

    def _draw_words(self) -> None:
        for number, line in enumerate(self.title):
            self._write(2 * PAD, 2 * PAD + 1.6 * LINE * number, line, 12, bold=True)
        self._write(2 * PAD, 2 * PAD + 1.6 * LINE * len(self.title), self.words.subtitle, 8.5, color=QUIET)
        self._write(self.left + self.grid_width / 2, self.keys_at, self.words.keys, 8.5, color=QUIET, ha="center")
        middle = self.top + self.grid_height / 2
        self._write(2 * PAD, middle, self.words.queries, 8.5, color=QUIET, va="center", rotation=90)
        for number, line in enumerate(self.notes):
            self._write(2 * PAD, self.notes_at + LINE * number, line, 8, color=QUIET)

    def _write(self, left: float, top: float, text: str, size: float, bold: bool = False, **look: Any) -> None:
        look = {"color": INK, "va": "top", **style(text, size, bold), **look}
        self.figure.text(left / self.sheet_width, 1 - top / self.sheet_height, text, **look)

    def _axes(self, left: float, top: float, width: float, height: float) -> Axes:
        bottom = self.sheet_height - top - height
        across, down = self.sheet_width, self.sheet_height
        return self.figure.add_axes((left / across, bottom / down, width / across, height / down))
