"""The caption of a chart: its title, and each line with a sample of its look and its value."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRect, QSize
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from mlxdecoder.app.views.painting import is_dark
from mlxdecoder.app.views.parts import Text
from mlxdecoder.app.views.series import Chart, Line, Look

HUES = {  # black or white, blue, orange: told apart by all eyes, and of enough contrast (Okabe and Ito's, adapted)
    "light": tuple(QColor(name) for name in ("#1a1a1a", "#0b5fa5", "#b35900")),
    "dark": tuple(QColor(name) for name in ("#f0f0f0", "#56b4e9", "#f0a030")),
}


class Caption(QWidget):
    """The title of a chart, and under it each line with a sample of its look and its value."""

    def __init__(self, chart: Chart) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self._chart = chart
        self._texts = [Text(line.name) for line in chart.lines]
        self.told: list[str] = []
        if len(chart.lines) > 1:
            column.addWidget(Text(chart.title))
        for line, text in zip(chart.lines, self._texts, strict=True):
            row = QHBoxLayout()
            row.setSpacing(6)
            row.addWidget(Sample(line.look))
            row.addWidget(text, 1)
            column.addLayout(row)

    def tell(self, values: Sequence[tuple[int, float] | None]) -> None:
        """Write the value of each line, where there is one."""
        self.told = []
        for line, text, found in zip(self._chart.lines, self._texts, values, strict=True):
            text.say(line.name if found is None else f"{line.name}: {line.write(found[1])}")
            if found is not None:
                self.told.append(self._in_full(line, found[1]))

    def _in_full(self, line: Line, value: float) -> str:
        told = f"{line.name.lower()} {line.write(value)}"
        return f"{self._chart.title.lower()}, {told}" if self._chart.compared else told


class Sample(QWidget):
    """A piece of a line, as it is drawn in the chart."""

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(34, 12)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pen = QPen(hues_on(self.palette())[self._look.hue], 1.5)
        if self._look.dashes:
            pen.setDashPattern(list(self._look.dashes))
        painter.setPen(pen)
        painter.drawLine(QPointF(1, 6), QPointF(33, 6))
        if self._look.mark:
            painter.setPen(QPen(pen.color(), 1))
            painter.setBrush(self.palette().color(QPalette.ColorRole.Window))
            place = QRect(14, 3, 6, 6)
            painter.drawEllipse(place) if self._look.mark == "o" else painter.drawRect(place)


def hues_on(palette: QPalette) -> tuple[QColor, ...]:
    """The hues of lines on the ground of this palette."""
    return HUES["dark" if is_dark(palette) else "light"]
