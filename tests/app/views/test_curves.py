"""The live curves: what they show, what they tell, and what they cost."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from mlxdecoder.app.session.training_log import Measure, TrainingLog
from mlxdecoder.app.views.curves import Curves
from mlxdecoder.app.views.series import TRAINING, TWINS, losses


def log_of(steps: int) -> TrainingLog:
    """A loss that falls, and a measurement every 50 steps."""
    measures = [Measure(step, 0.5, step / 200, step / 400) for step in range(50, steps + 1, 50)]
    return TrainingLog(
        "running", steps=1000, step=steps, losses=[8 / step for step in range(1, steps + 1)], measures=measures
    )


@pytest.fixture
def curves(qtbot: QtBot) -> Curves:
    curves = Curves(TRAINING, "Curves")
    qtbot.addWidget(curves)
    curves.resize(360, 420)
    curves.show_logs({"training": log_of(100)})
    curves.show()
    return curves


def captions(curves: Curves) -> list[str]:
    return [label.text() for label in curves.findChildren(QLabel)]


def test_the_loss_is_the_mean_of_the_last_ten_steps() -> None:
    values = list(np.random.default_rng(0).random(40))
    steps, means = losses(TrainingLog(losses=values))
    assert list(steps) == list(range(1, 41))
    assert means == pytest.approx([np.mean(values[max(0, end - 10) : end]) for end in range(1, 41)])


def test_a_loss_that_is_no_number_leaves_a_gap_and_spoils_nothing_else() -> None:
    _, means = losses(TrainingLog(losses=[1.0] * 5 + [float("nan")] + [1.0] * 5))
    assert np.isnan(means[5])
    assert list(np.delete(means, 5)) == [1.0] * 10


def test_the_newest_values_are_told(curves: Curves) -> None:
    newest = np.mean([8 / step for step in range(91, 101)])
    assert f"Training loss, mean of 10 steps: {newest:.3g}" in captions(curves)
    assert "Teacher-forced accuracy: 50%" in captions(curves)
    assert "Free-running exact match: 25%" in captions(curves)
    assert curves.accessibleDescription().startswith("Step 100: ")


def test_what_is_drawn_grows_with_the_training(curves: Curves, qtbot: QtBot) -> None:
    curves.show_logs({"training": log_of(150)})
    qtbot.waitUntil(lambda: "Teacher-forced accuracy: 75%" in captions(curves))


def test_a_new_range_lays_out_no_label(curves: Curves, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Qt crashed in that now and then, for axes that do not even show."""
    laid_out: list[object] = []
    monkeypatch.setattr("pyqtgraph.AxisItem._updateLabel", laid_out.append)
    curves.show_logs({"training": log_of(2_000)})
    curves.resize(500, 500)
    qtbot.waitUntil(lambda: curves.plots[0].getAxis("bottom").range[1] > 1_000)
    assert laid_out == []


def test_the_arrow_keys_go_from_measurement_to_measurement(curves: Curves, qtbot: QtBot) -> None:
    qtbot.keyClick(curves, Qt.Key.Key_Left)
    assert curves.accessibleDescription().startswith("Step 50: ")
    assert "Teacher-forced accuracy: 25%" in captions(curves)
    qtbot.keyClick(curves, Qt.Key.Key_End)
    assert curves.accessibleDescription().startswith("Step 100: ")
    qtbot.keyClick(curves, Qt.Key.Key_Home)
    qtbot.keyClick(curves, Qt.Key.Key_Escape)
    assert "Teacher-forced accuracy: 50%" in captions(curves)


def test_the_mouse_reads_the_values_where_it_stands(curves: Curves, qtbot: QtBot) -> None:
    plot = curves.plots[0]
    place = plot.mapFromScene(plot.getViewBox().mapViewToScene(_point(60, 1)))
    qtbot.mouseMove(plot.viewport(), place)
    qtbot.waitUntil(lambda: "Teacher-forced accuracy: 25%" in captions(curves))
    assert curves.accessibleDescription().startswith(("Step 59: ", "Step 60: ", "Step 61: "))


