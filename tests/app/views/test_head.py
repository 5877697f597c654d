"""One head large: raw values, outline, sums, cursor, sides."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QToolButton, QToolTip
from pytestqt.qtbot import QtBot

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.colours import MASKED, scale_of
from mlxdecoder.app.views.head import HeadView
from mlxdecoder.app.views.map_layout import MapLayout
from mlxdecoder.app.views.map_panel import MapPanel
from mlxdecoder.app.views.table import HeadTable
from tests.app.views.pixels import colour_at, colour_of, corner_of
from tests.app.views.sessions import READ, SOURCE, recorded, run_of, tell_generation, tell_model, weights
from tests.app.views.test_shown import compared, leaking_encoder

Sent = list[Message]
WEIGHTS = scale_of("weights", "wrong", 1.0)


@pytest.fixture
def view(qtbot: QtBot, session: Session, bridge: Bridge) -> HeadView:
    view = HeadView(session, bridge)
    qtbot.addWidget(view)
    view.resize(640, 520)
    view.show()
    return view


def panel(view: HeadView, side: str = "wrong") -> MapPanel:
    return view.panels[side]


def layout(view: HeadView, side: str = "wrong") -> MapLayout:
    found = panel(view, side).map_layout
    assert found is not None
    return found


def colour(view: HeadView, row: int, column: int, side: str = "wrong") -> int:
    return colour_at(panel(view, side), corner_of(layout(view, side).cells(row, column)))


def test_heads_that_share_keys_say_so(view: HeadView, session: Session, sent: Sent) -> None:
    recorded(session, sent)
    assert view.remarks == ""
    model = {**vars(session.model), "kv_heads": 2}
    session.requests.ask("open", path=None)
    session.receive(Message("model", sent[-1].run, model))
    tell_generation(session, run_of(sent))
    session.look(head=3)
    assert view.remarks == "Key/value head 1 of 2, shared by heads 2–3"
    session.look(average=True)
    assert view.remarks == ""


def test_a_sink_is_named_with_its_share(view: HeadView, session: Session, sent: Sent) -> None:
    values = weights(len(READ), len(SOURCE))
    values[1, 2] = 0.05
    values[1, 2, :, 0] = 0.8
    recorded(session, sent, cross=values)
    session.look(layer=1, head=2)
    assert view.remarks == "Sink: \u2068The\u2069 (key 0) takes 80% of the weight on average"
    session.look(head=1)
    assert view.remarks == ""


def tell_encoder(session: Session, sent: Sent, values: np.ndarray, allowed: np.ndarray, tokens: list[str]) -> None:
    tell_model(session, sent)
    arrays = {"encoder.weights": values, "encoder.intended": allowed}
    session.receive(Message("source", run_of(sent), {"tokens": tokens, "begin": "<s>"}, arrays))
    session.look(kind="encoder")


def large(session: Session, sent: Sent, size: int) -> None:
    eye = np.broadcast_to(np.eye(size, dtype=np.float32), (2, 4, size, size))
    tell_encoder(session, sent, eye, np.ones((size, size), bool), [f"token{at}" for at in range(size)])


def test_every_cell_has_the_colour_of_its_value(view: HeadView, session: Session, sent: Sent) -> None:
    values = weights(len(READ), len(SOURCE))
    recorded(session, sent, cross=values)
    session.look(layer=1, head=3)
    image = panel(view).viewport().grab().toImage()
    for (row, column), value in np.ndenumerate(values[1, 3]):
        point = corner_of(layout(view).cells(row, column))
        assert image.pixel(int(point.x()), int(point.y())) == colour_of(value, WEIGHTS)


def test_weight_outside_the_mask_is_drawn_as_what_it_is(view: HeadView, session: Session, sent: Sent) -> None:
    leaking_encoder(session, sent)
    assert colour(view, 0, 2) == colour_of(0.2, WEIGHTS)
    assert colour(view, 0, 1) == colour_of(0.0, WEIGHTS)
    assert "outside the intended mask, up to 0.200" in view.findings


def test_the_mask_is_an_outline_and_runs_where_allowed_and_forbidden_meet(
    view: HeadView, session: Session, sent: Sent
) -> None:
    leaking_encoder(session, sent)
    cells = layout(view).cells(0, 0)
    border, inner = QPointF(cells.right(), cells.center().y()), QPointF(cells.right() + 10, cells.center().y())
    assert colour_at(panel(view), border) not in (colour_of(0.8, WEIGHTS), colour_of(0.0, WEIGHTS))
    assert colour_at(panel(view), inner) == colour_of(0.0, WEIGHTS)


def test_masked_scores_have_their_own_grey(view: HeadView, session: Session, sent: Sent) -> None:
    scores = np.random.default_rng(0).normal(0, 3, (2, 4, 6, 5)).astype(np.float32)
    scores[0, 0, 2, 1] = -np.inf
    recorded(session, sent, cross=scores, decoder=np.zeros((2, 4, 6, 6)), stage="masked")
    session.look(stage="masked")
    assert colour(view, 2, 1) == MASKED
    assert colour(view, 3, 1) == colour_of(scores[0, 0, 3, 1], scale_of("masked", "wrong", session.generation.reach()))


def test_arrow_keys_move_a_cell_cursor_that_is_told(view: HeadView, session: Session, sent: Sent, qtbot: QtBot) -> None:
    values = weights(len(READ), len(SOURCE))
    recorded(session, sent, cross=values)
    session.look(step=3)
    qtbot.keyClick(panel(view), Qt.Key.Key_Right)  # the first key goes to the newest row
    assert "noir" in view.reading and "query 3" in view.reading and "The" in view.reading
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Right, Qt.Key.Key_Right):
        qtbot.keyClick(panel(view), key)
    assert "chat" in view.reading and "cat" in view.reading and f"{values[0, 0, 2, 2]:.3f}" in view.reading
    qtbot.keyClick(panel(view), Qt.Key.Key_End, Qt.KeyboardModifier.ControlModifier)
    assert panel(view).cursor_cell == (3, len(SOURCE) - 1)
    qtbot.keyClick(panel(view), Qt.Key.Key_Down)
    assert panel(view).cursor_cell == (3, len(SOURCE) - 1)


def test_what_the_keys_find_is_known_to_screen_readers(
    view: HeadView, session: Session, sent: Sent, qtbot: QtBot
) -> None:
    recorded(session, sent)
    panel(view).setFocus()
    qtbot.waitUntil(panel(view).hasFocus)
    qtbot.keyClick(panel(view), Qt.Key.Key_Right)
    assert panel(view).accessibleDescription() == view.reading
    assert "layer 0, head 0" in panel(view).accessibleName()


def test_the_mouse_tells_the_value_under_it(view: HeadView, session: Session, sent: Sent, qtbot: QtBot) -> None:
    values = weights(len(READ), len(SOURCE))
    recorded(session, sent, cross=values)
    qtbot.mouseMove(panel(view).viewport(), corner_of(layout(view).cells(4, 1)).toPoint())
    assert "dort" in view.reading and "black" in view.reading and f"{values[0, 0, 4, 1]:.3f}" in view.reading


def tooltip(view: HeadView, point: QPointF) -> str:
    place = point.toPoint()
    port = panel(view).viewport()
    QApplication.sendEvent(port, QHelpEvent(QEvent.Type.ToolTip, place, port.mapToGlobal(place)))
    return QToolTip.text()


def test_labels_are_elided_and_the_tooltip_has_the_whole_token(view: HeadView, session: Session, sent: Sent) -> None:
    token = "Donaudampfschifffahrtsgesellschaft"
    recorded(session, sent, source=("▁a", token, "שלום", "日本語", "."))
    top = layout(view).cells(0, 1)
    assert token in tooltip(view, QPointF(top.center().x(), 5))
    assert layout(view).top < 200
    assert "sums to 1.000" in tooltip(view, QPointF(5, top.center().y()))


def test_tokens_of_either_direction_leave_the_sentence_in_order(view: HeadView, session: Session, sent: Sent) -> None:
    recorded(session, sent, source=("▁a", "שלום", "مرحبا", "日本語", "."))
    view.point(1, 1)
    assert view.reading.startswith("\u2068Le\u2069 (query 1) → \u2068שלום\u2069 (key 1): weight")


def test_there_is_one_map_without_mistakes(view: HeadView, session: Session, sent: Sent) -> None:
    view.resize(1400, 600)
    recorded(session, sent)
    assert list(view.panels) == ["wrong"]


def test_both_sides_stand_beside_each_other_where_there_is_room(view: HeadView, session: Session, sent: Sent) -> None:
    right, wrong = compared(session, sent)
    session.look(side="wrong")
    assert list(view.panels) == ["wrong"]
    view.resize(900, 520)
    assert list(view.panels) == ["right", "wrong"]
    assert colour(view, 1, 2, "right") == colour_of(right[0, 0, 1, 2], WEIGHTS)
    assert colour(view, 1, 2, "wrong") == colour_of(wrong[0, 0, 1, 2], WEIGHTS)
    assert layout(view, "right").cell == layout(view, "wrong").cell


def test_the_difference_is_on_the_same_scale(view: HeadView, session: Session, sent: Sent) -> None:
    right, wrong = compared(session, sent)
    assert list(view.panels) == ["change"]
    change = wrong[0, 0, 4, 4] - right[0, 0, 4, 4]
    assert colour(view, 4, 4, "change") == colour_of(change, scale_of("weights", "change", 1.0))
    view.resize(1300, 520)
    assert list(view.panels) == ["right", "wrong", "change"]
    view.point(4, 4)
    assert view.reading.count("query 4") == 3 and f"{abs(change):.3f}" in view.reading.splitlines()[2]


def test_the_newest_row_is_marked(view: HeadView, session: Session, sent: Sent) -> None:
    recorded(session, sent)
    highlight = view.palette().highlight().color().rgb()
    for step in (1, 4):
        session.look(step=step)
        edge = layout(view).left - 5
        marked = [
            colour_at(panel(view), QPointF(edge, layout(view).cells(row, 0).center().y())) == highlight
            for row in range(len(READ))
        ]
        assert marked == [row == step for row in range(len(READ))]


def test_a_large_map_fits_and_scrolls_when_it_is_zoomed(
    view: HeadView, session: Session, sent: Sent, qtbot: QtBot
) -> None:
    large(session, sent, 200)
    bars = panel(view).horizontalScrollBar(), panel(view).verticalScrollBar()
    assert [bar.maximum() for bar in bars] == [0, 0]
    view.point(150, 150)
    for _ in range(12):
        qtbot.keyClick(panel(view), Qt.Key.Key_Plus)
    assert all(bar.maximum() > 500 for bar in bars)
    QApplication.processEvents()
    assert layout(view).area.contains(layout(view).cells(150, 150).center())
    bright = colour_of(1.0, WEIGHTS)
    assert colour(view, 149, 149) == bright and colour(view, 149, 151) == colour_of(0.0, WEIGHTS)
    assert layout(view).at(layout(view).cells(149, 149).center()) == (149, 149)
    qtbot.keyClick(panel(view), Qt.Key.Key_0)
    assert [bar.maximum() for bar in bars] == [0, 0]


@pytest.mark.parametrize("size", [200, 1024])
def test_a_diagonal_is_seen_where_cells_are_smaller_than_pixels(
    view: HeadView, session: Session, sent: Sent, size: int
) -> None:
    large(session, sent, size)
    image = panel(view).viewport().grab().toImage()
    whole, bright = layout(view).cells(0, 0, size, size), colour_of(1.0, WEIGHTS)
    for share in (0.1, 0.37, 0.5, 0.9):
        x, y = int(whole.left() + share * whole.width()), int(whole.top() + share * whole.height())
        assert bright in {image.pixel(x + dx, y + dy) for dx in range(-2, 3) for dy in range(-2, 3)}


def test_a_map_of_one_cell(view: HeadView, session: Session, sent: Sent) -> None:
    tell_encoder(session, sent, np.ones((1, 1, 1, 1)), np.ones((1, 1), bool), ["a"])
    assert colour(view, 0, 0) == colour_of(1.0, WEIGHTS)


def test_without_attention_it_says_so_and_keys_do_no_harm(view: HeadView, session: Session, qtbot: QtBot) -> None:
    assert view.panels == {} and view.reading == ""
    view.point(3, 3)
    view.grab()


def test_the_average_is_said_in_the_title(view: HeadView, session: Session, sent: Sent) -> None:
    values = weights(len(READ), len(SOURCE))
    recorded(session, sent, cross=values)
    assert "mean" not in view.title
    session.look(average=True, head=3)
    assert "mean of its 4 heads" in view.title
    assert colour(view, 2, 3) == colour_of(values[0, :, 2, 3].mean(), WEIGHTS)


def test_words_are_said_in_the_title_and_read_in_the_values(view: HeadView, session: Session, sent: Sent) -> None:
    values = weights(5, 5)
    recorded(
        session,
        sent,
        cross=values,
        source=("▁The", "▁cat", "▁sleep", "s", "."),
        read=("<s>", "▁Le", "▁ch", "at", "▁dort"),
    )
    assert "words" not in view.title
    session.look(words=True)
    assert "merged into words: rows averaged, columns summed" in view.title
    merged = values[0, 0, 2:4, 2:].sum(axis=-1).mean()
    assert colour(view, 2, 2) == colour_of(merged, WEIGHTS)
    view.point(2, 2)
    assert "chat" in view.reading and "sleeps." in view.reading and f"{merged:.3f}" in view.reading
    session.look(step=2)  # of "chat", only the first piece is read
    assert "ch\u2069" in view.reading and f"{values[0, 0, 2, 2:].sum():.3f}" in view.reading
    session.look(stage="scores", step=None)
    assert "words" not in view.title


def test_what_a_piece_sees_ahead_within_its_word_is_flagged(view: HeadView, session: Session, sent: Sent) -> None:
    ahead = np.tile(np.array([[0.6, 0.4], [0.0, 1.0]], np.float32), (1, 1, 1, 1))
    tell_encoder(session, sent, ahead, np.tri(2, dtype=bool), ["▁ch", "at"])
    session.look(words=True)
    assert "outside the intended mask, up to 0.400" in view.findings
    assert panel(view).head is not None and panel(view).head.queries == ("chat",)


def test_the_same_values_as_a_table(view: HeadView, session: Session, sent: Sent, qtbot: QtBot) -> None:
    values = weights(len(READ), len(SOURCE))
    recorded(session, sent, cross=values)
    button = next(each for each in view.findChildren(QToolButton) if each.accessibleName() == "Show as a table")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    table = view.findChild(HeadTable)
    assert table.isVisible()
    assert table.model().index(2, 3).data() == f"{values[0, 0, 2, 3]:.3f}"


def test_a_cursor_on_a_row_that_is_not_there_yet_waits_for_it(view: HeadView, session: Session, sent: Sent) -> None:
    recorded(session, sent)
    view.point(4, 1)
    session.look(step=1)
    assert panel(view).cursor_cell is None and "query 4" not in view.reading
    session.look(step=None)
    assert panel(view).cursor_cell == (4, 1) and "query 4" in view.reading


def test_missing_numbers_are_told(view: HeadView, session: Session, sent: Sent) -> None:
    values = weights(len(READ), len(SOURCE))
    values[0, 0, 1, 1] = np.nan
    recorded(session, sent, cross=values)
    assert "no number" in view.findings
    view.point(1, 1)
    assert "no value" in view.reading
    view.grab()


def test_every_widget_that_takes_the_keyboard_has_a_name(view: HeadView, session: Session, sent: Sent) -> None:
    compared(session, sent)
    view.resize(1300, 520)
    focusable = [each for each in view.findChildren(QToolButton)] + list(view.panels.values())
    assert all(each.accessibleName() and each.focusPolicy() & Qt.FocusPolicy.TabFocus for each in focusable)


def test_zooming_one_side_zooms_the_other_and_they_scroll_together(
    view: HeadView, session: Session, sent: Sent, qtbot: QtBot
) -> None:
    compared(session, sent)
    session.look(side="wrong")
    view.resize(900, 400)
    for _ in range(6):
        qtbot.keyClick(panel(view, "right"), Qt.Key.Key_Plus)
    bars = [panel(view, side).verticalScrollBar() for side in ("right", "wrong")]
    bars[0].setValue(40)
    assert [bar.value() for bar in bars] == [40, 40]


def test_a_point_beside_the_cells_is_no_cell(view: HeadView, session: Session, sent: Sent, qtbot: QtBot) -> None:
    recorded(session, sent)
    qtbot.mouseMove(panel(view).viewport(), QPoint(2, 2))
    assert panel(view).cursor_cell is None


def test_a_generation_that_begins_anew_leaves_no_old_picture(view: HeadView, session: Session, sent: Sent) -> None:
    recorded(session, sent)
    session.generation.begin()
    assert view.panels == {} and view.title == ""
    tell_generation(session, run_of(sent))
    assert list(view.panels) == ["wrong"]


class Resizes(QObject):
    """Counts how often a widget was given another size."""

    count = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.Resize
        return False


@pytest.mark.parametrize("zoom", [1.25, 1.5625, 2.0])
def test_scroll_bars_come_to_rest_at_every_size(
    view: HeadView, session: Session, sent: Sent, qtbot: QtBot, zoom: float
) -> None:
    large(session, sent, 56)
    panel(view).set_zoom(zoom)
    resizes = Resizes()
    panel(view).viewport().installEventFilter(resizes)
    for width in range(420, 640, 14):
        resizes.count = 0
        view.resize(width, 480)
        QApplication.processEvents()
        assert resizes.count < 10
