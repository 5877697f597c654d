"""Sessions as files: what is opened, saved, asked and kept, and what is said of files that are no good."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QFileDialog, QMessageBox, QWidget
from pytestqt.qtbot import QtBot

from mlxdecoder.app.files import Files
from mlxdecoder.app.keeper import Keeper
from mlxdecoder.app.keeping import NAME, Kept
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.document import Document
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.settings import Settings

Button = QMessageBox.StandardButton


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path / "settings")


@pytest.fixture
def files(session: Session, settings: Settings, qtbot: QtBot) -> Files:
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    return Files(session, settings, window)


def modal(kind: type[QFileDialog] | type[QMessageBox]) -> QFileDialog | QMessageBox:
    found = QApplication.activeModalWidget()
    assert isinstance(found, kind)
    return found


def answer(button: QMessageBox.StandardButton) -> None:
    box = modal(QMessageBox)
    assert isinstance(box, QMessageBox)
    box.button(button).click()


def choose(path: Path) -> None:
    dialog = modal(QFileDialog)
    assert isinstance(dialog, QFileDialog)
    dialog.fileSelected.emit(str(path))
    dialog.done(QFileDialog.DialogCode.Accepted)


def test_what_is_saved_is_what_is_opened(files: Files, session: Session, tmp_path: Path) -> None:
    session.change("change the sentence", sentence="The old dog eats.", mistakes=("no-causal-mask",))
    files.save()
    choose(tmp_path / "one.mlxdecoder")
    saved = session.document
    assert not session.history.modified
    files.new()
    assert session.document == Document()
    assert session.path is None
    files.open(tmp_path / "one.mlxdecoder")
    assert session.document == saved
    assert session.path == tmp_path / "one.mlxdecoder"


def test_saving_again_asks_nothing(files: Files, session: Session, tmp_path: Path) -> None:
    session.save(tmp_path / "one.mlxdecoder")
    session.change("change the sentence", sentence="The old dog eats.")
    files.save()
    assert QApplication.activeModalWidget() is None
    assert Document.load(tmp_path / "one.mlxdecoder").sentence == "The old dog eats."


def test_new_asks_when_something_would_be_lost_and_cancel_keeps_it(files: Files, session: Session) -> None:
    session.change("change the sentence", sentence="The old dog eats.")
    files.new()
    answer(Button.Cancel)
    assert session.document.sentence == "The old dog eats."
    files.new()
    answer(Button.Discard)
    assert session.document == Document()


def test_saving_when_asked_goes_on_with_what_was_wanted(files: Files, session: Session, tmp_path: Path) -> None:
    session.change("change the sentence", sentence="The old dog eats.")
    files.new()
    answer(Button.Save)
    choose(tmp_path / "one.mlxdecoder")
    assert Document.load(tmp_path / "one.mlxdecoder").sentence == "The old dog eats."
    assert session.document == Document()


def test_a_save_dialog_that_is_put_away_puts_away_what_was_wanted(
    files: Files, session: Session, tmp_path: Path
) -> None:
    session.change("change the sentence", sentence="The old dog eats.")
    files.new()
    answer(Button.Save)
    modal(QFileDialog).reject()
    session.save(tmp_path / "one.mlxdecoder")
    files.save()
    assert session.document.sentence == "The old dog eats."


def test_looking_elsewhere_is_nothing_to_ask_about(files: Files, session: Session) -> None:
    session.look(kind="encoder")
    files.new()
    assert QApplication.activeModalWidget() is None
    assert session.document == Document()


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00\xff" * 99, b"[]", b"{}", b"[" * 200_000, b'{"format": 1, "view": {"layer": -1}}', b'{"format": 99}'],
)
def test_a_file_that_is_no_session_changes_nothing_and_is_named(
    files: Files, session: Session, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "bad.mlxdecoder").write_bytes(content)
    before = session.document
    files.open(tmp_path / "bad.mlxdecoder")
    assert session.document == before
    assert "bad.mlxdecoder" in session.notice
    assert "\n" not in session.notice


def test_a_file_that_is_gone_is_named(files: Files, session: Session, tmp_path: Path) -> None:
    files.open(tmp_path / "gone.mlxdecoder")
    assert session.notice == "gone.mlxdecoder: is not there."


def test_a_folder_and_what_is_in_it_are_models(files: Files, session: Session, tmp_path: Path) -> None:
    (tmp_path / "weights.safetensors").write_bytes(b"")
    for path in (tmp_path, tmp_path / "weights.safetensors"):
        files.open(path)
        assert session.document.model == str(tmp_path)
        session.undo()
        assert session.document.model is None


def test_a_model_that_cannot_be_opened_leaves_the_one_that_was(
    files: Files, session: Session, sent: list[Message], tmp_path: Path
) -> None:
    files.open(tmp_path)
    session.receive(Message("refused", sent[-1].run, {"message": "no checkpoint"}))
    assert session.document.model is None
    assert session.notice == "no checkpoint"


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.txt", "pairs.csv", "pairs.tsv.gz", "PAIRS.GZ"])
def test_a_corpus_is_handed_to_the_training(files: Files, qtbot: QtBot, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("a\tb\n")
    with qtbot.waitSignal(files.corpus_chosen) as chosen:
        files.open(tmp_path / name)
    assert chosen.args == [[str(tmp_path / name)]]


@pytest.mark.parametrize("name", ["x" * 300, "a\0b"])
def test_a_file_of_an_impossible_name_is_not_there(files: Files, session: Session, tmp_path: Path, name: str) -> None:
    files.open(tmp_path / name)
    assert session.notice == f"{name}: is not there."


def test_recent_sessions_are_those_that_are_still_there(
    files: Files, session: Session, settings: Settings, tmp_path: Path
) -> None:
    for name in ("one", "two", "one"):
        session.save(tmp_path / f"{name}.mlxdecoder")
        files.open(tmp_path / f"{name}.mlxdecoder")
    assert [path.stem for path in settings.recent] == ["one", "two"]
    (tmp_path / "two.mlxdecoder").unlink()
    assert [path.stem for path in settings.recent] == ["one"]


def begun_anew(settings: Settings, qtbot: QtBot) -> Session:
    window = QWidget()
    qtbot.addWidget(window)
    session = Session(lambda message: None)
    Keeper(session, settings, window).restore()
    return session


def test_the_next_start_begins_where_this_one_ended(
    files: Files, session: Session, settings: Settings, qtbot: QtBot, tmp_path: Path
) -> None:
    session.save(tmp_path / "one.mlxdecoder")
    session.change("change the sentence", sentence="The old dog eats.")
    session.look(kind="decoder", layer=1, step=2)
    assert files.may_close(lambda: None)
    again = begun_anew(settings, qtbot)
    assert again.document == session.document
    assert again.path == session.path
    assert again.history.modified


def test_a_session_is_kept_by_itself_soon_after_a_change(
    files: Files, session: Session, settings: Settings, qtbot: QtBot
) -> None:
    session.change("change the sentence", sentence="The old dog eats.")
    files.keeper.soon()
    qtbot.waitUntil(lambda: (settings.folder / NAME).exists(), timeout=10_000)
    kept = Kept.read(settings.folder)
    assert kept is not None
    assert kept.document.sentence == "The old dog eats."


@pytest.mark.parametrize("saved", [True, False])
def test_a_training_that_was_under_way_can_go_on_after_the_next_start(
    files: Files, session: Session, settings: Settings, qtbot: QtBot, tmp_path: Path, saved: bool
) -> None:
    session.training.begin(
        preset="toy", corpus=None, folder=str(tmp_path), steps=9, resume=False, probe="", mistakes=[]
    )
    if saved:
        (tmp_path / "run.json").write_text("{}")
    assert files.keeper.now()
    asked = begun_anew(settings, qtbot).training.interrupted
    if saved:
        assert asked is not None
        assert (asked["folder"], asked["resume"]) == (str(tmp_path), True)
    else:
        assert asked is None


@pytest.mark.parametrize("content", ["", "junk", "[]", "{}", json.dumps({"document": 1, "saved": 2, "path": 3})])
def test_what_was_kept_badly_gives_a_new_session_and_a_word(settings: Settings, qtbot: QtBot, content: str) -> None:
    settings.folder.mkdir()
    (settings.folder / NAME).write_text(content)
    session = begun_anew(settings, qtbot)
    assert session.document == Document()
    assert "new session" in session.notice
    assert "kept.broken.json" in session.notice


def test_what_cannot_be_read_is_put_aside_and_not_written_over(files: Files, settings: Settings) -> None:
    settings.folder.mkdir()
    (settings.folder / NAME).write_text("what somebody may yet mend")
    files.keeper.restore()
    assert files.keeper.now()
    assert (settings.folder / "kept.broken.json").read_text() == "what somebody may yet mend"
    assert Kept.read(settings.folder) is not None


def test_a_second_app_neither_takes_over_nor_keeps_and_asks_when_it_closes(
    files: Files, session: Session, settings: Settings, qtbot: QtBot
) -> None:
    session.change("change the sentence", sentence="The old dog eats.")
    assert files.keeper.now()
    window = QWidget()
    qtbot.addWidget(window)
    second = Session(lambda message: None)
    theirs = Files(second, Settings(settings.folder), window)
    theirs.keeper.restore()
    assert second.document == Document()
    second.change("change the sentence", sentence="The bird sings.")
    assert not theirs.may_close(lambda: None)
    answer(Button.Cancel)
    kept = Kept.read(settings.folder)
    assert kept is not None
    assert kept.document.sentence == "The old dog eats."


def test_closing_asks_only_where_the_session_is_not_kept(
    files: Files, session: Session, settings: Settings, tmp_path: Path
) -> None:
    settings.restores = False
    assert files.may_close(lambda: None)
    session.change("change the sentence", sentence="The old dog eats.")
    closed: list[bool] = []
    ask: Callable[[], None] = lambda: closed.append(files.may_close(lambda: None))  # noqa: E731
    assert not files.may_close(ask)
    answer(Button.Discard)
    assert closed == [True]


def test_closing_asks_where_nothing_can_be_kept(files: Files, session: Session, settings: Settings) -> None:
    settings.folder.parent.mkdir(exist_ok=True)
    settings.folder.write_text("a file is in the way")
    session.change("change the sentence", sentence="The old dog eats.")
    assert not files.may_close(lambda: None)
    answer(Button.Cancel)


def test_a_session_that_cannot_be_written_says_so(files: Files, session: Session, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    session.path = tmp_path / "file" / "one.mlxdecoder"
    files.save()
    assert "one.mlxdecoder: cannot be saved" in session.notice


def test_a_file_that_is_no_session_is_told_before_anything_is_asked(
    files: Files, session: Session, tmp_path: Path
) -> None:
    session.change("change the sentence", sentence="The old dog eats.")
    (tmp_path / "bad.mlxdecoder").write_text("no session")
    files.open(tmp_path / "bad.mlxdecoder")
    assert QApplication.activeModalWidget() is None
    assert "bad.mlxdecoder" in session.notice
    assert session.history.modified and session.document.sentence == "The old dog eats."
