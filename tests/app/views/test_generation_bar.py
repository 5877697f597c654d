from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextDocumentFragment
from pytestqt.qtbot import QtBot

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.generation_bar import SPEEDS, GenerationBar
from mlxdecoder.app.views.steps import step_shown
from tests.app.views.sessions import run_of, tell_model
from tests.app.views.written import WORDS, tell_source, tell_word, write, written

MANY = tuple(f"▁word{n}" for n in range(150))


@pytest.fixture
def bar(session: Session, bridge: Bridge, sent: list[Message], qtbot: QtBot) -> GenerationBar:
    tell_model(session, sent)
    bar = GenerationBar(session, bridge)
    qtbot.addWidget(bar)
    bar.resize(700, bar.sizeHint().height())
    with qtbot.waitExposed(bar):
        bar.show()
    return bar


def place_of(bar: GenerationBar, step: int) -> int:
    return bar.strip.visualRect(bar.strip.tokens.index(step)).center().x()


def click_on(bar: GenerationBar, step: int, qtbot: QtBot) -> None:
    middle = bar.strip.visualRect(bar.strip.tokens.index(step)).center()
    qtbot.mouseClick(bar.strip.viewport(), Qt.MouseButton.LeftButton, pos=middle)


def test_the_newest_token_is_chosen_while_they_come(bar: GenerationBar, session: Session, sent: list[Message]) -> None:
    run = run_of(sent)
    tell_source(session, run)
    for step in range(3):
        tell_word(session, run, step, WORDS[step])
        assert bar.strip.currentIndex().row() == step
    assert "Step 3 of 3" in bar.place.text()
    assert session.document.view.step is None


