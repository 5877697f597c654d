from __future__ import annotations

import math

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.bar_table import BAR
from mlxdecoder.app.views.candidates import CandidatesPanel
from tests.app.views.sessions import run_of
from tests.app.views.written import WORDS, asked, count_of, tell_source, tell_word, write, written


@pytest.fixture
def panel(session: Session, bridge: Bridge, sent: list[Message], qtbot: QtBot) -> CandidatesPanel:
    written(session, sent)
    panel = CandidatesPanel(session, bridge)
    qtbot.addWidget(panel)
    panel.resize(320, 500)
    with qtbot.waitExposed(panel):
        panel.show()
    return panel


def cells(panel: CandidatesPanel, row: int) -> list[str]:
    return [panel.table.content.index(row, column).data().strip("\u2068\u2069") for column in range(3)]


def click_on(panel: CandidatesPanel, row: int, qtbot: QtBot) -> None:
    middle = panel.table.visualRect(panel.table.content.index(row, 0)).center()
    qtbot.mouseClick(panel.table.viewport(), Qt.MouseButton.LeftButton, pos=middle)


def test_the_chosen_step_is_shown_with_its_probabilities(panel: CandidatesPanel, session: Session) -> None:
    session.look(step=2)
    assert panel.heading.text() == "Step 3: what may follow “\u2068chat\u2069”. Click another to force it."
    assert cells(panel, 0) == ["noir", "80%", "chosen"]
    assert cells(panel, 1) == ["other0", "2.0%", ""]
    assert panel.table.content.index(0, 1).data(BAR) == pytest.approx(0.8)
    assert panel.table.content.rowCount() == 10
    assert panel.rest.text() == "The other 890 tokens together: 2.0%"


def test_a_click_forces_a_token_and_the_model_goes_on_from_there(
    panel: CandidatesPanel, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    session.change("force tokens", forced={0: 7, 2: 8, 4: 9})
    session.look(step=2)
    click_on(panel, 3, qtbot)
    assert asked(sent)["forced"] == {"0": 7, "2": 202}  # the one at step 4 was meant for other words
    assert session.document.view.step == 2
    assert session.history.undoable == "force a token"
    session.undo()
    assert asked(sent)["forced"] == {"0": 7, "2": 8, "4": 9}


def test_return_forces_the_token_under_the_cursor(
    panel: CandidatesPanel, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    session.look(step=1)
    qtbot.keyClick(panel.table, Qt.Key.Key_Down)
    qtbot.keyClick(panel.table, Qt.Key.Key_Down)
    qtbot.keyClick(panel.table, Qt.Key.Key_Return)
    assert asked(sent)["forced"] == {"1": 201}


def test_the_token_that_is_there_anyway_is_not_forced(
    panel: CandidatesPanel, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    before = count_of(sent, "generate")
    click_on(panel, 0, qtbot)
    assert count_of(sent, "generate") == before
    assert session.document.forced == {}


def test_a_forced_token_is_taken_back_with_those_after_it(
    panel: CandidatesPanel, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    session.change("force tokens", forced={0: 100, 2: 102, 4: 104})
    session.look(step=1)
    assert not panel.free_button.isEnabled()
    session.look(step=2)
    assert cells(panel, 0)[2] == "forced"
    qtbot.mouseClick(panel.free_button, Qt.MouseButton.LeftButton)
    assert asked(sent)["forced"] == {"0": 100}


def test_everything_forced_is_taken_back_at_once(
    panel: CandidatesPanel, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    assert not panel.free_all_button.isEnabled()
    session.change("force tokens", forced={0: 100, 2: 102})
    qtbot.mouseClick(panel.free_all_button, Qt.MouseButton.LeftButton)
    assert asked(sent)["forced"] == {}


def test_a_chosen_token_beyond_the_ten_best_is_shown_too(
    panel: CandidatesPanel, session: Session, sent: list[Message]
) -> None:
    session.generation.begin()
    run = run_of(sent)
    tell_source(session, run)
    others = [[200 + n, f"▁other{n}", 0.09] for n in range(10)]
    tell_word(session, run, 0, "▁rare", id=500, logprob=math.log(0.05), candidates=others)
    assert cells(panel, 10) == ["rare", "5.0%", "chosen"]


def test_a_model_whose_numbers_are_none_says_so(panel: CandidatesPanel, session: Session, sent: list[Message]) -> None:
    session.generation.begin()
    run = run_of(sent)
    tell_source(session, run)
    tell_word(session, run, 0, "▁x", id=3, logprob=None, candidates=[[n, "▁x", 0.0] for n in range(10)])
    assert cells(panel, 0)[1] == "0.0%"


def test_the_cursor_of_a_keyboard_user_stays_while_tokens_come(
    panel: CandidatesPanel, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    session.generation.begin()
    run = run_of(sent)
    write(session, run, WORDS[:3])
    session.look(step=1)
    qtbot.keyClick(panel.table, Qt.Key.Key_Down)
    tell_word(session, run, 3, WORDS[3])
    assert panel.table.currentIndex().row() == 1


def test_blanks_can_be_seen(panel: CandidatesPanel, session: Session, sent: list[Message]) -> None:
    session.generation.begin()
    run = run_of(sent)
    tell_source(session, run)
    tell_word(session, run, 0, "\u00a0", candidates=[[100, "\u00a0", 0.5], [7, " a", 0.5]])
    assert [cells(panel, row)[0] for row in range(2)] == ["U+00A0", "␣a"]


def test_before_the_first_token_it_says_that_there_is_none(panel: CandidatesPanel, session: Session) -> None:
    session.generation.begin()
    assert panel.heading.text() == "Nothing has been written yet."
    assert panel.table.content.rowCount() == 0
