"""What the panels beside the heatmaps have in common."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.what_this_shows import WhatThisShows


class Panel(QWidget):
    """A column with its help on top. It is drawn anew when one of its topics changes, while somebody can see it."""

    topics: tuple[str, ...] = ()

    def __init__(self, session: Session, bridge: Bridge, name: str, help_text: str, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.session = session
        self.what_this_shows = WhatThisShows(name, help_text, self)
        self.column = QVBoxLayout(self)
        self.column.addWidget(self.what_this_shows, 0, Qt.AlignmentFlag.AlignLeft)
        bridge.changed.connect(self.session_changed)

    def minimumSizeHint(self) -> QSize:
        # Without this, texts that wrap claim the height that they would have in the narrowest column.
        return QSize(super().minimumSizeHint().width(), 0)

    def refresh(self) -> None:
        """Draw the session as it is now."""
        raise NotImplementedError

    @Slot(str)
    def session_changed(self, topic: str) -> None:
        if topic in self.topics and self.isVisible():
            self.refresh()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()