def test_a_chosen_step_stays_chosen_while_others_come(
    bar: GenerationBar, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    run = run_of(sent)
    write(session, run, WORDS[:3])
    click_on(bar, 1, qtbot)
    tell_word(session, run, 3, WORDS[3])
    assert bar.strip.currentIndex().row() == session.document.view.step == 1


def test_a_click_jumps_to_a_step(bar: GenerationBar, session: Session, sent: list[Message], qtbot: QtBot) -> None:
    written(session, sent)
    click_on(bar, 2, qtbot)
    assert session.document.view.step == 2
    assert bar.place.text() == "Step 3 of 6: reads “\u2068chat\u2069”, writes “\u2068noir\u2069”"


@pytest.mark.parametrize(
    ("key", "step"), [(Qt.Key.Key_Left, 2), (Qt.Key.Key_Right, 4), (Qt.Key.Key_Home, 0), (Qt.Key.Key_End, 5)]
)
def test_keys_walk_through_the_tokens(
    bar: GenerationBar, session: Session, sent: list[Message], qtbot: QtBot, key: Qt.Key, step: int
) -> None:
    written(session, sent)
    session.look(step=3)
    qtbot.keyClick(bar.strip, key)
    assert session.document.view.step == step


def test_the_buttons_walk_through_the_tokens(
    bar: GenerationBar, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    written(session, sent)
    seen = []
    for button in (bar.back_button, bar.first_button, bar.forward_button, bar.last_button):
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        seen.append(session.document.view.step)
    assert seen == [4, 0, 1, None]


def test_the_buttons_end_where_the_tokens_end(bar: GenerationBar, session: Session, sent: list[Message]) -> None:
    assert not bar.play_button.isEnabled()
    written(session, sent)
    assert not bar.forward_button.isEnabled()
    session.look(step=0)
    assert not bar.back_button.isEnabled()
    assert not bar.first_button.isEnabled()
    assert bar.forward_button.isEnabled()


def test_play_walks_from_the_start_to_the_end_and_follows_from_there(
    bar: GenerationBar, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    written(session, sent)
    seen: list[int | None] = []
    session.listeners.append(lambda topic: seen.append(step_shown(session)) if topic == "document" else None)
    bar.speed.setCurrentIndex(len(SPEEDS) - 1)
    qtbot.keyClick(bar.strip, Qt.Key.Key_Space)
    assert bar.play_button.accessibleName() == "Pause"
    qtbot.waitUntil(lambda: not bar.playing)
    assert seen == [0, 1, 2, 3, 4, 5]
    assert session.document.view.step is None
    assert bar.play_button.accessibleName() == "Play"


def test_play_pauses_and_goes_on_from_the_same_step(
    bar: GenerationBar, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    written(session, sent)
    session.look(step=2)
    qtbot.mouseClick(bar.play_button, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(bar.play_button, Qt.MouseButton.LeftButton)
    assert not bar.playing
    assert session.document.view.step == 2


def test_choosing_a_step_ends_playing(bar: GenerationBar, session: Session, sent: list[Message], qtbot: QtBot) -> None:
    written(session, sent)
    bar.play()
    click_on(bar, 4, qtbot)
    assert not bar.playing
    assert session.document.view.step == 4


def test_a_new_generation_ends_playing(bar: GenerationBar, session: Session, sent: list[Message]) -> None:
    written(session, sent)
    bar.play()
    session.generation.begin()
    assert not bar.playing


def test_the_speed_is_that_of_the_timer(bar: GenerationBar) -> None:
    bar.speed.setCurrentText("4 steps a second")
    assert bar.timer.interval() == 250


def test_tokens_wrap_and_the_newest_is_in_sight(
    bar: GenerationBar, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    write(session, run_of(sent), MANY)
    newest = bar.strip.tokens.index(len(MANY) - 1)
    qtbot.waitUntil(lambda: bar.strip.viewport().rect().contains(bar.strip.visualRect(newest).center()))
    assert bar.strip.verticalScrollBar().maximum() > 0


def test_who_has_scrolled_away_is_left_alone(
    bar: GenerationBar, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    run, scroll = run_of(sent), bar.strip.verticalScrollBar()
    write(session, run, MANY)
    qtbot.waitUntil(lambda: scroll.value() == scroll.maximum() > 0)
    before = scroll.maximum()
    scroll.setValue(40)
    for step in range(len(MANY), 200):
        tell_word(session, run, step, "▁word")
    qtbot.waitUntil(lambda: scroll.maximum() > before)
    assert scroll.value() == 40
    qtbot.mouseClick(bar.first_button, Qt.MouseButton.LeftButton)
    assert scroll.value() == 0  # who asks for a step is shown it


def test_tokens_of_a_script_from_the_right_run_from_the_right(
    bar: GenerationBar, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    written(session, sent)
    assert place_of(bar, 0) < place_of(bar, 1)
    session.generation.begin()
    write(session, run_of(sent), ("▁القط", "▁الأسود", "▁ينام"))
    assert place_of(bar, 0) > place_of(bar, 1) > place_of(bar, 2)
    session.look(step=1)
    qtbot.keyClick(bar.strip, Qt.Key.Key_Left)
    assert session.document.view.step == 2


def test_a_language_model_goes_on_from_its_prompt(bar: GenerationBar, session: Session, sent: list[Message]) -> None:
    run = run_of(sent)
    session.receive(Message("source", run, {"tokens": [], "begin": "<s>", "prompt": ["<s>", "▁Once", "▁upon"]}))
    tell_word(session, run, 0, "▁a")
    tell_word(session, run, 1, "▁time")
    session.look(step=0)
    assert bar.place.text() == "Step 1 of 2: reads “\u2068upon\u2069”, writes “\u2068a\u2069”"


def test_blanks_in_tokens_can_be_seen(bar: GenerationBar, session: Session, sent: list[Message]) -> None:
    written(session, sent, ("\u00a0", "▁", "猫", " a", ""))
    shown = [bar.strip.tokens.index(step).data().strip("\u2068\u2069") for step in range(5)]
    assert shown == ["U+00A0", "▁", "猫", "␣a", "∅"]


def test_tokens_that_look_like_markup_are_shown_as_they_are(
    bar: GenerationBar, session: Session, sent: list[Message]
) -> None:
    written(session, sent, ("<b>", "<i>x</i>"))
    told = bar.strip.tokens.index(1).data(Qt.ItemDataRole.ToolTipRole)
    assert "<i>x</i>" in QTextDocumentFragment.fromHtml(told).toPlainText()
    assert "<b>" in bar.place.text()
    assert bar.place.textFormat() == Qt.TextFormat.PlainText


def test_a_forced_token_is_marked_until_it_is_taken_back(
    bar: GenerationBar, session: Session, sent: list[Message]
) -> None:
    written(session, sent)
    told = Qt.ItemDataRole.AccessibleTextRole
    assert bar.strip.tokens.index(2).data(told) == "Step 3: \u2068noir\u2069, 80%"
    before = bar.strip.grab().toImage()
    session.change("force a token", forced={2: 102})
    assert bar.strip.tokens.index(2).data(told) == "Step 3: \u2068noir\u2069, 80%, forced"
    assert bar.strip.grab().toImage() != before
    session.change("force another", forced={2: 999})  # which is not what this generation has there
    assert "forced" not in bar.strip.tokens.index(2).data(told)


def test_the_help_says_what_attention_weights_do_not_show(bar: GenerationBar) -> None:
    assert "What attention weights do not show" in bar.whatsThis()
