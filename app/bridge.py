"""From the session, which knows no Qt, to the views."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from mlxdecoder.app.session.session import Session


class Bridge(QObject):
    """Tells the views which topic has changed; of tokens, which come in crowds, at most once in `pause` ms."""

    changed = Signal(str)

    def __init__(self, session: Session, parent: QObject | None = None, pause: int = 0) -> None:
        super().__init__(parent)
        self._waits = False
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(pause)
        self._pause.timeout.connect(self._over)
        session.listeners.append(self._tell)

    def _tell(self, topic: str) -> None:
        if topic != "token" or self._pause.interval() == 0:
            self.changed.emit(topic)
        elif self._pause.isActive():
            self._waits = True
        else:
            self._pause.start()
            self.changed.emit(topic)

    @Slot()
    def _over(self) -> None:
        if self._waits:
            self._waits = False
            self._pause.start()
            self.changed.emit("token")
