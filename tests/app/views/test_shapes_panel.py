from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.shapes_panel import ShapesPanel
from tests.app.views.written import count_of, written

SHAPES = {"rows": [["queries", "B H T dh", [1, 4, 6, 16]], ["weights", "B H T S", [1, 4, 6, 6]]]}


@pytest.fixture
def panel(session: Session, bridge: Bridge, sent: list[Message], qtbot: QtBot) -> ShapesPanel:
    written(session, sent)
    panel = ShapesPanel(session, bridge)
    qtbot.addWidget(panel)
    return panel


def show(panel: ShapesPanel, qtbot: QtBot) -> None:
    with qtbot.waitExposed(panel):
        panel.show()


def answer(session: Session, sent: list[Message]) -> None:
    asked = [one for one in sent if one.kind == "shapes"][-1]
    session.receive(Message("shapes", asked.run, SHAPES))


def test_shapes_are_asked_for_once_somebody_looks(
    panel: ShapesPanel, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    session.look(step=1)
    assert count_of(sent, "shapes") == 0
    show(panel, qtbot)
    assert sent[-1]["sentence"] == session.document.sentence
    assert panel.state.text() == "Tracing the shapes…"
    answer(session, sent)
    session.look(step=2)
    assert count_of(sent, "shapes") == 1
    assert [panel.table.content.index(0, n).data() for n in range(3)] == ["queries", "B H T dh", "1 × 4 × 6 × 16"]


def test_another_sentence_has_other_shapes(
    panel: ShapesPanel, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    show(panel, qtbot)
    answer(session, sent)
    session.change("change the sentence", sentence="A dog.")
    assert sent[-1]["sentence"] == "A dog."
    assert panel.table.content.rowCount() == 0


def test_the_table_is_copied(panel: ShapesPanel, session: Session, sent: list[Message], qtbot: QtBot) -> None:
    show(panel, qtbot)
    assert not panel.copy_button.isEnabled()
    answer(session, sent)
    qtbot.mouseClick(panel.copy_button, Qt.MouseButton.LeftButton)
    copied = QApplication.clipboard().text().splitlines()
    assert copied == ["Array\tAxes\tShape", "queries\tB H T dh\t1 × 4 × 6 × 16", "weights\tB H T S\t1 × 4 × 6 × 6"]


def test_a_worker_that_came_back_is_asked_again(
    panel: ShapesPanel, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    show(panel, qtbot)
    session.worker_ended("The model's process has ended.")
    assert panel.state.text() == "No shapes yet."
    written(session, sent)
    assert count_of(sent, "shapes") == 2
