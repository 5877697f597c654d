"""A monkey at the app: seeded events on the real window with a real worker; what goes wrong is printed as JSON.

python monkey.py SEED EVENTS, in a folder and with a home of its own.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, QSize, Qt, QtMsgType, QUrl, qInstallMessageHandler
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QDialog,
    QFileDialog,
    QMessageBox,
    QSplitterHandle,
    QTabBar,
    QWidget,
)

from mlxdecoder.app.application import Application
from mlxdecoder.app.client import WorkerClient
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.settings import Settings
from mlxdecoder.app.window import MainWindow

HANG = 60.0  # seconds for one event
KEYS = [Qt.Key(getattr(Qt.Key, f"Key_{name}")) for name in "A E Space Return Escape Tab Backspace Delete".split()]
KEYS += [Qt.Key(getattr(Qt.Key, f"Key_{name}")) for name in "Left Right Up Down Home End PageUp PageDown".split()]
TEXTS = ["The black cat sleeps.", "the old dog", "", "猫は眠る", "القطة", "\u202e\ufffd\0", "x" * 400]
CHORDS = "Z Y C V A 1 2 3 B D P R".split()
LEAVES = ("Quit mlxdecoder", "Close")
WAITS = "qt_menubar_ext_button"  # a button of Qt's that waits in a loop of its own until its menu is closed
QUIET = "This plugin does not support"


class Monkey:
    """Does one random thing after another to the app."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.exceptions: list[str] = []
        self.warnings: list[str] = []
        self.saved: dict[str, int] = {}
        self.kills = self.trainings = 0
        self.killed = False  # the worker that is about to be gone
        self.diary = (folder / "diary.txt").open("w")  # for whoever looks for what came before the end
        sys.excepthook = self._caught
        qInstallMessageHandler(self._told)
        self.files = _files(folder, self.random)
        self.settings = Settings(folder / "settings")
        self._open()
        self.acts: list[tuple[float, Callable[[], None]]] = [
            (30, self.click),
            (20, self.press_key),
            (10, self.choose_action),
            (8, self.toggle),
            (6, self.drop),
            (5, self.type),
            (5, self.turn_wheel),
            (4, self.drag),
            (4, self.open_file),
            (4, self.resize),
            (3, self.sentence),
            (2, self.train),
            (0.4, self.watch_training),
            (0.6, self.kill_worker),
            (0.4, self.leave_and_return),
        ]

    def run(self, events: int) -> None:
        weights = [weight for weight, _ in self.acts]
        for number in range(events):
            faulthandler.dump_traceback_later(HANG, exit=True)
            act = self.random.choices(self.acts, weights)[0][1]
            print(number, act.__name__, file=self.diary, flush=True)
            self._deal_with_dialogs()
            if not self.window.isVisible():
                self.window.showNormal()
            with contextlib.suppress(RuntimeError):  # the widget went while it was being clicked
                act()
            QTest.qWait(self.random.choice((0, 0, 0, 1, 5, 20)))
        faulthandler.dump_traceback_later(2 * HANG, exit=True)
        self._close()
        faulthandler.cancel_dump_traceback_later()
        self.diary.close()

    # What it does -----------------------------------------------------------------------------------------------

    def click(self) -> None:
        widget = self._any_widget()
        place = QPoint(self.random.randrange(max(widget.width(), 1)), self.random.randrange(max(widget.height(), 1)))
        button = self.random.choice([Qt.MouseButton.LeftButton] * 8 + [Qt.MouseButton.RightButton])
        click = self.random.choice([QTest.mouseClick] * 6 + [QTest.mouseDClick])
        click(widget, button, self._modifiers(), place)

    def press_key(self) -> None:
        if self.random.random() < 0.2:
            key = Qt.Key(getattr(Qt.Key, f"Key_{self.random.choice(CHORDS)}"))
            QTest.keyClick(self._focused(), key, Qt.KeyboardModifier.ControlModifier)
        else:
            QTest.keyClick(self._focused(), self.random.choice(KEYS), self._modifiers())

    def type(self) -> None:
        QTest.keyClicks(self._focused(), self.random.choice(["le chat", "12", "dog sees", ".", "~"]))

    def choose_action(self) -> None:
        actions = [each for each in self.window.menus.actions.values() if each.isEnabled()]
        wanted = [each for each in actions if each.text().replace("&", "") not in LEAVES]
        self.random.choice(wanted).trigger()

    def toggle(self) -> None:
        kinds = (QAbstractButton, QComboBox, QTabBar)
        widget = self._any_widget(kinds)
        if isinstance(widget, QAbstractButton):
            widget.click()
        elif isinstance(widget, QComboBox | QTabBar) and widget.count():
            widget.setCurrentIndex(self.random.randrange(widget.count()))

    def turn_wheel(self) -> None:
        widget = self._any_widget()
        turn = QPoint(0, self.random.choice((-480, -120, 120, 480)))
        middle = QPointF(widget.rect().center())
        event = QWheelEvent(
            middle,
            QPointF(widget.mapToGlobal(middle.toPoint())),
            QPoint(),
            turn,
            Qt.MouseButton.NoButton,
            self._modifiers(),
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(widget, event)

    def drag(self) -> None:
        handles = [each for each in self.window.findChildren(QSplitterHandle) if each.isVisible()]
        widget = self.random.choice(handles or [self._any_widget()])
        QTest.mousePress(widget, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, QPoint(1, 1))
        far = QPoint(self.random.randrange(-400, 400), self.random.randrange(-300, 300))
        QTest.mouseMove(widget, far)
        QTest.mouseRelease(widget, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, far)

    def drop(self) -> None:
        data = QMimeData()
        chosen = self.random.choices(self.files, k=self.random.choice((1, 1, 2)))
        data.setUrls([QUrl.fromLocalFile(str(path)) for path in chosen])
        target: QWidget | None = self.random.choice([self.window, self._any_widget()])
        left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        enter = QDragEnterEvent(QPoint(5, 5), Qt.DropAction.CopyAction, data, left, none)
        enter.ignore()
        while target is not None:
            if target.acceptDrops():
                QApplication.sendEvent(target, enter)
            if enter.isAccepted():
                event = QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, data, left, none, QEvent.Type.Drop)
                QApplication.sendEvent(target, event)
                return
            target = target.parentWidget()

    def open_file(self) -> None:
        self.window.open_file(str(self.random.choice(self.files)))

    def resize(self) -> None:
        self.window.resize(QSize(self.random.randrange(300, 2600), self.random.randrange(200, 1500)))

    def train(self) -> None:
        panel = self.window.composition.train_panel
        buttons = panel.buttons
        if self.window.session.training.log.state == "idle" and self.random.random() < 0.7:
            self.window.session.change("choose preset", preset="toy")  # one that gets somewhere
            panel.settings.take_corpus()
            panel.settings.propose_folder()
        for command in ("start", self.random.choice(("stop", "pause", "resume", "start"))):
            if buttons[command].isEnabled():
                self.trainings += command == "start"
                buttons[command].click()
                QTest.qWait(self.random.choice((0, 50, 300)))
                if command == "start" and self.random.random() < 0.5:
                    self.watch_training()

    def watch_training(self) -> None:
        """Let a training come as far as having something to lose."""
        until = time.monotonic() + HANG / 2  # on a busy machine, a wait is much longer than it is asked for
        while time.monotonic() < until:
            if self.window.session.training.log.state != "running" or self.window.session.training.log.step > 5:
                return
            QTest.qWait(100)

    def sentence(self) -> None:
        bar = self.window.composition.sentence_bar
        bar.sentence.setText(self.random.choice(TEXTS))
        bar.translate()

    def kill_worker(self) -> None:
        if self.client.pid:
            self.kills += 1
            self.killed = True
            os.kill(self.client.pid, self.random.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV)))
            QTest.qWait(self.random.choice((0, 20, 200)))
        self.random.choice((self.window.connection.start_again, self.window.connection.go_on))()

    def leave_and_return(self) -> None:
        self._close()
        self._open()

    # How it gets about ------------------------------------------------------------------------------------------

    def _open(self) -> None:
        self.client = WorkerClient()
        self.client.received.connect(self._remember)
        self.client.ended.connect(self._ended)
        self.client.start()
        self.window = MainWindow(self.client, self.settings)
        self.window.show()
        self.window.begin([])

    def _close(self) -> None:
        self._deal_with_dialogs()
        if not self.window.close():
            box = QApplication.activeModalWidget()
            assert isinstance(box, QMessageBox)
            box.button(QMessageBox.StandardButton.Discard).click()
            if self.window.settings.restores or self.window.isVisible():
                self.exceptions.append("the window asked before it closed, although all of it was kept; or stayed open")
        self.client.shut_down()
        self.window.deleteLater()
        QTest.qWait(1)

    def _remember(self, message: Message) -> None:
        if message.kind == "saved":
            self.saved[message["path"]] = message["step"]

    def _ended(self, why: str) -> None:
        if why and not self.killed:
            self.exceptions.append(f"the worker left by itself: {why} {self.client.errors}")
        self.killed = False

    def _deal_with_dialogs(self) -> None:
        # Nobody clicks about in a file dialog here: it can rename and delete what is not ours.
        for window in QApplication.topLevelWidgets():
            if isinstance(window, QDialog) and window.isVisible() and window.isModal():
                window.reject()
        while popup := QApplication.activePopupWidget():
            popup.close()

    def _any_widget(self, kinds: tuple[type[QWidget], ...] = (QWidget,)) -> QWidget:
        popup = QApplication.activePopupWidget()
        tops = [popup] if popup else [each for each in QApplication.topLevelWidgets() if each.isVisible()]
        tops = [each for each in tops if not isinstance(each, QFileDialog)] or [self.window]
        top = self.random.choice([*tops, *([] if popup else [self.window] * 3)])
        found = [each for each in top.findChildren(QWidget) if isinstance(each, kinds) and each.isVisible()]
        return self.random.choice([each for each in found if each.isEnabled() and each.objectName() != WAITS] or [top])

    def _focused(self) -> QWidget:
        return QApplication.focusWidget() or self.window

    def _modifiers(self) -> Qt.KeyboardModifier:
        none = Qt.KeyboardModifier.NoModifier
        return self.random.choice([none] * 8 + [Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.AltModifier])

    def _caught(self, kind: type[BaseException], error: BaseException, trace: object) -> None:
        self.exceptions.append("".join(traceback.format_exception(error)))
        print(self.exceptions[-1], file=sys.stderr)

    def _told(self, kind: QtMsgType, context: object, text: str) -> None:
        if kind not in (QtMsgType.QtDebugMsg, QtMsgType.QtInfoMsg) and not text.startswith(QUIET):
            self.warnings.append(text)


