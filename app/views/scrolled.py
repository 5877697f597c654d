"""What the grid and a single map have in common: a scrolled picture that follows focus, font and palette."""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QAbstractScrollArea


class ScrolledPicture(QAbstractScrollArea):
    """Painted anew when the focus comes or goes, and laid out anew by `restyle` with another font or palette."""

    def restyle(self) -> None:
        """Lay the picture out for the font and palette as they are now."""

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.PaletteChange):
            self.restyle()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()
