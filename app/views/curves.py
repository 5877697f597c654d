"""The live curves of one training, or of two over each other: drawn cheaply, and told in words as well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, QTimer, Slot
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from mlxdecoder.app.session.training_log import TrainingLog
from mlxdecoder.app.views.caption import Caption, hues_on
from mlxdecoder.app.views.parts import Framed, Text
from mlxdecoder.app.views.series import NO_POINTS, Chart, Points, at

if TYPE_CHECKING:
    from mlxdecoder.app.views.plots import Plot, Plots

PAUSE = 100  # milliseconds between two drawings: more often is not seen, and takes time from the heatmaps
MOVES = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}


class Curves(Framed):
    """Charts with a caption each that names its lines and their values: the newest, or those under mouse or cursor.

    The arrow keys go from measurement to measurement, Home and End to the first and the last; Escape follows the
    training again.
    """

    def __init__(self, charts: Sequence[Chart], name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._charts = charts
        self._logs: Mapping[str, TrainingLog] = {}
        self._points: list[list[Points]] = [[NO_POINTS for _ in chart.lines] for chart in charts]
        self._step: int | None = None
        self._plots: Plots | None = None
        self._captions = [Caption(chart) for chart in charts]
        self._readout = Text()
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(4, 4, 4, 4)
        self._column.addWidget(self._readout)
        self._timer = QTimer(self, singleShot=True, interval=PAUSE)
        self._timer.timeout.connect(self._draw)

    def show_logs(self, logs: Mapping[str, TrainingLog]) -> None:
        """Show these trainings, by the names that the lines ask for; what is missing is drawn as nothing."""
        self._logs = dict(logs)
        if self.isVisible() and not self._timer.isActive():
            self._timer.start()

    @property
    def plots(self) -> list[Plot]:
        """The plots, once they were shown."""
        return [] if self._plots is None else self._plots.plots

    @property
    def last(self) -> int:
        """The last step that anything is known of."""
        return max((max(log.step, len(log.losses)) for log in self._logs.values()), default=0)

    @property
    def description(self) -> str:
        """The values at the cursor, or the newest, in words."""
        step = self.last if self._step is None else self._step
        told = [text for caption in self._captions for text in caption.told]
        return f"Step {step:,}: {'; '.join(told)}." if told else "Nothing has been measured yet."

    def showEvent(self, event: QShowEvent) -> None:
        if self._plots is None:
            self._make_plots()
        self._draw()
        super().showEvent(event)

    def _make_plots(self) -> None:
        from mlxdecoder.app.views.plots import Plots

        self._plots = Plots(self._charts, self._captions)
        self._plots.pointed.connect(self.point_at)
        self._column.insertWidget(0, self._plots)
        self._dress()

    @Slot()
    def _draw(self) -> None:
        known = self._logs
        self._points = [
            [line.points(known[line.of]) if line.of in known else NO_POINTS for line in chart.lines]
            for chart in self._charts
        ]
        for plot, points in zip(self.plots, self._points, strict=False):  # no plots yet, no drawing
            plot.draw(points, self.last)
        self._tell()

    @Slot(int)
    def point_at(self, step: int) -> None:
        """Stand at a step, as the mouse does."""
        self._step = min(max(step, 0), self.last)
        self._tell()

    @Slot()
    def follow(self) -> None:
        """Tell the newest values again."""
        self._step = None
        self._tell()

    def _tell(self) -> None:
        step = self.last if self._step is None else self._step
        for caption, points in zip(self._captions, self._points, strict=True):
            caption.tell([at(each, step) for each in points])
        self._readout.say(f"At step {step:,}; Escape follows the training." if self._step is not None else "")
        self.setAccessibleDescription(self.description)
        if self._plots is not None:
            self._plots.point_at(self._step)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        stops = self._stops()
        if key in MOVES and stops:
            self.point_at(_next(stops, self.last if self._step is None else self._step, MOVES[key]))
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End) and stops:
            self.point_at(stops[0 if key == Qt.Key.Key_Home else -1])
        elif key == Qt.Key.Key_Escape and self._step is not None:
            self.follow()
        else:
            super().keyPressEvent(event)

    def _stops(self) -> list[int]:
        """The steps of the measurements, and the last step."""
        measured = {measure.step for log in self._logs.values() for measure in log.measures}
        return sorted(measured | {self.last}) if self.last else []

    def leaveEvent(self, event: QEvent) -> None:
        self.follow()
        super().leaveEvent(event)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._dress()
        return super().event(event)

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.PaletteChange:
            self._dress()
        super().changeEvent(event)

    def _dress(self) -> None:
        for plot in self.plots:
            plot.dress(self.palette(), hues_on(self.palette()))


def _next(stops: Iterable[int], step: int, by: int) -> int:
    ahead = [stop for stop in stops if (stop - step) * by > 0]
    return step if not ahead else min(ahead) if by > 0 else max(ahead)
