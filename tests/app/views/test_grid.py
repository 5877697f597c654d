"""All heads as small maps: what is drawn, what is chosen, what is told."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QHelpEvent, QPaintEvent
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.colours import scale_of
from mlxdecoder.app.views.grid import HeatmapGrid
from mlxdecoder.app.views.shown import shown
from tests.app.views.pixels import colour_at, colour_of
from tests.app.views.sessions import READ, SOURCE, recorded, run_of, tell_model, tell_source, tell_step, weights
from tests.app.views.test_shown import leaking_encoder, sinking

Sent = list[Message]
WEIGHTS = scale_of("weights", "wrong", 1.0)


@pytest.fixture
def grid(qtbot: QtBot, session: Session, bridge: Bridge) -> HeatmapGrid:
    grid = HeatmapGrid(session, bridge)
    qtbot.addWidget(grid)
    grid.resize(620, 340)
    grid.show()
    return grid


def centre(grid: HeatmapGrid, layer: int, head: int, row: int, column: int) -> QPointF:
    layout = grid.grid_layout
    assert layout is not None
    corner = layout.map(layer, head).topLeft()
    return corner + QPointF((column + 0.5) * layout.cell, (row + 0.5) * layout.cell)


def shot(grid: HeatmapGrid) -> bytes:
    image = grid.viewport().grab().toImage()
    return bytes(image.constBits())


def test_every_cell_of_every_head_has_the_colour_of_its_value(grid: HeatmapGrid, session: Session, sent: Sent) -> None:
    values = weights(len(READ), len(SOURCE))
    recorded(session, sent, cross=values)
    for (layer, head, row, column), value in np.ndenumerate(values):
        assert colour_at(grid, centre(grid, layer, head, row, column)) == colour_of(value, WEIGHTS)
        if head and row > 1:
            break
    for place in ((1, 3, 5, 4), (0, 2, 3, 1), (1, 0, 5, 0)):
        assert colour_at(grid, centre(grid, *place)) == colour_of(values[place], WEIGHTS)


def test_before_there_is_attention_it_says_so(grid: HeatmapGrid) -> None:
    assert "No attention" in grid.describe(0, 0)
    grid.grab()


def test_a_click_chooses_a_head(grid: HeatmapGrid, session: Session, sent: Sent, qtbot: QtBot) -> None:
    recorded(session, sent)
    place = centre(grid, 1, 2, 3, 3).toPoint()
    qtbot.mouseClick(grid.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert (session.document.view.layer, session.document.view.head) == (1, 2)
    qtbot.mouseClick(grid.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(2, 2))
    assert grid.chosen == (1, 2)


def test_arrow_keys_choose_and_stop_at_the_rim(grid: HeatmapGrid, session: Session, sent: Sent, qtbot: QtBot) -> None:
    recorded(session, sent)
    visited = []
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_End, Qt.Key.Key_Home):
        qtbot.keyClick(grid, key)
        visited.append(grid.chosen)
    assert visited == [(0, 0), (0, 1), (1, 1), (1, 1), (1, 3), (1, 0)]
    assert "layer 1, head 0" in grid.accessibleDescription()


def test_the_chosen_head_has_a_frame_that_the_others_lack(grid: HeatmapGrid, session: Session, sent: Sent) -> None:
    recorded(session, sent)
    session.look(layer=1, head=1)
    highlight = grid.palette().highlight().color().rgb()
    layout = grid.grid_layout
    assert layout is not None
    framed = [
        (layer, head)
        for layer in range(2)
        for head in range(4)
        if colour_at(grid, layout.map(layer, head).topLeft() + QPointF(20, -2)) == highlight
    ]
    assert framed == [(1, 1)]


def test_heads_that_look_where_they_should_not_have_a_badge_and_words(
    grid: HeatmapGrid, session: Session, sent: Sent
) -> None:
    leaking_encoder(session, sent)
    assert "outside the intended mask, up to 0.200" in grid.describe(0, 1)
    assert badge(grid, 0, 1) != badge_of_nothing(grid)
    session.look(kind="cross")
    assert "outside" not in grid.describe(0, 1)


def test_what_a_later_row_does_is_not_told_before_it_is_shown(grid: HeatmapGrid, session: Session, sent: Sent) -> None:
    tell_model(session, sent)
    values, allowed = np.full((2, 4, 1, 2), 0.5, np.float32), np.ones((1, 2), bool)
    tell_source(session, run_of(sent), ["a", "b"])
    for step, forbids in enumerate((False, False, True)):
        arrays = {"cross.weights": values, "cross.intended": allowed & (not forbids)}
        fields = {"step": step, "id": 1, "text": "x", "logprob": 0.0, "candidates": [], "translation": "x"}
        fields |= {"seconds": 0.0, "cache": {}, "slots": [0]}
        session.receive(Message("token", run_of(sent), fields, arrays))
    assert "outside the intended mask, up to 1" in grid.describe(0, 0)
    session.look(step=1)
    assert "outside" not in grid.describe(0, 0)


def test_sinks_have_a_badge_and_words(grid: HeatmapGrid, session: Session, sent: Sent) -> None:
    recorded(session, sent, cross=sinking(0.8, 4))
    assert "sink" in grid.describe(1, 2) and "80%" in grid.describe(1, 2) and "sink" not in grid.describe(1, 1)
    assert badge(grid, 1, 2) != badge_of_nothing(grid) == badge(grid, 1, 1)


def badge(grid: HeatmapGrid, layer: int, head: int) -> set[int]:
    """The colours in the strip beside a map."""
    assert grid.grid_layout is not None
    strip = grid.grid_layout.badges(layer, head).adjusted(4, 0, 0, 0).toAlignedRect()
    image = grid.viewport().grab(strip).toImage()
    return {image.pixel(x, y) for x in range(image.width()) for y in range(image.height())}


def badge_of_nothing(grid: HeatmapGrid) -> set[int]:
    return {grid.palette().base().color().rgb()}


def test_the_tooltip_tells_of_the_head_under_the_mouse(grid: HeatmapGrid, session: Session, sent: Sent) -> None:
    recorded(session, sent, cross=sinking(0.8, 4))
    place = centre(grid, 1, 2, 1, 1).toPoint()
    event = QHelpEvent(QEvent.Type.ToolTip, place, grid.viewport().mapToGlobal(place))
    QApplication.sendEvent(grid.viewport(), event)
    assert QToolTip.text() == grid.describe(1, 2)


def test_rows_after_the_step_are_not_drawn(grid: HeatmapGrid, session: Session, sent: Sent) -> None:
    recorded(session, sent)
    session.look(step=2)
    ground = grid.palette().base().color().rgb()
    drawn = [colour_at(grid, centre(grid, 0, 1, row, 1)) != ground for row in range(len(READ))]
    assert drawn == [True, True, True, False, False, False]


def test_the_average_is_one_map_a_layer_and_says_so(
    grid: HeatmapGrid, session: Session, sent: Sent, qtbot: QtBot
) -> None:
    values = weights(len(READ), len(SOURCE))
    recorded(session, sent, cross=values)
    session.look(head=3, average=True)
    assert colour_at(grid, centre(grid, 1, 0, 2, 2)) == colour_of(values[1, :, 2, 2].mean(), WEIGHTS)
    assert "mean of the heads of layer 0" in grid.describe(0, 0)
    qtbot.keyClick(grid, Qt.Key.Key_Down)
    assert (session.document.view.layer, session.document.view.head) == (1, 3)


class Watched(HeatmapGrid):
    """A grid that notes what it is asked to paint."""

    painted: list[QRect]

    def paintEvent(self, event: QPaintEvent) -> None:
        self.painted += list(event.region())
        super().paintEvent(event)


def test_a_new_token_repaints_its_row_and_nothing_above(
    qtbot: QtBot, session: Session, bridge: Bridge, sent: Sent
) -> None:
    grid = Watched(session, bridge)
    grid.painted = []
    qtbot.addWidget(grid)
    grid.resize(400, 200)
    grid.show()
    tell_model(session, sent, ["cross"])
    run, cross, decoder = run_of(sent), weights(4, 5, layers=1, heads=1), weights(4, 4, layers=1, heads=1)
    tell_source(session, run)
    for step in range(3):
        tell_step(session, run, step, "a", decoder, cross)
    qtbot.waitUntil(lambda: bool(grid.painted))
    QApplication.processEvents()
    grid.painted.clear()
    tell_step(session, run, 3, "a", decoder, cross)
    qtbot.waitUntil(lambda: bool(grid.painted))
    layout = grid.grid_layout
    assert layout is not None
    inside = layout.map(0, 0).toAlignedRect().adjusted(2, 2, -2, -2)
    top = min((inside & painted).top() for painted in grid.painted if inside.intersects(painted))
    assert top >= int(layout.map(0, 0).top() + 3 * layout.cell) - 1
    for row in range(4):
        assert colour_at(grid, centre(grid, 0, 0, row, 2)) == colour_of(cross[0, 0, row, 2], WEIGHTS)


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("kind", ["cross", "decoder"])
def test_maps_that_grew_token_by_token_look_like_maps_drawn_at_once(
    grid: HeatmapGrid, session: Session, sent: Sent, qtbot: QtBot, bridge: Bridge, kind: str, words: bool
) -> None:
    session.look(kind=kind, words=words)
    recorded(session, sent, read=("<s>", "▁Le", "▁ch", "a", "t", "▁noir"))
    fresh = HeatmapGrid(session, bridge)
    qtbot.addWidget(fresh)
    fresh.resize(grid.size())
    fresh.show()
    for one in (grid, fresh):
        one.clearFocus()
    assert shot(grid) == shot(fresh)


@pytest.mark.parametrize("size", [1, 200, 1024])
def test_any_size_can_be_drawn(grid: HeatmapGrid, session: Session, sent: Sent, size: int) -> None:
    tell_model(session, sent)
    eye = np.broadcast_to(np.eye(size, dtype=np.float32), (2, 4, size, size))
    arrays = {"encoder.weights": eye, "encoder.intended": np.ones((size, size), bool)}
    session.receive(Message("source", run_of(sent), {"tokens": ["a"] * size, "begin": "<s>"}, arrays))
    session.look(kind="encoder")
    layout = grid.grid_layout
    assert layout is not None
    side = layout.map(1, 2).width()
    diagonal = [layout.map(1, 2).topLeft() + QPointF(at, at) * side for at in (0.21, 0.5, 0.83)]
    image = grid.viewport().grab().toImage()
    bright = colour_of(1.0, WEIGHTS)
    for point in diagonal:
        near = [image.pixel(int(point.x()) + x, int(point.y()) + y) for x in range(-2, 3) for y in range(-2, 3)]
        assert bright in near


def test_many_layers_scroll_and_the_chosen_one_is_brought_in_sight(
    grid: HeatmapGrid, session: Session, sent: Sent, qtbot: QtBot
) -> None:
    tell_model(session, sent, layers=24, heads=16)
    values = np.zeros((24, 16, 2, 2), np.float32)
    arrays = {"encoder.weights": values, "encoder.intended": np.ones((2, 2), bool)}
    session.receive(Message("source", run_of(sent), {"tokens": ["a", "b"], "begin": "<s>"}, arrays))
    session.look(kind="encoder")
    assert grid.verticalScrollBar().maximum() > 0
    qtbot.keyClick(grid, Qt.Key.Key_PageDown)
    assert grid.chosen == (23, 0) and grid.verticalScrollBar().value() == grid.verticalScrollBar().maximum()


def test_it_draws_nothing_of_a_model_that_has_gone(grid: HeatmapGrid, session: Session, sent: Sent) -> None:
    recorded(session, sent)
    session.generation.begin()
    assert shown(session) is None and grid.grid_layout is None
