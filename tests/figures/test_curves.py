"""The curves of a training: the records as they are, told apart without colour."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from mlxdecoder.errors import UserError
from mlxdecoder.figures import curves_figure

RECORDS = [
    {"step": 10, "training_loss": 3.0},
    {"step": 20, "training_loss": 1.5, "teacher_forced": 0.75, "exact_match": 0.0},
    {"step": 40, "training_loss": 0.5, "teacher_forced": 1.0, "exact_match": 0.25},
]


def test_curves_are_the_records() -> None:
    above, below = curves_figure(RECORDS).axes
    (loss,) = above.lines
    told, alone = below.lines
    np.testing.assert_array_equal(loss.get_xydata(), [[10, 3.0], [20, 1.5], [40, 0.5]])
    np.testing.assert_array_equal(told.get_xydata(), [[20, 0.75], [40, 1.0]])
    np.testing.assert_array_equal(alone.get_xydata(), [[20, 0.0], [40, 0.25]])
    looks = {(line.get_linestyle(), line.get_marker()) for line in (loss, told, alone)}
    assert len(looks) == 3
    named = [text.get_text() for axes in (above, below) for text in axes.get_legend().get_texts()]
    assert named == [
        "training loss: 0.5 at the end",
        "teacher-forced accuracy: 100% at the end",
        "free-running exact match: 25% at the end",
    ]


def test_curves_say_what_is_missing_or_broken() -> None:
    figure = curves_figure([{"step": 1, "training_loss": 2.0}, {"step": 2, "training_loss": float("nan")}])
    named = [text.get_text() for axes in figure.axes for text in axes.get_legend().get_texts()]
    assert named[0] == "training loss: not finite from step 2"
    assert named[1:] == ["teacher-forced accuracy: not measured", "free-running exact match: not measured"]


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([], "history holds no points"),
        ([{"step": 1}], "history holds no points"),
        ([{"training_loss": 1.0}], r'history\[0\] has no "step"; it has training_loss'),
        ([{"step": 3, "teacher_forced": 97.0}], "teacher_forced is 97 at step 3; wanted a share between 0 and 1"),
    ],
)
def test_wrong_records_are_refused(records: list[dict[str, float]], message: str) -> None:
    with pytest.raises(UserError, match=message):
        curves_figure(records)
