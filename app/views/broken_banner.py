"""The sign that something is switched on, and the way back."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.parts import Text, button
from mlxdecoder.app.views.switching import back_to_correct, hindrance, title
from mlxdecoder.app.views.wording import counted


class BrokenBanner(QFrame):
    """Names what is switched on, as long as anything is."""

    def __init__(self, session: Session, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.setAccessibleName("Mistakes that are switched on")
        self.setAutoFillBackground(True)
        self.setBackgroundRole(QPalette.ColorRole.Highlight)
        self._text = Text(strong=True)
        self._text.setForegroundRole(QPalette.ColorRole.HighlightedText)
        self.back = button("Back to correct", "Switch all mistakes off")
        self.back.clicked.connect(self._go_back)
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 6, 10, 6)
        row.addWidget(self._text, 1)
        row.addWidget(self.back)
        bridge.changed.connect(self.session_changed)
        self._show()

    @Slot(str)
    def session_changed(self, topic: str) -> None:
        if topic in ("document", "welcome", "model"):
            self._show()

    def _show(self) -> None:
        chosen = self._session.document.mistakes
        named = {name: hindrance(self._session, name) for name in chosen}
        titles = "; ".join(f"{title(self._session, name)}{f' ({why})' if why else ''}" for name, why in named.items())
        self._text.say(f"{counted(len(chosen), 'mistake')} switched on: {titles}")
        # What has no parent yet must not be shown: it would become a window.
        if self.parent() is not None or not chosen:
            self.setVisible(bool(chosen))

    @Slot()
    def _go_back(self) -> None:
        back_to_correct(self._session)
