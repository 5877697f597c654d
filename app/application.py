"""The app as a process: its names, its worker, its window, and files that the system hands over."""

from __future__ import annotations

import signal
import sys
from importlib.resources import files
from pathlib import Path

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QFileOpenEvent, QIcon
from PySide6.QtWidgets import QApplication

from mlxdecoder import __version__
from mlxdecoder.app.client import WorkerClient

NAME = "mlxdecoder"
ICON_SIZES = (16, 32, 48, 64, 128, 256)  # pixels


class Application(QApplication):
    """The app; `files` are those that were to be opened before anybody listened to `file_opened`."""

    file_opened = Signal(str)

    def __init__(self, arguments: list[str]) -> None:
        # What the system is told of the app, and where settings are, goes by these names.
        QApplication.setApplicationName(NAME)
        QApplication.setOrganizationName(NAME)
        QApplication.setApplicationVersion(__version__)
        QApplication.setDesktopFileName(NAME)
        super().__init__(arguments)
        self.setWindowIcon(icon())
        self.listens = False
        self.files: list[str] = []

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QFileOpenEvent) and event.file():
            if self.listens:
                self.file_opened.emit(event.file())
            else:
                self.files.append(event.file())
            return True
        return super().event(event)


def icon() -> QIcon:
    """The app's icon, drawn for each size."""
    made, folder = QIcon(), files("mlxdecoder.assets") / "icons"
    for size in ICON_SIZES:
        made.addFile(str(folder / f"{NAME}-{size}.png"))
    return made


def start(file: str | None = None) -> int:
    """Show the window until the user closes it; gives the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C in a terminal; all that matters is kept by then
    app = Application(sys.argv[:1])
    client = WorkerClient()
    client.start()  # before all else: it loads its model while the window is built
    from mlxdecoder.app.settings import Settings
    from mlxdecoder.app.window import MainWindow

    window = MainWindow(client, Settings())
    window.faults.install()
    window.show()
    window.begin([Path(name).absolute() for name in [*app.files, *([file] if file else [])]])
    app.file_opened.connect(window.open_file)
    app.listens = True
    app.aboutToQuit.connect(client.shut_down)
    status = app.exec()
    client.shut_down()
    return status
