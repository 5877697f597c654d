"""The tokens of a generation with what is drawn of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QWidget

from mlxdecoder.app.session.recording import Recording, Token
from mlxdecoder.app.views.steps import chance, probability, tooltip
from mlxdecoder.app.views.words import label, whole

Index = QModelIndex | QPersistentModelIndex
CHIP = Qt.ItemDataRole.UserRole


@dataclass(frozen=True)
class Chip:
    """A token as it is drawn, and as it is told to those who do not see it."""

    text: str
    legend: str
    told: str
    forced: bool
    size: QSize


class TokenModel(QAbstractListModel):
    """The tokens of one recording; those that were forced are told apart."""

    def __init__(self, font: QFont, parent: QWidget) -> None:
        super().__init__(parent)
        self._large, self._small = QFontMetrics(font), QFontMetrics(legend_font(font))
        self.row_height = self._large.height() + self._small.height() + 8
        self.recording = Recording()
        self._forced: Mapping[int, int] = {}
        self._chips: list[Chip] = []  # made once, since a layout asks for the size of each

    def fill(self, recording: Recording, forced: Mapping[int, int]) -> None:
        """Show what has come of this recording, another or the same."""
        if recording is not self.recording or forced != self._forced or len(self._chips) > len(recording.tokens):
            self.beginResetModel()
            self.recording, self._forced, self._chips = recording, dict(forced), []
            self.endResetModel()
        if new := recording.tokens[len(self._chips) :]:
            self.beginInsertRows(QModelIndex(), len(self._chips), len(recording.tokens) - 1)
            self._chips += [self._chip(token) for token in new]
            self.endInsertRows()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._chips)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        chip = self._chips[index.row()]
        if role == Qt.ItemDataRole.SizeHintRole:
            return chip.size
        if role == CHIP:
            return chip
        if role == Qt.ItemDataRole.DisplayRole:
            return chip.text
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return chip.told
        if role == Qt.ItemDataRole.ToolTipRole:
            return tooltip(chip.told)
        return None

    def _chip(self, token: Token) -> Chip:
        text, forced = label(token.text), self._forced.get(token.step) == token.id
        legend = probability(chance(token)) + (", forced" if forced else "")
        told = f"Step {token.step + 1}: {whole(token.text)}, {legend}"
        width = max(self._large.horizontalAdvance(text), self._small.horizontalAdvance(legend))
        return Chip(text, legend, told, forced, QSize(width + 16, self.row_height))


def legend_font(font: QFont) -> QFont:
    """The smaller letters of what stands under a token."""
    small = QFont(font)
    small.setPointSizeF(max(7.0, font.pointSizeF() * 0.8))
    return small
