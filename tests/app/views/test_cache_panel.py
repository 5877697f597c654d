from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.bar_table import BAR, BarTable
from mlxdecoder.app.views.cache_panel import CachePanel
from tests.app.views.sessions import run_of
from tests.app.views.written import count_of, tell_word, write, written

COSTS = {"rows": [[0, 1.0, 1.0], [1, 1.0, 2.0], [2, 1.0, 5.0]], "read": [64, 128, 192], "recomputed": [0, 6, 7]}


@pytest.fixture
def panel(session: Session, bridge: Bridge, sent: list[Message], qtbot: QtBot) -> CachePanel:
    written(session, sent)
    panel = CachePanel(session, bridge)
    qtbot.addWidget(panel)
    panel.resize(330, 560)
    with qtbot.waitExposed(panel):
        panel.show()
    return panel


def cells(table: BarTable, row: int) -> list[str]:
    return [
        table.content.index(row, column).data().strip("\u2068\u2069") for column in range(len(table.content.columns))
    ]


def measured(panel: CachePanel, session: Session, sent: list[Message], qtbot: QtBot) -> None:
    qtbot.mouseClick(panel.measure_button, Qt.MouseButton.LeftButton)
    session.receive(Message("cost", sent[-1].run, COSTS))


def test_each_step_tells_what_it_reads_adds_and_holds(panel: CachePanel, session: Session) -> None:
    assert cells(panel.steps, 3) == ["4", "dort", "192 bytes", "64 bytes", "256 bytes"]
    bars = [panel.steps.content.index(row, 4).data(BAR) for row in range(6)]
    assert bars == pytest.approx([held / 6 for held in range(1, 7)])
    assert panel.steps.content.index(5, 2).data(BAR) == 1  # each column has a scale of its own
    session.look(step=3)
    assert "4 positions of its own and 5 of the source" in panel.now.text()
    assert "adds 64 bytes, reads 192 bytes; the cache then holds 256 bytes" in panel.now.text()


def test_the_chosen_step_is_marked_and_another_can_be_chosen(panel: CachePanel, session: Session, qtbot: QtBot) -> None:
    session.look(step=2)
    assert [index.row() for index in panel.steps.selectionModel().selectedRows()] == [2]
    qtbot.keyClick(panel.steps, Qt.Key.Key_Up)
    assert session.document.view.step == 1


def test_a_new_generation_changes_nothing_of_what_is_looked_at(
    panel: CachePanel, session: Session, sent: list[Message]
) -> None:
    session.look(step=4)
    session.generation.begin()
    run = run_of(sent)
    write(session, run, ("▁Le", "▁chat"))
    assert panel.steps.content.rowCount() == 2
    assert session.document.view.step == 4
    for step in range(2, 6):
        tell_word(session, run, step, "x")
    assert [index.row() for index in panel.steps.selectionModel().selectedRows()] == [4]


def test_the_cost_is_measured_when_asked_for(
    panel: CachePanel, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    assert count_of(sent, "cost") == 0
    qtbot.mouseClick(panel.measure_button, Qt.MouseButton.LeftButton)
    assert (sent[-1].kind, sent[-1]["sentence"]) == ("cost", session.document.sentence)
    assert not panel.measure_button.isEnabled()
    session.receive(Message("cost", sent[-1].run, COSTS))
    assert panel.measure_button.isEnabled()
    assert cells(panel.costs, 2) == ["3", "1.0 ms", "5.0 ms"]
    assert panel.costs.content.index(2, 1).data(BAR) == pytest.approx(1 / 5)  # one scale for both
    assert "3.0 ms with the cache, 8.0 ms without: 2.7 times as long" in panel.summary.text()
    assert "makes 13 keys and values again" in panel.summary.text()


def test_a_cost_is_not_shown_for_another_sentence(
    panel: CachePanel, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    measured(panel, session, sent, qtbot)
    session.change("change the sentence", sentence="A dog.")
    assert panel.costs.content.rowCount() == 0
    assert panel.summary.text() == "Not measured for this sentence yet."
    session.undo()
    assert panel.costs.content.rowCount() == 3


def test_nothing_can_be_measured_while_the_worker_is_gone(panel: CachePanel, session: Session) -> None:
    session.worker_ended("The model's process has ended.")
    assert not panel.measure_button.isEnabled()
