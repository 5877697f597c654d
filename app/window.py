"""The window: the sentence above, the attention in the middle, the steps below, and a side for what is being done."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QLineEdit, QMainWindow

from mlxdecoder.app.appearance import Appearance
from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.client import WorkerClient
from mlxdecoder.app.commands import bring_up
from mlxdecoder.app.composition import Composition
from mlxdecoder.app.connection import Connection
from mlxdecoder.app.faults import Faults
from mlxdecoder.app.files import Files
from mlxdecoder.app.menus import Menus
from mlxdecoder.app.notices import Offer
from mlxdecoder.app.session.document import SUFFIX
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.settings import Settings
from mlxdecoder.app.settings_window import SettingsWindow
from mlxdecoder.app.undo_keys import UndoKeys
from mlxdecoder.app.views.dropping import dropped

FIRST_SIZE, SMALLEST_SIZE = QSize(1280, 800), QSize(720, 480)
TITLE_BAR = 40  # px of the window that have to be on a screen for people to take hold of it


class MainWindow(QMainWindow):
    """One session, its worker, and everything that shows it."""

    def __init__(self, client: WorkerClient, settings: Settings) -> None:
        super().__init__()
        self.settings, self.client = settings, client
        self.session = Session(client.send)
        self.session.runs = settings.runs
        self.bridge = Bridge(self.session, self, pause=50)
        self.files = Files(self.session, settings, self)
        self.connection = Connection(self.session, self.bridge, client, self)
        self.faults = Faults(self)
        self.settings_window = SettingsWindow(settings, self)
        self.appearance = Appearance(cast(QApplication, QApplication.instance()))
        self.appearance.apply(settings)
        self._training = self.session.training.log.state
        self._loss = ""  # what was said when the worker went
        self.composition = Composition(self.session, self.bridge)
        self.setCentralWidget(self.composition)
        self.menus = Menus(self)
        UndoKeys(self.session, self.composition.sentence_bar.sentence)
        for field in self.composition.findChildren(QLineEdit):
            field.setAcceptDrops(False)  # or a file that is dropped there would be typed there
        self.setMinimumSize(SMALLEST_SIZE)
        self.setAcceptDrops(True)
        self._connect()
        self._restore_layout()
        self.session_changed("document")

    def begin(self, paths: Sequence[Path]) -> None:
        """Begin with what was handed over, or where the app was left."""
        self.files.keeper.restore()
        if self.connection.interrupted:
            offer = ("Go on with it", self.connection.go_on)
            self.composition.notices.tell("A training was under way when the app was closed. It was saved.", offer)
        for path in paths:
            self.files.open(path)

    @Slot(str)
    def open_file(self, path: str) -> None:
        """Open what the system hands over."""
        self.files.open(Path(path))
        bring_up(self)

    @Slot(str)
    def session_changed(self, topic: str) -> None:
        if topic == "document":
            self._show_title()
            self.files.keeper.soon()
        elif topic == "training" and self.session.training.log.state != self._training:
            self._training = self.session.training.log.state
            self.files.keeper.soon()
        elif topic == "notice":
            self._show_notice()
        elif topic == "welcome" and self.session.notice == self._loss:
            self.session.say("")

    # What the user does -----------------------------------------------------------------------------------------

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        self.files.open_together(dropped(event))
        event.acceptProposedAction()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Close without asking where nothing is lost; the worker saves a running training before it ends."""
        if not self.files.may_close(self.close):
            event.ignore()
            return
        self.settings.set_layout("window", self.saveGeometry())
        for name, splitter in self.composition.splitters.items():
            self.settings.set_layout(name, splitter.saveState())
        event.accept()

    # Inside -----------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        self.bridge.changed.connect(self.session_changed)
        self.settings.changed.connect(self._apply_settings)
        self.connection.lost.connect(self._offer_worker)
        self.connection.silent.connect(self._offer_end)
        self.files.corpus_chosen.connect(self.composition.take_corpus)
        QGuiApplication.styleHints().colorSchemeChanged.connect(
            self._colours_changed, Qt.ConnectionType.QueuedConnection
        )

    @Slot()
    def _apply_settings(self) -> None:
        self.appearance.apply(self.settings)
        self.session.runs = self.settings.runs

    @Slot()
    def _colours_changed(self) -> None:
        # Queued, since the palette is changed after the signal; what is painted with it is painted anew.
        self.composition.update()

    @Slot(str)
    def _offer_worker(self, why: str) -> None:
        self._loss = why
        offers: list[Offer] = [("Start it again", self.connection.start_again)]
        if self.connection.interrupted:
            offers.insert(0, ("Go on from the last checkpoint", self.connection.go_on))
        if self.client.errors.strip():
            offers.append(("Details…", self._show_errors))
        self.composition.notices.tell(why, *offers)

    @Slot()
    def _offer_end(self) -> None:
        offer = ("End the worker", self.connection.start_again)
        self.composition.notices.tell(
            "The training has not stopped yet; what was not saved is lost if you end it.", offer
        )

    @Slot()
    def _show_errors(self) -> None:
        self.faults.show_details(self.client.errors)

    @Slot()
    def _show_broken(self) -> None:
        broken = self.session.told["broken"]
        self.faults.show_details(f"{broken['message']}\n\n{broken['details']}")

    def _show_notice(self) -> None:
        broken = self.session.told.get("broken")
        ours = broken is not None and broken["message"] == self.session.notice
        offers: list[Offer] = [("Details…", self._show_broken)] if ours else []
        self.composition.notices.tell(self.session.notice, *offers)

    def _show_title(self) -> None:
        path = self.session.path
        self.setWindowFilePath(str(path) if path else "")
        name = path.name.removesuffix(SUFFIX) if path else "Untitled"
        model = f" – {self.session.model.name}" if self.session.model else ""
        self.setWindowTitle(f"{name}[*]{model}" + ("" if sys.platform == "darwin" else " – mlxdecoder"))
        self.setWindowModified(self.session.history.modified)

    def _restore_layout(self) -> None:
        room = self.screen().availableGeometry().size()
        self.resize(FIRST_SIZE.boundedTo(QSize(room.width(), room.height() - TITLE_BAR)))
        self.restoreGeometry(self.settings.layout("window"))
        self.setWindowState(self.windowState() & ~(Qt.WindowState.WindowFullScreen | Qt.WindowState.WindowMinimized))
        for name, splitter in self.composition.splitters.items():
            splitter.restoreState(self.settings.layout(name))
        self._move_onto_a_screen()

    def _move_onto_a_screen(self) -> None:
        handle = self.frameGeometry()
        handle.setHeight(TITLE_BAR)
        rooms = [screen.availableGeometry() for screen in QGuiApplication.screens()]
        if any(room.intersected(handle).width() >= 2 * TITLE_BAR and room.contains(handle.center()) for room in rooms):
            return
        room = QGuiApplication.primaryScreen().availableGeometry()
        self.resize(self.size().boundedTo(room.size()))
        self.move(room.topLeft())
