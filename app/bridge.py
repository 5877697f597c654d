"""From the session, which knows no Qt, to the views."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from mlxdecoder.app.session.session import Session


class Bridge(QObject):
    """Tells the views which topic of the session has changed."""

    changed = Signal(str)

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        session.listeners.append(self.changed.emit)
