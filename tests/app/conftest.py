"""The app's tests: without a screen, with settings of their own, and failing on whatever Qt warns of."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from mlxdecoder.app.application import Application
    from mlxdecoder.app.bridge import Bridge
    from mlxdecoder.app.window import MainWindow

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

NEEDED = {"PySide6": "PySide6-Essentials", "pyqtgraph": "pyqtgraph", "pytestqt": "pytest-qt"}
HERE = Path(__file__).parent
HOMES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")


def _hindrance() -> str:
    """Why the app cannot be tried here, or nothing."""
    missing = [package for module, package in NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing:
        return f"the app's tests want {' and '.join(missing)}"
    try:
        import PySide6.QtWidgets  # noqa: F401
    except ImportError as error:
        return f"Qt cannot be loaded here: {error}; scripts/system-packages installs what it needs, or says what"
    return ""


HINDRANCE = _hindrance()


class _Untried(pytest.Module):
    def collect(self) -> list[pytest.Item]:
        pytest.skip(HINDRANCE, allow_module_level=True)


if HINDRANCE:

    def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
        return _Untried.from_parent(parent, path=module_path)

else:

    def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
        for item in items:
            if HERE in item.path.parents:
                item.add_marker(pytest.mark.qt_log_level_fail("WARNING"))
                # The offscreen platform says so of raise(), which it has no use for.
                item.add_marker(pytest.mark.qt_log_ignore("This plugin does not support"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty home: settings, recent files and training runs of a test stay in it, also those of its subprocesses."""
    from PySide6.QtCore import QSettings, QStandardPaths

    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in HOMES:
        monkeypatch.setenv(name, str(folder / name.lower()))
    for form in (QSettings.Format.NativeFormat, QSettings.Format.IniFormat):
        QSettings.setPath(form, QSettings.Scope.UserScope, str(folder / "settings"))
    QStandardPaths.setTestModeEnabled(True)
    yield folder
    QStandardPaths.setTestModeEnabled(False)


@pytest.fixture(scope="session")
def qapp_cls() -> type[Application]:
    """What pytest-qt makes for all tests is the app's own application."""
    from mlxdecoder.app.application import Application

    return Application


@pytest.fixture
def sent() -> list[Message]:
    """What was asked of the worker that is not there."""
    return []


@pytest.fixture
def session(sent: list[Message]) -> Session:
    """A session whose worker is played by the test: it reads `sent` and answers with `session.receive`."""
    return Session(sent.append)


@pytest.fixture
def bridge(session: Session) -> Bridge:
    from mlxdecoder.app.bridge import Bridge

    return Bridge(session)


@pytest.fixture
def window(qtbot: QtBot, tmp_path: Path) -> MainWindow:
    """A window whose worker was not started."""
    from mlxdecoder.app.client import WorkerClient
    from mlxdecoder.app.settings import Settings
    from mlxdecoder.app.window import MainWindow

    made = MainWindow(WorkerClient([sys.executable, "--version"]), Settings(tmp_path / "settings"))
    qtbot.addWidget(made)
    made.show()
    return made
