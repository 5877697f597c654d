"""The tokens of a generation as a strip that wraps, in the direction of their script."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QModelIndex, QPoint, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QFont,
    QFontMetrics,
    QKeyEvent,
    QPainter,
    QPalette,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from mlxdecoder.app.session.recording import Recording
from mlxdecoder.app.views.steps import is_right_to_left
from mlxdecoder.app.views.token_model import CHIP, Chip, Index, TokenModel, legend_font

ROUND = 5
MOST_ROWS = 2
MOST_KEPT = 2_000  # drawings of tokens


class TokenDelegate(QStyledItemDelegate):
    """Draws a token over its probability, in a frame; the chosen one filled, a forced one with a line under it.

    Round frames are slow to draw and tokens seldom change, so each is drawn once and kept.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._drawn: dict[tuple[Any, ...], QPixmap] = {}

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        shown: Any = option  # the stubs know none of its fields
        chip: Chip = index.data(CHIP)
        chosen = bool(shown.state & QStyle.StateFlag.State_Selected)
        ratio = painter.device().devicePixelRatioF()
        size = shown.rect.size()
        look = (chosen, size.toTuple(), ratio, shown.palette.cacheKey(), shown.font.key())
        about = (chip.text, chip.legend, chip.forced, look)
        if about not in self._drawn:
            if len(self._drawn) >= MOST_KEPT:
                self._drawn.clear()
            self._drawn[about] = _drawn(chip, chosen, size, ratio, shown.palette, shown.font)
        painter.drawPixmap(shown.rect.topLeft(), self._drawn[about])


def _drawn(chip: Chip, chosen: bool, size: QSize, ratio: float, palette: QPalette, font: QFont) -> QPixmap:
    pixmap = QPixmap(size * ratio)
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    ink = palette.color(QPalette.ColorRole.HighlightedText if chosen else QPalette.ColorRole.Text)
    fill = palette.color(QPalette.ColorRole.Highlight if chosen else QPalette.ColorRole.Base)
    rect = QRect(QPoint(0, 0), size).adjusted(1, 1, -2, -2)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(palette.color(QPalette.ColorRole.Mid)))
    painter.setBrush(fill)
    painter.drawRoundedRect(rect, ROUND, ROUND)
    painter.setPen(ink)
    _write(painter, rect, font, chip)
    if chip.forced:
        painter.setPen(QPen(ink, 2))
        painter.drawLine(rect.left() + ROUND, rect.bottom() - 2, rect.right() - ROUND, rect.bottom() - 2)
    painter.end()
    return pixmap


def _write(painter: QPainter, rect: QRect, font: QFont, chip: Chip) -> None:
    above = rect.adjusted(0, 2, 0, 0)
    above.setHeight(QFontMetrics(font).height())
    painter.setFont(font)
    painter.drawText(above, Qt.AlignmentFlag.AlignCenter, chip.text)
    painter.setFont(legend_font(font))
    painter.drawText(rect.adjusted(0, above.height(), 0, -2), Qt.AlignmentFlag.AlignCenter, chip.legend)


class TokenStrip(QListView):
    """`picked` tells the step that somebody chose by mouse or keys; `played` that Space was pressed.

    It scrolls with new tokens while its end is in sight, and leaves whoever has scrolled away alone.
    """

    picked = Signal(int)
    played = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.tokens = TokenModel(self.font(), self)
        self._filling = False
        self._at_end = True
        self.setModel(self.tokens)
        self.setItemDelegate(TokenDelegate(self))
        self.setFlow(QListView.Flow.LeftToRight)
        self.setWrapping(True)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Tokens, one for each step")
        self.selectionModel().currentChanged.connect(self._current_changed)
        bar = self.verticalScrollBar()
        bar.valueChanged.connect(self._scrolled)
        bar.rangeChanged.connect(self._grown)
        self._fit()

    def show_tokens(self, recording: Recording, forced: Mapping[int, int], chosen: int | None) -> None:
        """Show the tokens that have come, the chosen step marked, in the direction of the translation."""
        before = self.currentIndex()
        seen = not before.isValid() or self.visualRect(before).intersects(self.viewport().rect())
        self._filling = True
        self.tokens.fill(recording, forced)
        self._turn(recording.translation)
        if chosen is not None and chosen != self.currentIndex().row():
            automatic = self.hasAutoScroll()
            self.setAutoScroll(False)
            self.setCurrentIndex(self.tokens.index(chosen))
            self.setAutoScroll(automatic)
            if seen and chosen < self.tokens.rowCount() - 1:
                self.reveal_chosen()
        self._filling = False
        self._fit()

    def reveal_chosen(self) -> None:
        """Bring the chosen token into sight."""
        self.scrollTo(self.currentIndex())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space:
            self.played.emit()
        elif event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            onwards = (event.key() == Qt.Key.Key_Right) == (self.layoutDirection() == Qt.LayoutDirection.LeftToRight)
            self._walk(1 if onwards else -1)
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _walk(self, steps: int) -> None:
        """By hand, since Qt's left and right are not those of a strip from the right."""
        there = self.tokens.index(self.currentIndex().row() + steps)
        if self.currentIndex().isValid() and there.isValid():
            self.setCurrentIndex(there)

    def _turn(self, translation: str) -> None:
        right = is_right_to_left(translation)
        direction = Qt.LayoutDirection.RightToLeft if right else Qt.LayoutDirection.LeftToRight
        if direction != self.layoutDirection():
            self.setLayoutDirection(direction)

    @Slot(QModelIndex, QModelIndex)
    def _current_changed(self, current: QModelIndex, _: QModelIndex) -> None:
        if current.isValid() and not self._filling:
            self.picked.emit(current.row())

    @Slot(int)
    def _scrolled(self, value: int) -> None:
        self._at_end = value == self.verticalScrollBar().maximum()

    @Slot(int, int)
    def _grown(self, _: int, maximum: int) -> None:
        if self._at_end:
            self.verticalScrollBar().setValue(maximum)

    def _fit(self) -> None:
        """As high as the tokens need, up to two rows; what is being written may make it higher, not lower."""
        row = self.tokens.row_height
        self.executeDelayedItemsLayout()
        rows = MOST_ROWS if self.contentsSize().height() > row else 1
        height = rows * row + 2 * self.frameWidth() + 2
        if self.tokens.recording.reason is None:
            height = max(height, self.minimumHeight())
        if height != self.minimumHeight():
            self.setFixedHeight(height)
