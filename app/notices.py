"""The bar that tells people something without stopping them, and offers what can be done about it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QAccessible, QAccessibleEvent, QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QToolButton, QWidget

Offer = tuple[str, Callable[[], None]]  # what the button says, and what it does


class NoticeBar(QFrame):
    """Shows the newest notice until it is put away or there is another one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAutoFillBackground(True)
        self.setBackgroundRole(QPalette.ColorRole.ToolTipBase)
        self.setForegroundRole(QPalette.ColorRole.ToolTipText)
        self.setAccessibleName("Notice")
        self._text = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self._text.setForegroundRole(QPalette.ColorRole.ToolTipText)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._text.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._close = QToolButton(autoRaise=True)
        self._close.setText("✕")
        self._close.setToolTip("Put this away")
        self._close.setAccessibleName("Put the notice away")
        self._close.clicked.connect(self.clear)
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(8, 4, 8, 4)
        self._layout.addWidget(self._text, 1)
        self._layout.addWidget(self._close)
        self._buttons: list[QPushButton] = []
        self.hide()

    @property
    def text(self) -> str:
        """What is shown; empty when nothing is."""
        return "" if self.isHidden() else self._text.text()

    def tell(self, text: str, *offers: Offer) -> None:
        """Show a notice, with a button for each offer; an empty one puts the bar away."""
        self._forget_offers()
        self._text.setText(text)
        for title, act in offers:
            button = QPushButton(title)
            button.clicked.connect(act)
            self._buttons.append(button)
            self._layout.insertWidget(self._layout.count() - 1, button)
        self.setVisible(bool(text))
        if text:
            QAccessible.updateAccessibility(QAccessibleEvent(self._text, QAccessible.Event.Alert))

    @Slot()
    def clear(self) -> None:
        """Put the bar away."""
        self.tell("")

    def _forget_offers(self) -> None:
        for button in self._buttons:
            self._layout.removeWidget(button)
            button.hide()
            button.deleteLater()
        self._buttons.clear()
