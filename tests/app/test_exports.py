"""Exporting from the menu: what is asked of the worker, and what the user is told."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton
from pytestqt.qtbot import QtBot

from mlxdecoder.app.client import WorkerClient
from mlxdecoder.app.exports import FORMATS
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.document import Sampling
from mlxdecoder.app.settings import Settings
from mlxdecoder.app.window import MainWindow
from tests.app.views.sessions import recorded

SLOW = 60_000


class Listening(WorkerClient):
    """A worker that is never started: what it would be asked is written down."""

    def __init__(self) -> None:
        super().__init__([sys.executable, "--version"])
        self.asked: list[Message] = []

    def send(self, message: Message) -> None:
        self.asked.append(message)


@pytest.fixture
def window(qtbot: QtBot, tmp_path: Path) -> MainWindow:
    made = MainWindow(Listening(), Settings(tmp_path / "settings"))
    qtbot.addWidget(made)
    made.show()
    recorded(made.session, asked(made))
    return made


def asked(window: MainWindow) -> list[Message]:
    assert isinstance(window.client, Listening)
    return window.client.asked


def choose(window: MainWindow, path: Path) -> None:
    """Choose the format by its menu, and the place in the dialog."""
    window.menus.actions[FORMATS[path.suffix[1:]].replace("&", "")].trigger()
    dialog = QApplication.activeModalWidget()
    assert isinstance(dialog, QFileDialog)
    dialog.fileSelected.emit(str(path))
    dialog.done(QFileDialog.DialogCode.Accepted)


def export(window: MainWindow, path: Path) -> Message | None:
    """Choose; gives what was asked then."""
    before = len(asked(window))
    choose(window, path)
    return next((one for one in asked(window)[before:] if one.kind == "export"), None)


def offered(window: MainWindow) -> dict[str, QPushButton]:
    buttons = window.composition.notices.findChildren(QPushButton)
    return {button.text(): button for button in buttons if not button.isHidden()}


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_on_screen_is_asked_for_in_the_chosen_format(window: MainWindow, tmp_path: Path, form: str) -> None:
    changes: dict[str, Any] = {"sentence": "The old dog eats.", "forced": {2: 7}, "mistakes": ("no-scale",)}
    window.session.change("change all", sampling=Sampling(beam=3), **changes)
    window.session.look(kind="decoder", words=True)
    wish = export(window, tmp_path / f"file.{form}")
    assert wish is not None
    assert (wish["format"], wish["path"]) == (form, str(tmp_path / f"file.{form}"))
    assert (wish["sentence"], wish["forced"], wish["mistakes"]) == ("The old dog eats.", {"2": 7}, ["no-scale"])
    assert (wish["kind"], wish["words"], wish["sampling"]["beam"]) == ("decoder", True, 3)


def test_the_correct_side_is_exported_without_mistakes(window: MainWindow, tmp_path: Path) -> None:
    window.session.change("switch on", mistakes=("no-scale",))
    window.session.look(side="right")
    wish = export(window, tmp_path / "file.png")
    assert wish is not None
    assert wish["mistakes"] == []


def test_one_is_told_of_the_beginning_and_of_the_end(window: MainWindow, tmp_path: Path, qtbot: QtBot) -> None:
    wish = export(window, tmp_path / "file.svg")
    assert wish is not None
    assert "Writing file.svg" in window.composition.notices.text
    qtbot.waitUntil(lambda: list(offered(window)) == ["Stop"])
    window.session.receive(Message("exported", wish.run, {"path": wish["path"]}))
    assert "file.svg is saved" in window.composition.notices.text
    qtbot.waitUntil(lambda: list(offered(window)) == ["Show the folder"])


def test_it_can_be_stopped(window: MainWindow, tmp_path: Path, qtbot: QtBot) -> None:
    wish = export(window, tmp_path / "file.pdf")
    assert wish is not None
    qtbot.waitUntil(lambda: list(offered(window)) == ["Stop"])
    offered(window)["Stop"].click()
    assert asked(window)[-1] == Message("stop", fields={"of": wish.run})
    assert "nothing was written" in window.composition.notices.text


def test_why_it_was_refused_is_told(window: MainWindow, tmp_path: Path) -> None:
    wish = export(window, tmp_path / "file.png")
    assert wish is not None
    window.session.receive(Message("refused", wish.run, {"message": "/no/where: Permission denied."}))
    assert window.composition.notices.text == "/no/where: Permission denied."


def test_without_a_worker_nothing_can_be_chosen_and_nothing_is_asked(window: MainWindow, tmp_path: Path) -> None:
    window.menus.actions["PNG picture"].trigger()
    dialog = QApplication.activeModalWidget()
    assert isinstance(dialog, QFileDialog)
    window.session.worker_ended("It is gone.")
    assert not window.menus.export_menu.isEnabled()
    dialog.fileSelected.emit(str(tmp_path / "file.png"))
    dialog.done(QFileDialog.DialogCode.Accepted)
    assert not [one for one in asked(window) if one.kind == "export"]
    assert "Nothing can be exported now" in window.composition.notices.text


@pytest.fixture
def real(qtbot: QtBot, tmp_path: Path) -> Iterator[MainWindow]:
    """A window with its worker, and the packaged model open."""
    client = WorkerClient()
    made = MainWindow(client, Settings(tmp_path / "settings"))
    qtbot.addWidget(made)
    made.show()
    client.start()
    qtbot.waitUntil(lambda: made.session.model is not None, timeout=SLOW)
    yield made
    client.shut_down()


def test_the_files_are_there_when_it_is_said_and_what_goes_wrong_is_told(
    real: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    for form in ("html", "csv"):
        choose(real, tmp_path / f"file.{form}")
        qtbot.waitUntil(lambda form=form: f"file.{form} is saved" in real.composition.notices.text, timeout=SLOW)
        assert (tmp_path / f"file.{form}").stat().st_size > 0
    (tmp_path / "taken.json").mkdir()
    choose(real, tmp_path / "taken.json")
    qtbot.waitUntil(lambda: "irectory" in real.composition.notices.text, timeout=SLOW)
    assert "taken.json" in real.composition.notices.text


@pytest.mark.parametrize(("side", "mistaken"), [("wrong", True), ("change", True), ("right", False)])
def test_the_dialog_says_what_is_written(window: MainWindow, side: str, mistaken: bool) -> None:
    window.session.change("switch on", mistakes=("no-causal-mask",))
    window.session.look(side=side, kind="decoder", stage="scores", step=1)
    window.menus.actions["CSV table"].trigger()
    dialog = QApplication.activeModalWidget()
    assert dialog is not None
    title = dialog.windowTitle()
    assert ("the mistakes that are on" in title) == mistaken
    assert "all heads" in title
    assert "all tokens" in title
    assert title.endswith("not the stage or step on screen")
    dialog.close()
