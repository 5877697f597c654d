"""The right and the wrong line of code, with what differs in bold."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from html import escape

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette

from mlxdecoder.app.views.parts import Wrapped, fixed_font

ALIKE = 0.5  # below this, lines have so little in common that marking the rest says nothing


class CodeLine(Wrapped):
    """A line of code that can be selected and copied."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self.setFont(fixed_font())
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setAutoFillBackground(True)
        self.setBackgroundRole(QPalette.ColorRole.AlternateBase)
        self.setMargin(6)

    def show_code(self, line: str, other: str) -> None:
        """Show a line; what `other` does not have is bold."""
        marked = "".join(f"<b><u>{escape(text)}</u></b>" if new else escape(text) for text, new in parts(line, other))
        self.setText(f'<span style="white-space: pre-wrap">{marked}</span>')
        self.setAccessibleName(f"{self._name}: {line}")


def parts(line: str, other: str) -> list[tuple[str, bool]]:
    """A line in pieces, and whether the other line lacks them."""
    words, others = (re.findall(r"\w+|\s+|[^\w\s]", text) for text in (line, other))
    matcher = SequenceMatcher(None, others, words, autojunk=False)
    if matcher.ratio() < ALIKE:
        return [(line, False)]
    return [
        ("".join(words[start:end]), kind != "equal") for kind, _, _, start, end in matcher.get_opcodes() if end > start
    ]
