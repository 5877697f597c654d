"""Whose undo the keys mean: that of the field somebody types in, or that of the session."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QLineEdit

from mlxdecoder.app.session.session import Session


class UndoKeys(QObject):
    """Leaves undo to the sentence field only while something in it has not been taken into the session."""

    def __init__(self, session: Session, field: QLineEdit) -> None:
        super().__init__(field)
        self._session, self._field = session, field
        field.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
            return False
        steps = event.matches(QKeySequence.StandardKey.Undo) or event.matches(QKeySequence.StandardKey.Redo)
        # The field claims these keys always; what it does not claim, the menu gets.
        return steps and self._field.text() == self._session.document.sentence
