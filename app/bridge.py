"""From the session, which knows no Qt, to the views."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from mlxdecoder.app.session.session import Session


class Bridge(QObject):
    """Tells the views which topic has changed; of tokens, which come in crowds, at most once in `pause` ms.

    `after` ms pass before the first of them is told: views that wait differently are not painted all at once.
    """

    changed = Signal(str)

    def __init__(self, session: Session, parent: QObject | None = None, pause: int = 0, after: int = 0) -> None:
        super().__init__(parent)
        self._session, self._between, self._after = session, pause, after
        self._waits = False
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.timeout.connect(self._over)
        session.listeners.append(self._tell)

    def later(self, after: int) -> Bridge:
        """Another bridge, for views that have their turn `after` ms later."""
        return Bridge(self._session, self, self._between, after if self._between else 0)

    def _tell(self, topic: str) -> None:
        if topic != "token" or self._between == 0:
            self.changed.emit(topic)
            return
        self._waits = True
        if not self._pause.isActive():
            if self._after:
                self._pause.start(self._after)
            else:
                self._over()

    @Slot()
    def _over(self) -> None:
        if self._waits:
            self._waits = False
            self._pause.start(self._between)
            self.changed.emit("token")