def _point(x: float, y: float) -> object:
    from PySide6.QtCore import QPointF

    return QPointF(x, y)


@pytest.mark.parametrize("charts", [TRAINING, TWINS], ids=["training", "twins"])
def test_lines_of_one_chart_differ_in_more_than_their_colour(charts: tuple[object, ...]) -> None:
    for chart in charts:
        looks = [(line.look.dashes, line.look.mark) for line in chart.lines]  # type: ignore[attr-defined]
        assert len(set(looks)) == len(looks)


@pytest.mark.parametrize("ground", ["#ffffff", "#202020"], ids=["light", "dark"])
def test_lines_and_ground_take_the_colours_of_the_window(curves: Curves, ground: str) -> None:
    palette = QPalette()
    ink = "#000000" if ground == "#ffffff" else "#ffffff"
    for role in (QPalette.ColorRole.Window, QPalette.ColorRole.Base):
        palette.setColor(role, QColor(ground))
    palette.setColor(QPalette.ColorRole.WindowText, QColor(ink))
    curves.setPalette(palette)
    image = curves.plots[0].grab().toImage()
    assert image.pixelColor(image.width() - 3, 3) == QColor(ground)
    lightness = [
        abs(image.pixelColor(x, y).lightness() - QColor(ground).lightness())
        for x in range(60, 300)
        for y in range(5, 90)
    ]
    assert max(lightness) > 150  # the line is there, and stands out


def test_a_long_training_is_drawn_with_no_more_points_than_can_be_seen(curves: Curves, qtbot: QtBot) -> None:
    curves.show_logs({"training": TrainingLog("running", step=100_000, losses=[1.0] * 99_000 + [9.0] + [1.0] * 999)})
    qtbot.waitUntil(lambda: curves.last == 100_000 and curves.plots[0].items[0].xData[-1] == 100_000)
    _, drawn = curves.plots[0].items[0].getData()
    assert len(drawn) < curves.width()
    assert drawn.max() == pytest.approx(1.8)  # the peak, a mean of ten, is not lost


def test_twins_are_drawn_over_each_other(qtbot: QtBot) -> None:
    curves = Curves(TWINS, "Twins")
    qtbot.addWidget(curves)
    curves.show_logs({"right": log_of(100), "wrong": TrainingLog(losses=[2.0] * 100, step=100)})
    curves.show()
    assert [len(item.yData) for item in curves.plots[0].items] == [100, 100]
    assert "training loss, mean of 10 steps, mistaken 2" in curves.accessibleDescription()


def test_values_that_are_all_no_numbers_are_said_to_be_none(curves: Curves, qtbot: QtBot) -> None:
    nan = float("nan")
    curves.show_logs({"training": TrainingLog(step=1, losses=[nan], measures=[Measure(1, nan, nan, nan)])})
    qtbot.waitUntil(lambda: "Teacher-forced accuracy: not a number" in captions(curves))
    assert not curves.grab().isNull()


def test_the_wheel_scrolls_what_the_curves_stand_in(curves: Curves) -> None:
    from PySide6.QtCore import QPoint, QPointF
    from PySide6.QtGui import QWheelEvent

    none = Qt.KeyboardModifier.NoModifier
    place = QPointF(100, 50)
    event = QWheelEvent(
        place, place, QPoint(0, 0), QPoint(0, 120), Qt.MouseButton.NoButton, none, Qt.ScrollPhase.NoScrollPhase, False
    )
    QApplication.sendEvent(curves.plots[0].viewport(), event)
    assert not event.isAccepted()


def test_the_plotting_library_is_not_loaded_before_curves_are_shown() -> None:
    code = """
import sys
from PySide6.QtWidgets import QApplication
from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.break_panel import BreakPanel
from mlxdecoder.app.views.train_panel import TrainPanel
app = QApplication([])
session = Session(lambda message: None)
panels = [kind(session, Bridge(session)) for kind in (TrainPanel, BreakPanel)]
sys.exit(any(name in sys.modules for name in ("pyqtgraph", "mlx")))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
