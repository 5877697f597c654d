from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QTextCursor
from pytestqt.qtbot import QtBot

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.sentence_bar import SentenceBar
from tests.app.views.sessions import run_of, tell_model
from tests.app.views.written import WORDS, asked, count_of, tell_end, tell_source, tell_word, write, written


@pytest.fixture
def bar(session: Session, bridge: Bridge, sent: list[Message], qtbot: QtBot) -> SentenceBar:
    tell_model(session, sent)
    bar = SentenceBar(session, bridge)
    qtbot.addWidget(bar)
    bar.resize(900, 110)
    with qtbot.waitExposed(bar):
        bar.show()
    return bar


def type_in(bar: SentenceBar, qtbot: QtBot, text: str) -> None:
    bar.sentence.selectAll()
    qtbot.keyClicks(bar.sentence, text)


def test_return_translates_what_is_typed_and_undo_brings_the_old_sentence_back(
    bar: SentenceBar, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    session.change("force a token", forced={1: 7})
    type_in(bar, qtbot, "A dog.")
    assert session.document.sentence == "The black cat sleeps."
    qtbot.keyClick(bar.sentence, Qt.Key.Key_Return)
    assert asked(sent)["sentence"] == "A dog."
    assert asked(sent)["forced"] == {}  # what was forced fitted the other sentence
    session.undo()
    assert bar.sentence.text() == asked(sent)["sentence"] == "The black cat sleeps."
    assert asked(sent)["forced"] == {"1": 7}


def test_the_same_sentence_is_translated_again_without_a_change(
    bar: SentenceBar, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    before = count_of(sent, "generate")
    qtbot.keyClick(bar.sentence, Qt.Key.Key_Return)
    qtbot.mouseClick(bar.translate_button, Qt.MouseButton.LeftButton)
    assert count_of(sent, "generate") == before + 2
    assert session.history.undoable is None


def test_nothing_is_asked_for_an_empty_sentence(
    bar: SentenceBar, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    before = len(sent)
    type_in(bar, qtbot, "   ")
    qtbot.keyClick(bar.sentence, Qt.Key.Key_Return)
    assert len(sent) == before
    assert bar.status.text() == "Type a sentence first."


def test_typing_is_not_overwritten_by_what_happens_elsewhere(bar: SentenceBar, session: Session, qtbot: QtBot) -> None:
    type_in(bar, qtbot, "A do")
    session.look(step=1)
    assert bar.sentence.text() == "A do"


def test_the_translation_grows_word_by_word_and_a_selection_stays(
    bar: SentenceBar, session: Session, sent: list[Message]
) -> None:
    run = run_of(sent)
    write(session, run, WORDS[:2])
    assert bar.translation.toPlainText() == "Le chat"
    cursor = bar.translation.textCursor()
    cursor.movePosition(QTextCursor.MoveOperation.Start)
    cursor.movePosition(QTextCursor.MoveOperation.NextWord, QTextCursor.MoveMode.KeepAnchor)
    bar.translation.setTextCursor(cursor)
    tell_word(session, run, 2, "▁noir")
    assert bar.translation.toPlainText() == "Le chat noir"
    assert bar.translation.textCursor().selectedText() == "Le "


def test_a_long_translation_follows_its_end_unless_one_scrolls_away(
    bar: SentenceBar, session: Session, sent: list[Message]
) -> None:
    run, scroll = run_of(sent), bar.translation.verticalScrollBar()
    tell_source(session, run)
    for step in range(200):
        tell_word(session, run, step, "▁word", " ".join(["word"] * (step + 1)))
    assert scroll.value() == scroll.maximum() > 0
    scroll.setValue(0)
    for step in range(200, 400):
        tell_word(session, run, step, "▁word", " ".join(["word"] * (step + 1)))
    assert scroll.value() == 0


def test_stop_answers_at_once_and_keeps_what_was_written(
    bar: SentenceBar, session: Session, sent: list[Message], qtbot: QtBot
) -> None:
    run = run_of(sent)
    write(session, run, WORDS[:2])
    assert bar.busy_sign.isVisible()
    assert bar.status.text() == "Writing… 2 tokens"
    qtbot.mouseClick(bar.stop_button, Qt.MouseButton.LeftButton)
    assert (sent[-1].kind, sent[-1]["of"]) == ("stop", run)
    assert not bar.busy_sign.isVisible()
    assert not bar.stop_button.isEnabled()
    tell_word(session, run, 2, "▁noir")  # was under way
    assert bar.translation.toPlainText() == "Le chat"
    assert bar.status.text() == "Stopped after 2 tokens."


@pytest.mark.parametrize(
    ("reason", "words"),
    [("stop", "end mark is step 6"), ("length", "limit of 6 tokens"), ("stopped", "Stopped after 6 tokens")],
)
def test_how_it_ended_is_told(bar: SentenceBar, session: Session, sent: list[Message], reason: str, words: str) -> None:
    run = run_of(sent)
    write(session, run)
    tell_end(session, run, reason)
    assert words in bar.status.text()
    assert not bar.busy_sign.isVisible()


def test_a_refusal_is_told_where_the_sentence_is(bar: SentenceBar, session: Session, sent: list[Message]) -> None:
    session.receive(Message("refused", run_of(sent), {"message": "sentence: too long."}))
    assert bar.status.text() == "sentence: too long."


def test_characters_that_the_model_has_never_seen_are_told(
    bar: SentenceBar, session: Session, sent: list[Message]
) -> None:
    run = run_of(sent)
    tell_source(session, run)
    assert not bar.unknown.isVisible()
    session.generation.begin()
    tell_source(session, run_of(sent), unknown=("ж", "\u2003"))
    assert bar.unknown.isVisible()
    assert "ж" in bar.unknown.text()
    assert "U+2003" in bar.unknown.text()


def test_a_translation_from_the_right_stands_on_the_right(
    bar: SentenceBar, session: Session, sent: list[Message]
) -> None:
    written(session, sent, ("▁قط", "</s>"))
    assert bar.translation.cursorRect().x() > bar.translation.width() / 2
    session.generation.begin()
    write(session, run_of(sent), ("▁Le",))
    bar.translation.moveCursor(QTextCursor.MoveOperation.Start)
    assert bar.translation.cursorRect().x() < bar.translation.width() / 2


def test_a_language_model_continues(bar: SentenceBar, session: Session, sent: list[Message]) -> None:
    model = {"name": "small", "path": "x", "fingerprint": "g", "architecture": "language_model", "layers": 2}
    model |= {"encoder_layers": 0, "heads": 4, "kv_heads": 4, "width": 64, "vocab": 900, "parameters": 1000}
    run = session.requests.ask("open", path="x")
    session.receive(Message("model", run, {**model, "kinds": ["decoder"]}))
    assert bar.translate_button.text() == "Continue"
    assert bar.translation.accessibleName() == "Continuation"


def test_it_says_whose_translation_is_shown_while_a_mistake_is_on(bar: SentenceBar, session: Session) -> None:
    session.change("break it", mistakes=("no-causal-mask",))
    assert bar.translation.accessibleName() == "Translation, with mistakes"
    session.look(side="right")
    assert bar.translation.accessibleName() == "Translation, correct"


def test_what_is_pasted_and_does_not_fit_is_cut_off_with_a_word(bar: SentenceBar) -> None:
    fits = "cat " * 2_500
    for pasted, notice in ((fits, ""), (f"{fits}!", "sentence: cut off, for there is room for 10,000 characters.")):
        bar.sentence.clear()
        QGuiApplication.clipboard().setText(pasted)
        bar.sentence.paste()
        assert bar.sentence.text() == fits
        assert bar.session.notice == notice
