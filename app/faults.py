"""Faults of ours: told in a window that hinders nobody, with what a report needs; the app goes on."""

from __future__ import annotations

import sys
import threading
import traceback
from types import TracebackType

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

MOST = 2**16


class FaultWindow(QDialog):
    """Shows the details of what went wrong; further faults are added to it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Something went wrong")
        self.setModal(False)
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
        self._what = QLabel("This is a fault of the app, not yours. It goes on; the details help to mend it.")
        self._what.setWordWrap(True)
        self._details = QPlainTextEdit(readOnly=True)
        self._details.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._details.setAccessibleName("Details of what went wrong")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        copy = buttons.addButton("Copy details", QDialogButtonBox.ButtonRole.ActionRole)
        copy.clicked.connect(self._copy)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        for widget in (self._what, self._details, buttons):
            layout.addWidget(widget)
        self.resize(640, 360)

    def add(self, details: str) -> None:
        """Show one more fault."""
        if details not in self.details:  # what fails in every repaint is told once
            self._details.setPlainText(f"{self.details}\n{details}".strip()[-MOST:])
        self.show()

    @property
    def details(self) -> str:
        """What is shown."""
        return self._details.toPlainText()

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.details)


class Faults(QObject):
    """Catches exceptions that nobody else does, of any thread, and shows them."""

    caught = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.window = FaultWindow(parent)
        self.caught.connect(self.show_details, Qt.ConnectionType.QueuedConnection)

    def install(self) -> None:
        """From now on exceptions come here."""
        sys.excepthook = self.caught_exception
        threading.excepthook = self._catch_of_thread

    @Slot(str)
    def show_details(self, details: str) -> None:
        """Show what went wrong."""
        self.window.add(details)

    def caught_exception(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Print an exception, and show it when the event loop comes round to it."""
        sys.__excepthook__(kind, error, trace)
        self.caught.emit("".join(traceback.format_exception(kind, error, trace)))

    def _catch_of_thread(self, caught: threading.ExceptHookArgs) -> None:
        if caught.exc_value is not None:
            self.caught_exception(caught.exc_type, caught.exc_value, caught.exc_traceback)
