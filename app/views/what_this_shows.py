"""The help of a panel: a button that tells in a few sentences what is seen there."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QToolButton, QWhatsThis, QWidget

from mlxdecoder.app.views.announcing import announce


class WhatThisShows(QToolButton):
    """Tells `text`, over the window so that nothing moves; the next click or key closes it."""

    def __init__(self, panel: str, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.text_told = text
        self.setText("What this shows")
        self.setAccessibleName(f"What this shows: {panel}")
        parent.setWhatsThis(text)
        self.clicked.connect(self.tell)

    @Slot()
    def tell(self) -> None:
        QWhatsThis.showText(self.mapToGlobal(self.rect().bottomLeft()), self.text_told, self)
        announce(self, self.text_told)
