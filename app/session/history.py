"""Undo and redo for values that do not change."""

from __future__ import annotations

from typing import Generic, TypeVar

Value = TypeVar("Value")
MOST = 200


class History(Generic[Value]):
    """The values that were, the one that is, and those that were taken back."""

    def __init__(self, value: Value) -> None:
        self.value = value
        self.saved = value
        self._before: list[tuple[str, Value]] = []
        self._after: list[tuple[str, Value]] = []

    def do(self, value: Value, what: str, merge: bool = False) -> None:
        """Change to `value`; `what` names the change for the menu; `merge` joins it with the last of the same name."""
        if value == self.value:
            return
        if not (merge and self._before and self._before[-1][0] == what):
            self._before.append((what, self.value))
            del self._before[:-MOST]
        self._after.clear()
        self.value = value

    def settle(self, value: Value) -> None:
        """Put in what was found out, not changed: it cannot be undone, and makes nothing modified."""
        if not self.modified:
            self.saved = value
        self.value = value

    @property
    def undoable(self) -> str | None:
        """The name of what would be undone."""
        return self._before[-1][0] if self._before else None

    @property
    def redoable(self) -> str | None:
        return self._after[-1][0] if self._after else None

    @property
    def modified(self) -> bool:
        """Whether something was changed since it was saved."""
        return self.value != self.saved

    def undo(self) -> None:
        if self._before:
            what, before = self._before.pop()
            self._after.append((what, self.value))
            self.value = before

    def take_back(self) -> None:
        """Undo what could not be done; there is nothing to redo."""
        if self._before:
            self.value = self._before.pop()[1]

    def redo(self) -> None:
        if self._after:
            what, after = self._after.pop()
            self._before.append((what, self.value))
            self.value = after
