"""The window as a whole: menus, titles, drops, the worker's end, closing, and what is remembered."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import (
    QAccessible,
    QAction,
    QFileOpenEvent,
    QGuiApplication,
    QKeySequence,
)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from mlxdecoder.app.application import Application
from mlxdecoder.app.client import WorkerClient
from mlxdecoder.app.keeping import NAME, Kept
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.document import Document
from mlxdecoder.app.settings import Settings
from mlxdecoder.app.window import MainWindow

FAKE = [sys.executable, str(Path(__file__).parent / "fake_worker.py")]
WAIT = 20_000


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path / "settings")


@pytest.fixture
def window(qtbot: QtBot, settings: Settings) -> Iterator[MainWindow]:
    """A window whose worker was not started."""
    client = WorkerClient(FAKE)
    made = MainWindow(client, settings)
    qtbot.addWidget(made)
    made.show()
    yield made
    client.shut_down()
    settings.theme, settings.font_size = "system", 0


@pytest.fixture
def working(window: MainWindow, qtbot: QtBot) -> MainWindow:
    """A window whose worker is there."""
    with qtbot.waitSignal(window.client.received, timeout=WAIT):
        window.client.start()
    return window


def kept(document: str = '{"format": 1}', path: str | None = None, training: object = None) -> str:
    return json.dumps({"document": document, "saved": '{"format": 1}', "path": path, "training": training})


def offered(window: MainWindow) -> dict[str, QPushButton]:
    return {button.text(): button for button in window.composition.notices.findChildren(QPushButton)}


def test_the_title_names_the_session_and_shows_that_it_was_changed(window: MainWindow, tmp_path: Path) -> None:
    assert window.windowTitle().startswith("Untitled")
    window.session.change("change the sentence", sentence="The old dog eats.")
    assert window.isWindowModified()
    window.session.save(tmp_path / "one.mlxdecoder")
    assert window.windowTitle().startswith("one")
    assert window.windowFilePath() == str(tmp_path / "one.mlxdecoder")
    assert not window.isWindowModified()


def test_undo_and_redo_say_what_they_would_do_and_do_it(window: MainWindow) -> None:
    undo, redo = window.menus.actions["Undo"], window.menus.actions["Redo"]
    assert not undo.isEnabled()
    window.session.change("change the sentence", sentence="The old dog eats.")
    assert undo.text() == "&Undo change the sentence"
    undo.trigger()
    assert window.session.document.sentence == Document().sentence
    assert redo.text() == "&Redo change the sentence"
    redo.trigger()
    assert window.session.document.sentence == "The old dog eats."


def test_kind_stage_and_mean_are_in_the_menu_and_show_what_is_looked_at(window: MainWindow) -> None:
    actions = window.menus.actions
    actions["Encoder self-attention"].trigger()
    actions["Masked"].trigger()
    actions["Mean of the heads"].trigger()
    view = window.session.document.view
    assert (view.kind, view.stage, view.average) == ("encoder", "masked", True)
    assert not actions["Merge pieces into words"].isEnabled()
    window.session.undo()
    assert actions["Cross-attention"].isChecked()
    assert not actions["Mean of the heads"].isChecked()
    actions["Merge pieces into words"].trigger()
    assert window.session.document.view.words and actions["Merge pieces into words"].isChecked()


def test_no_two_commands_have_the_same_keys(window: MainWindow) -> None:
    keys = [key.toString() for action in window.menus.actions.values() for key in action.shortcuts()]
    assert len(keys) == len(set(keys))


def test_no_command_has_the_keys_of_printing(window: MainWindow) -> None:
    printing = QKeySequence.keyBindings(QKeySequence.StandardKey.Print)
    assert not [name for name, action in window.menus.actions.items() if set(action.shortcuts()) & set(printing)]


def test_close_is_for_the_window_that_the_user_is_in(window: MainWindow, qtbot: QtBot) -> None:
    window.menus.actions["Settings…"].trigger()
    qtbot.waitUntil(window.settings_window.isActiveWindow)
    QTest.keySequence(window.settings_window, QKeySequence(QKeySequence.StandardKey.Close))
    assert not window.settings_window.isVisible()
    assert window.isVisible()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    window.menus.actions["Close"].trigger()
    assert not window.isVisible()


def windows_listed(window: MainWindow) -> dict[str, QAction]:
    window.menus.window_menu.aboutToShow.emit()
    ours = set(window.menus.actions.values())
    return {one.text(): one for one in window.menus.window_menu.actions() if one.text() and one not in ours}


def test_the_window_menu_lists_the_windows_that_are_open_and_leads_to_them(window: MainWindow, qtbot: QtBot) -> None:
    main = window.windowTitle().replace("[*]", "")
    assert list(windows_listed(window)) == [main]
    for name in ("Settings…", "What this shows"):
        window.menus.actions[name].trigger()
    window.composition.break_panel.diagnosis.show()
    assert set(windows_listed(window)) == {main, "Settings", "What this shows", "Diagnosis"}
    windows_listed(window)["Settings"].trigger()
    qtbot.waitUntil(window.settings_window.isActiveWindow)
    assert [title for title, action in windows_listed(window).items() if action.isChecked()] == ["Settings"]
    window.showMinimized()
    windows_listed(window)[main].trigger()
    assert not window.isMinimized()
    window.settings_window.close()
    assert "Settings" not in windows_listed(window)


def test_a_file_that_is_handed_over_brings_a_minimised_window_up(window: MainWindow, tmp_path: Path) -> None:
    Document(sentence="The old dog eats.").save(tmp_path / "one.mlxdecoder")
    window.showMaximized()
    window.showMinimized()
    window.open_file(str(tmp_path / "one.mlxdecoder"))
    assert not window.isMinimized()
    assert window.isMaximized()


NEVER = [
    *("", "junk", "[]", "{}", '{"document": 1}', "[" * 200_000),
    kept(document='{"format": 1, "forced": {"0": 1e999}}'),
    kept(document=r'{"format": 1, "sentence": "\ud800"}'),
    kept(path="\ud800"),
    kept(path="x\0y"),
    kept(path="x" * 300),
    kept(training={"folder": "x" * 300}),
    kept(training={"folder": "x\0y"}),
    kept(training=[1]),
]


@pytest.mark.parametrize("content", NEVER)
def test_whatever_was_kept_the_app_begins_and_can_keep_what_it_has(
    window: MainWindow, settings: Settings, content: str
) -> None:
    settings.folder.mkdir(exist_ok=True)
    (settings.folder / NAME).write_text(content)
    window.begin([Path("x" * 300), Path("a\0b")])
    window.session.change("change the sentence", sentence="The old dog eats.")
    assert window.close()
    again = Kept.read(settings.folder)
    assert again is not None
    assert again.document.sentence == "The old dog eats."


def test_a_kept_session_that_is_a_folder_is_put_aside(window: MainWindow, settings: Settings) -> None:
    (settings.folder / NAME).mkdir(parents=True)
    window.begin([])
    assert (settings.folder / "kept.broken.json").is_dir()
    assert "kept.broken.json" in window.composition.notices.text
    assert window.close()


def test_undo_keys_are_for_the_typing_until_it_is_taken_over(window: MainWindow, qtbot: QtBot) -> None:
    field, session = window.composition.sentence_bar.sentence, window.session
    window.activateWindow()
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, "The dog")
    QTest.keySequence(field, QKeySequence(QKeySequence.StandardKey.Undo))
    assert field.text() == Document().sentence
    QTest.keyClicks(field, "!")
    QTest.keyClick(field, Qt.Key.Key_Return)
    written = session.document.sentence
    assert written != Document().sentence
    QTest.keySequence(field, QKeySequence(QKeySequence.StandardKey.Undo))
    assert session.document.sentence == field.text() == Document().sentence
    QTest.keySequence(field, QKeySequence(QKeySequence.StandardKey.Redo))
    assert session.document.sentence == field.text() == written


def test_a_file_that_the_system_hands_over_reaches_whoever_listens(qapp: Application, qtbot: QtBot) -> None:
    QCoreApplication.sendEvent(qapp, QFileOpenEvent("/early.mlxdecoder"))
    assert qapp.files == ["/early.mlxdecoder"]
    qapp.listens = True
    with qtbot.waitSignal(qapp.file_opened) as opened:
        QCoreApplication.sendEvent(qapp, QFileOpenEvent("/late.mlxdecoder"))
    assert opened.args == ["/late.mlxdecoder"]
    qapp.listens = False
    qapp.files.clear()


def test_a_worker_that_dies_is_told_of_and_can_be_started_again(working: MainWindow, qtbot: QtBot) -> None:
    with qtbot.waitSignal(working.connection.lost, timeout=WAIT):
        working.client.send(Message("die"))
    assert "unexpectedly" in working.composition.notices.text
    assert not working.session.alive
    with qtbot.waitSignal(working.client.received, timeout=WAIT):
        offered(working)["Start it again"].click()
    assert working.session.alive
    assert working.composition.notices.text == ""


def test_a_training_that_was_cut_off_goes_on_from_its_checkpoint(
    working: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    session = working.session
    session.training.begin(
        preset="toy", corpus=None, folder=str(tmp_path), steps=10, resume=False, probe="", mistakes=[]
    )
    qtbot.waitUntil(lambda: session.training.log.checkpoint is not None, timeout=WAIT)
    with qtbot.waitSignal(working.connection.lost, timeout=WAIT):
        working.client.send(Message("die"))
    assert session.training.log.state == "idle"
    offered(working)["Go on from the last checkpoint"].click()
    qtbot.waitUntil(lambda: session.training.log.state == "running", timeout=WAIT)
    assert session.training.log.folder == str(tmp_path)


def test_a_training_that_does_not_stop_can_be_ended(
    working: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("mlxdecoder.app.connection.PATIENCE", 50)
    session = working.session
    session.training.begin(
        preset="toy", corpus=None, folder=str(tmp_path), steps=10, resume=False, probe="", mistakes=[]
    )
    qtbot.waitUntil(lambda: session.training.log.checkpoint is not None, timeout=WAIT)
    with qtbot.waitSignal(working.connection.silent, timeout=WAIT):
        session.training.control("stop")
    with qtbot.waitSignal(working.client.received, timeout=WAIT):
        offered(working)["End the worker"].click()
    assert session.training.log.state == "idle"
    assert session.alive


def test_what_a_worker_complained_of_can_be_looked_at(working: MainWindow, qtbot: QtBot) -> None:
    with qtbot.waitSignal(working.connection.lost, timeout=WAIT):
        working.client.send(Message("complain"))
    offered(working)["Details…"].click()
    assert working.faults.window.isVisible()
    assert "it hurts" in working.faults.window.details


def test_an_exception_opens_a_window_that_hinders_nobody(window: MainWindow, qtbot: QtBot) -> None:
    try:
        raise RuntimeError("a test of faults")
    except RuntimeError as error:
        window.faults.caught_exception(RuntimeError, error, error.__traceback__)
    qtbot.waitUntil(window.faults.window.isVisible)
    assert "a test of faults" in window.faults.window.details
    assert QApplication.activeModalWidget() is None


def test_closing_asks_nothing_and_the_next_window_begins_there(
    working: MainWindow, qtbot: QtBot, settings: Settings
) -> None:
    working.session.change("change the sentence", sentence="The old dog eats.")
    working.resize(760, 640)
    assert working.close()
    again = MainWindow(WorkerClient(FAKE), settings)
    qtbot.addWidget(again)
    again.begin([])
    assert again.session.document.sentence == "The old dog eats."
    assert (again.width(), again.height()) == (760, 640)


def test_a_window_that_was_left_off_the_screens_comes_back_onto_one(
    window: MainWindow, qtbot: QtBot, settings: Settings
) -> None:
    window.move(-9000, -9000)
    settings.set_layout("window", window.saveGeometry())
    again = MainWindow(WorkerClient(FAKE), settings)
    qtbot.addWidget(again)
    again.show()
    assert QGuiApplication.primaryScreen().availableGeometry().contains(again.geometry().topLeft())


def test_theme_and_text_size_hold_at_once(window: MainWindow, settings: Settings) -> None:
    before = QApplication.font().pointSize()
    settings.theme = "dark"
    palette = QApplication.palette()
    assert palette.window().color().lightness() < palette.windowText().color().lightness()
    settings.theme = "light"
    palette = QApplication.palette()
    assert palette.window().color().lightness() > palette.windowText().color().lightness()
    window.menus.actions["Larger text"].trigger()
    assert QApplication.font().pointSize() == before + 1


def test_settings_window_changes_the_settings_at_once(window: MainWindow, settings: Settings) -> None:
    window.menus.actions["Settings…"].trigger()
    assert window.settings_window.isVisible()
    assert not window.settings_window.isModal()
    window.settings_window.restores.click()
    assert not settings.restores


def test_everything_that_can_have_the_focus_has_a_name(window: MainWindow, qtbot: QtBot) -> None:
    nameless = []
    for index in range(window.composition.panels.count()):
        window.composition.panels.setCurrentIndex(index)
        for widget in window.findChildren(QWidget):
            shown = widget.window() in (window, window.settings_window)
            if shown and widget.focusPolicy() & Qt.FocusPolicy.TabFocus and not named(widget):
                nameless.append(f"{type(widget).__name__} in {type(widget.parentWidget()).__name__}")
    assert set(nameless) == set()


def named(widget: QWidget) -> bool:
    if widget.objectName().startswith("qt_"):  # parts of Qt's own widgets, which speak for them
        return True
    interface = QAccessible.queryAccessibleInterface(widget)
    return bool(interface and interface.text(QAccessible.Text.Name).strip())
