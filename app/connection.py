"""What passes between the session and the worker, and what is offered when the worker is gone."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.client import WorkerClient
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session

PATIENCE = 10_000  # ms for a training to stop and save


class Connection(QObject):
    """Connects a session with a worker.

    `lost` is told after the worker is gone without having been asked to, `silent` when it does not stop a training.
    """

    lost = Signal(str)  # why
    silent = Signal()

    def __init__(self, session: Session, bridge: Bridge, client: WorkerClient, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session, self._client = session, client
        self._goes_on = False
        client.received.connect(self._receive)
        client.ended.connect(self._ended)
        bridge.changed.connect(self._session_changed)
        self._stopping = QTimer(self, singleShot=True)
        self._stopping.timeout.connect(self.silent)

    @property
    def interrupted(self) -> bool:
        """Whether a training was cut off that can go on from its last checkpoint."""
        return self._session.training.interrupted is not None

    @Slot()
    def start_again(self) -> None:
        """Start a new worker; it opens what was open."""
        self._client.restart()

    @Slot()
    def go_on(self) -> None:
        """Go on with the training that was cut off, with a new worker where there is none."""
        if self._session.alive:
            self._session.training.go_on()
        else:
            self._goes_on = True
            self._client.start()

    @Slot(str)
    def _session_changed(self, topic: str) -> None:
        if topic == "training":
            if self._session.training.log.state != "stopping":
                self._stopping.stop()
            elif not self._stopping.isActive():
                self._stopping.start(PATIENCE)

    @Slot(object)
    def _receive(self, message: Message) -> None:
        self._session.receive(message)
        if message.kind == "welcome" and self._goes_on:
            self._goes_on = False
            self._session.training.go_on()

    @Slot(str)
    def _ended(self, why: str) -> None:
        self._session.worker_ended(why)
        if why:
            self._goes_on = False
            self.lost.emit(why)
