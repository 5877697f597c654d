"""Text that comes word by word."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from mlxdecoder.app.views.steps import is_right_to_left

LINES = 3


class GrowingText(QPlainTextEdit):
    """Text that grows at its end, three lines high; it follows what comes unless somebody has scrolled away."""

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setAccessibleName(name)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        margins = 2 * (self.frameWidth() + int(self.document().documentMargin()))
        self.setMinimumHeight(LINES * self.fontMetrics().lineSpacing() + margins)

    def sizeHint(self) -> QSize:
        return QSize(200, self.minimumHeight())

    def show_text(self, text: str) -> None:
        """Show `text`; what it adds to the text before is put behind it, so that a selection stays."""
        before = self.toPlainText()
        if text == before:
            return
        self._turn(text)
        bar = self.verticalScrollBar()
        following = bar.value() == bar.maximum()
        if before and text.startswith(before):
            end = QTextCursor(self.document())
            end.movePosition(QTextCursor.MoveOperation.End)
            end.insertText(text[len(before) :])
        else:
            self.setPlainText(text)
        if following:
            bar.setValue(bar.maximum())

    def _turn(self, text: str) -> None:
        right = is_right_to_left(text)
        option = self.document().defaultTextOption()
        if (option.textDirection() == Qt.LayoutDirection.RightToLeft) == right:
            return
        option.setTextDirection(Qt.LayoutDirection.RightToLeft if right else Qt.LayoutDirection.LeftToRight)
        option.setAlignment(Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft)
        self.document().setDefaultTextOption(option)
