from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.document import Sampling
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.sampling import Number, SamplingPanel
from tests.app.views.written import asked, count_of, written


@pytest.fixture
def panel(session: Session, bridge: Bridge, sent: list[Message], qtbot: QtBot) -> SamplingPanel:
    written(session, sent)
    panel = SamplingPanel(session, bridge)
    qtbot.addWidget(panel)
    panel.resize(320, 500)
    with qtbot.waitExposed(panel):
        panel.show()
    return panel


def type_in(field: Number, text: str, qtbot: QtBot) -> None:
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, text)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [("temperature", "0.7", 0.7), ("top_k", "5", 5), ("top_p", "0.9", 0.9), ("beam", "4", 4), ("seed", "12", 12)],
)
def test_a_number_is_taken_when_it_is_finished_and_can_be_undone(
    panel: SamplingPanel, session: Session, sent: list[Message], qtbot: QtBot, name: str, text: str, value: float
) -> None:
    before = count_of(sent, "generate")
    type_in(panel.fields[name], text, qtbot)
    assert count_of(sent, "generate") == before  # not at every keystroke
    qtbot.keyClick(panel.fields[name], Qt.Key.Key_Return)
    assert count_of(sent, "generate") == before + 1
    assert asked(sent)["sampling"][name] == value
    assert type(asked(sent)["sampling"][name]) is type(value)
    session.undo()
    assert panel.fields[name].value() == getattr(Sampling(), name)


def test_steps_of_a_field_generate_once(
    panel: SamplingPanel, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    before = count_of(sent, "generate")
    panel.fields["temperature"].setFocus()
    for _ in range(5):
        qtbot.keyClick(panel.fields["temperature"], Qt.Key.Key_Up)
    qtbot.waitUntil(lambda: count_of(sent, "generate") > before)
    assert asked(sent)["sampling"]["temperature"] == pytest.approx(0.5)
    assert count_of(sent, "generate") == before + 1
    session.undo()
    assert session.document.sampling == Sampling()


def test_a_step_that_is_not_applied_yet_stays_when_something_else_changes(
    panel: SamplingPanel, session: Session, qtbot: QtBot
) -> None:
    panel.fields["beam"].setFocus()
    qtbot.keyClick(panel.fields["beam"], Qt.Key.Key_Up)
    session.look(step=1)
    assert panel.fields["beam"].value() == 2
    assert session.document.sampling.beam == 1


def test_what_is_being_typed_stays_when_something_else_changes(
    panel: SamplingPanel, session: Session, qtbot: QtBot
) -> None:
    type_in(panel.fields["temperature"], "1.2", qtbot)
    session.look(step=1)
    assert panel.fields["temperature"].text() == "1.2"


def test_the_most_probable_tokens_are_one_click_away(
    panel: SamplingPanel, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    session.change("change the sampling", sampling=Sampling(1.5, 7, 0.5, 4, 3))
    qtbot.mouseClick(panel.most_probable_button, Qt.MouseButton.LeftButton)
    assert asked(sent)["sampling"] == vars(Sampling(seed=3))
    assert panel.fields["temperature"].value() == 0


def test_drawing_again_takes_another_seed(
    panel: SamplingPanel, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    assert not panel.again_button.isEnabled()  # nothing is drawn at temperature 0
    session.change("change the temperature", sampling=Sampling(temperature=1.0))
    qtbot.mouseClick(panel.again_button, Qt.MouseButton.LeftButton)
    assert asked(sent)["sampling"] == vars(Sampling(temperature=1.0, seed=1))


def test_a_value_finer_than_the_field_is_not_changed_by_showing_it(panel: SamplingPanel, session: Session) -> None:
    session.change("change the temperature", sampling=Sampling(temperature=0.123456))
    panel.apply()
    assert session.document.sampling.temperature == 0.123456


def test_it_says_what_is_not_used(panel: SamplingPanel, session: Session) -> None:
    assert "top-k, top-p and seed are not used" in panel.unused.text()
    session.change("search", sampling=Sampling(beam=4))
    assert "temperature, top-k, top-p and seed are not used" in panel.unused.text()
    session.change("draw", sampling=Sampling(temperature=1.0))
    assert panel.unused.text() == ""


def test_top_k_reaches_as_far_as_the_vocabulary(panel: SamplingPanel) -> None:
    assert panel.fields["top_k"].maximum() == 900


@pytest.mark.parametrize("focused", [True, False])
def test_the_wheel_changes_a_number_only_with_the_focus(panel: SamplingPanel, qtbot: QtBot, focused: bool) -> None:
    field = panel.fields["beam"]
    (field if focused else panel.fields["seed"]).setFocus()
    qtbot.waitUntil(lambda: field.hasFocus() == focused)
    middle = field.rect().center()
    no_buttons, no_keys = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier
    turn = QPoint(0, 120)
    places = (QPointF(middle), QPointF(field.mapToGlobal(middle)))
    wheel = QWheelEvent(*places, QPoint(), turn, no_buttons, no_keys, Qt.ScrollPhase.NoScrollPhase, False)
    QApplication.sendEvent(field, wheel)
    assert field.value() == (2 if focused else 1)
