"""Small widgets that the panels are put together from."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QFocusEvent, QFont, QFontDatabase, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from mlxdecoder.app.views.wording import breakable

Named = TypeVar("Named", bound=QWidget)


class Wrapped(QLabel):
    """A label that wraps in whatever width it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.setWordWrap(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)

    def minimumSizeHint(self) -> QSize:
        # Qt's own is for a narrow column: what is scrolled would be far taller than what is in it.
        return QSize(40, self.fontMetrics().height())


class Text(Wrapped):
    """A text of any length, never taken for markup."""

    def __init__(self, text: str = "", *, strong: bool = False) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        font = self.font()
        font.setBold(strong)
        self.setFont(font)
        self.say(text)

    def say(self, text: str) -> None:
        """Show a text; without one, take no room."""
        self.setText(breakable(text))
        # What has no parent yet must not be shown: it would become a window.
        if self.parent() is not None or not text:
            self.setVisible(bool(text))


class Framed(QWidget):
    """A widget for the keyboard that shows when it has the focus."""

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.update()
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.update()
        super().focusOutEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.hasFocus():
            painter = QPainter(self)
            painter.setPen(QPen(self.palette().color(QPalette.ColorRole.Highlight), 2))
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))


class Column(QWidget):
    """Widgets under one another; `stretched` ones share what room is left."""

    def __init__(self, *widgets: QWidget, stretched: bool = True) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        for widget in widgets:
            column.addWidget(widget)
        if not stretched:
            column.addStretch(1)


class Scrolled(QScrollArea):
    """A widget that is scrolled up and down when it is too tall."""

    def __init__(self, inside: QWidget, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidget(inside)


class _Unwheeled(QObject):
    """Leaves the wheel to what a widget without the focus lies in."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.Wheel or (isinstance(watched, QWidget) and watched.hasFocus()):
            return False
        event.ignore()
        return True


def unwheeled(widget: Named) -> Named:
    """A choice in a panel that scrolls: it must not change because it comes under the pointer."""
    widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    widget.installEventFilter(_Unwheeled(widget))
    return widget


def named(widget: Named, name: str) -> Named:
    """A widget with the name by which a screen reader calls it."""
    widget.setAccessibleName(name)
    return widget


def button(text: str, tip: str = "") -> QPushButton:
    """A button that a dialog does not press on Return when another widget has the focus."""
    made = QPushButton(text)
    made.setAutoDefault(False)
    made.setToolTip(tip)
    made.setAccessibleName(text.rstrip("…"))
    made.setAccessibleDescription(tip)
    return made


def fixed_font() -> QFont:
    return QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
