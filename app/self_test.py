"""`--self-test`: whether everything works where this is run, from the worker's device to the picture on the screen."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, QTimer, Slot, qVersion

from mlxdecoder.app.client import WorkerClient

if TYPE_CHECKING:
    from mlxdecoder.app.window import MainWindow

PATIENCE = 60_000  # ms
FEWEST_COLOURS = 10


def self_test() -> int:
    """Generate once in the worker, draw it, and say how that went; gives 0, or 1 when anything is wrong."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    began = time.perf_counter()
    from mlxdecoder.app.application import Application

    app = Application(sys.argv[:1])
    client = WorkerClient()
    client.start()
    from mlxdecoder.app.settings import Settings
    from mlxdecoder.app.window import MainWindow

    with TemporaryDirectory() as folder:
        window = MainWindow(client, Settings(Path(folder)))
        window.show()
        attempt = _Attempt(window)
        app.exec()
        client.shut_down()
    if attempt.fault:
        print(f"mlxdecoder app: {attempt.fault}\n{client.errors}".rstrip(), file=sys.stderr)
        return 1
    print(f"mlxdecoder app: {attempt.found}, Qt {qVersion()}, {time.perf_counter() - began:.1f} s")
    return 0


class _Attempt(QObject):
    """Waits for the first picture; ends the app with it, or with what is wrong."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.fault, self.found = "", ""
        self._window, self._session = window, window.session
        self._hook, sys.excepthook = sys.excepthook, self._caught
        window.bridge.changed.connect(self.session_changed)
        QTimer.singleShot(PATIENCE, self._too_late)

    @Slot(str)
    def session_changed(self, topic: str) -> None:
        told = self._session.told
        recording = self._session.generation.recordings.get("wrong")
        if topic == "notice" and (not self._session.alive or "broken" in told or "refused" in told):
            self._end(self._session.notice)
        elif topic == "recording" and recording is not None and recording.reason is not None:
            QTimer.singleShot(0, self._look)

    @Slot()
    def _look(self) -> None:
        image = self._window.composition.grid.grab().toImage()
        colours = {image.pixel(x, y) for x in range(0, image.width(), 8) for y in range(0, image.height(), 8)}
        if len(colours) < FEWEST_COLOURS:
            self._end(f"the heatmaps were not drawn: {len(colours)} colours on the screen")
        device = self._session.told["welcome"]["device"]
        self.found = f"{self._session.generation.recordings['wrong'].translation!r} generated on {device} and drawn"
        self._end("")

    @Slot()
    def _too_late(self) -> None:
        self._end(f"no picture after {PATIENCE // 1000} seconds")

    def _caught(self, *error: object) -> None:
        self._hook(*error)  # type: ignore[arg-type]
        self._end(f"the window failed: {error[1]}")

    def _end(self, fault: str) -> None:
        self.fault = self.fault or fault
        sys.excepthook = self._hook
        QCoreApplication.quit()
