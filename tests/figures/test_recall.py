"""The figures show the numbers that they were given."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlxdecoder.errors import UserError
from mlxdecoder.figures import recall_figure, save_figure, toys_figure
from mlxdecoder.recall import Cell, Recall

CELLS = (
    Cell("copy", 16, 4, 1.0),
    Cell("copy", 16, 8, 0.95),
    Cell("copy", 32, 4, 0.5),
    Cell("needle", 16, 4, 1.0),
    Cell("needle", 16, 14, 0.97),
    Cell("needle", 32, 4, 0.2),
)
FOUND = Recall(16, CELLS)
REFUSED = Recall(16, CELLS[:2], {32: "too long"})


def points(axes: object) -> dict[str, list[tuple[float, float]]]:
    lines = axes.get_lines()  # type: ignore[attr-defined]
    return {
        line.get_label(): list(zip(line.get_xdata(), line.get_ydata(), strict=True))
        for line in lines
        if not line.get_label().startswith("_")
    }


def test_a_panel_for_each_task_and_a_line_for_each_length() -> None:
    panels = recall_figure(FOUND).axes
    assert [points(axes) for axes in panels] == [
        {"16 tokens": [(4, 1.0), (8, 0.95)], "32 tokens": [(4, 0.5)]},
        {"16 tokens": [(4, 1.0), (14, 0.97)], "32 tokens": [(4, 0.2)]},
    ]
    assert [axes.get_title("left") for axes in panels] == ["copy: effective 16", "needle: effective 16"]


def test_lengths_past_the_configured_one_are_dashed() -> None:
    lines = recall_figure(FOUND).axes[0].get_lines()
    assert [line.get_linestyle() for line in lines[:2]] == ["-", "--"]


def test_the_heading_tells_promise_and_truth() -> None:
    words = recall_figure(FOUND, title="Mine").get_suptitle()
    assert words == "Mine: configured for 16 tokens, effective 16"


def test_a_panel_for_each_scheme_with_the_worst_distance() -> None:
    panels = [axes for axes in toys_figure({"one": FOUND, "two": REFUSED}, trained=16).axes if axes.get_visible()]
    assert [points(axes) for axes in panels] == [
        {"copy": [(16, 0.95), (32, 0.5)], "needle": [(16, 0.97), (32, 0.2)]},
        {"copy": [(16, 0.95)]},
    ]
    assert [text.get_text() for text in panels[1].texts] == ["refused"]
    assert not panels[0].texts


def test_both_can_be_saved(tmp_path: Path) -> None:
    save_figure(recall_figure(FOUND), tmp_path / "one.png")
    save_figure(toys_figure({"one": FOUND}, trained=16), tmp_path / "toys.svg")
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "toys.svg").read_bytes()


def test_nothing_measured_is_refused() -> None:
    for draw in (recall_figure, lambda found: toys_figure({"one": found}, trained=16)):
        with pytest.raises(UserError, match="no cells"):
            draw(Recall(16, ()))
