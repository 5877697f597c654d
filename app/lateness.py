"""How late the window's clock is while the worker is idle, trains, and generates; JSON, for `mlxdecoder bench`.

A timer of 16 ms, as for 60 pictures a second, in a window that nobody sees, beside an idle baseline in the same run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from PySide6.QtCore import QCoreApplication, QObject, Qt, QTimer, Slot

from mlxdecoder.app.client import WorkerClient
from mlxdecoder.app.settings import Settings
from mlxdecoder.app.window import MainWindow

INTERVAL = 0.016  # s
SECONDS = 6.0  # for each measurement
PATIENCE = 60.0
SHORT = "The black cat sleeps and the small dog eats the red apple."  # an untrained model writes 40 tokens
LONG = "The black cat sleeps. " * 50  # about 250 tokens, so that the translation may have 500
PAINTS = 30


class Clock(QObject):
    """Notes how late each tick comes, in ms."""

    def __init__(self) -> None:
        super().__init__()
        self.late: list[float] = []
        self._before = time.perf_counter()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)
        self._timer.start(round(1e3 * INTERVAL))

    @Slot()
    def _tick(self) -> None:
        now = time.perf_counter()
        self.late.append(1e3 * max(0.0, now - self._before - INTERVAL))
        self._before = now


def main() -> int:
    """Measure and print; gives the exit status."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from mlxdecoder.app.application import Application

    app = Application(sys.argv[:1])
    client = WorkerClient()
    client.start()
    with TemporaryDirectory() as folder:
        model = Path(folder) / "untrained"
        subprocess.run([sys.executable, "-m", "mlxdecoder.app.worker.untrained", str(model)], check=True)
        window = MainWindow(client, Settings(Path(folder) / "settings"))
        window.resize(1280, 800)
        window.show()
        window.begin([])
        print(json.dumps(_measures(window, model, Path(folder))))
        client.shut_down()
    app.quit()
    return 0


def _measures(window: MainWindow, model: Path, folder: Path) -> list[list[object]]:
    """Rows of what was measured: what the worker does, then p50, p99 and maximum in ms."""
    session = window.session
    _wait(lambda: not session.requests.busy() and "wrong" in session.generation.recordings)
    rows = [["idle", *_lateness(lambda: None)]]
    session.open_model(str(model))
    _wait(lambda: session.model is not None and session.model.layers == 6 and session.requests.busy("wrong"))
    session.change("bench", sentence=SHORT)
    session.look(kind="decoder")

    def generate() -> None:
        if not session.requests.busy("wrong"):
            session.generation.begin()

    rows.append(["generates, 6 layers of 8 heads", *_lateness(generate)])
    settings = {"preset": "toy", "corpus": None, "steps": 100_000, "resume": False, "probe": "The cat sleeps."}
    session.training.begin(folder=str(folder / "run"), mistakes=[], **settings)
    _wait(lambda: session.training.log.step > 0)
    rows.append(["trains and generates", *_lateness(generate)])
    session.requests.cancel("wrong")
    rows.append(["trains", *_lateness(lambda: None)])
    session.training.control("stop")
    _wait(lambda: session.training.log.state == "idle")
    session.change("bench", sentence=LONG)
    session.generation.begin()
    rows.append(["generates 500 tokens from 250", *_lateness(lambda: None)])
    rows.append(["48 heatmaps of 64 x 64 painted anew", *_painting(window)])
    return rows


def _lateness(meanwhile: Callable[[], None]) -> tuple[float, float, float]:
    clock, end = Clock(), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        QCoreApplication.processEvents()
        meanwhile()
        time.sleep(0.0005)
    return _spread(clock.late)


def _painting(window: MainWindow) -> tuple[float, float, float]:
    """All heads of all layers, 64 tokens each."""
    session = window.session
    _wait(lambda: len(session.generation.recordings["wrong"].tokens) >= 64)
    session.look(step=63)
    viewport, times = window.composition.grid.viewport(), []
    for _ in range(PAINTS):
        began = time.perf_counter()
        viewport.repaint()
        times.append(1e3 * (time.perf_counter() - began))
    session.look(step=None)
    return _spread(times)


def _spread(values: list[float]) -> tuple[float, float, float]:
    return median(values), quantiles(values, n=100, method="inclusive")[98], max(values)


def _wait(holds: Callable[[], bool]) -> None:
    end = time.perf_counter() + PATIENCE
    while not holds():
        if time.perf_counter() > end:
            raise TimeoutError("the worker did not answer in a minute")
        QCoreApplication.processEvents()
        time.sleep(0.0005)


if __name__ == "__main__":
    sys.exit(main())