def _files(folder: Path, chance: random.Random) -> list[Path]:
    """Files to open and to drop: some as they should be, most not."""
    place = folder / "files"
    place.mkdir(exist_ok=True)
    contents = {
        "junk.mlxdecoder": chance.randbytes(2000),
        "empty.mlxdecoder": b"",
        "list.mlxdecoder": b"[]",
        "deep.mlxdecoder": b"[" * 100_000,
        "lost.mlxdecoder": b'{"format": 1, "model": "/nowhere/at/all"}',
        "good.mlxdecoder": b'{"format": 1, "sentence": "The small dog eats.", "mistakes": ["no-causal-mask"]}',
        "odd.mlxdecoder": b'{"format": 1, "mistakes": ["none-such"], "view": {"layer": 99, "head": 99, "step": 99}}',
        "pairs.tsv": b"the cat\tle chat\nthe dog\tle chien\n" * 40,
        "junk.tsv": chance.randbytes(500),
        "junk.safetensors": chance.randbytes(500),
        "picture.png": chance.randbytes(100),
    }
    for name, content in contents.items():
        (place / name).write_bytes(content)
    (place / "hollow").mkdir(exist_ok=True)
    (place / "hollow" / "config.json").write_text("{}")
    return [*(place / name for name in contents), place / "hollow", place / "missing.mlxdecoder"]


def main(seed: int, events: int) -> int:
    app = Application(sys.argv[:1])
    app.setQuitOnLastWindowClosed(False)
    monkey = Monkey(seed, Path.cwd())
    monkey.run(events)
    counts = {"kills": monkey.kills, "trainings": monkey.trainings, "saved": monkey.saved}
    print(json.dumps({"exceptions": monkey.exceptions, "warnings": monkey.warnings, **counts}))
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
