"""The twins' figure shows the numbers that it was given, and a figure shows itself in a notebook."""

from __future__ import annotations

import base64
import re

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from mlxdecoder.errors import UserError
from mlxdecoder.figures import Course, curves_figure, twins_figure
from mlxdecoder.training.observer import Measures

HISTORY = [Measures(10, 3.0, 2.9, 0.5, 0.1), Measures(20, 1.0, 0.9, 1.0, 0.8)]
LOSSES = [float(20 - step) for step in range(20)]


def test_losses_are_means_of_ten_steps_and_shares_stand_at_their_steps() -> None:
    figure = twins_figure(Course(LOSSES, HISTORY), Course(LOSSES[:5], HISTORY[:1]), title="No mask")
    loss, told, exact = figure.axes
    right, wrong = loss.get_lines()
    assert right.get_ydata()[-1] == pytest.approx(np.mean(LOSSES[-10:]))
    assert right.get_ydata()[2] == pytest.approx(np.mean(LOSSES[:3]))
    assert len(wrong.get_ydata()) == 5
    assert told.get_lines()[0].get_xydata().tolist() == [[10, 0.5], [20, 1.0]]
    assert exact.get_lines()[0].get_xydata().tolist() == [[10, 0.1], [20, 0.8]]
    assert right.get_linestyle() != wrong.get_linestyle()


def test_a_loss_that_is_no_number_is_said() -> None:
    figure = twins_figure(Course(LOSSES, HISTORY), Course([], []))
    labels = [line.get_label() for line in figure.axes[0].get_lines()]
    assert labels[1] == "mistaken: no longer a number"


def test_nothing_to_show_is_an_error() -> None:
    with pytest.raises(UserError, match="at least one step"):
        twins_figure(Course([], []), Course([], []))


def test_a_figure_shows_itself_in_a_notebook() -> None:
    shown = curves_figure(HISTORY)._repr_html_()
    (data,) = re.findall(r'src="data:image/png;base64,([^"]+)"', shown)
    assert base64.b64decode(data).startswith(b"\x89PNG")
