"""The plots themselves. Importing pyqtgraph takes half a second: do it only once curves are shown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph
from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QColor, QPalette, QPen, QWheelEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from mlxdecoder.app.views.series import NO_POINTS, Chart, Look, Points, thinned

HEIGHT = 130
LABEL = 20
WIDTH = 1.5
MARK = 5
FEWEST = 10  # steps on the axis
MOST_DRAWN = 300  # points of a curve: about one for each pixel; pens get slow with more
MOST_MARKED = 60  # points; more marks than that are a smear, and the soft edges of long lines take ten times as long


class Plot(pyqtgraph.PlotWidget):
    """One chart; it does not move under the mouse, and leaves the wheel to what it stands in."""

    def __init__(self, chart: Chart) -> None:
        super().__init__()
        self.setMouseEnabled(False, False)
        self.setMenuEnabled(False)
        self.hideButtons()
        self.setFixedHeight(HEIGHT)
        self.setFocusPolicy(pyqtgraph.QtCore.Qt.FocusPolicy.NoFocus)
        self.getAxis("left").setWidth(46)
        for side in ("left", "bottom", "right", "top"):  # also of those that do not show
            self.getAxis(side).enableAutoSIPrefix(False)  # or each new range lays out a label, in which Qt may crash
        self.chart = chart
        if chart.shares:
            self.getAxis("left").setTicks([[(0, "0%"), (0.5, "50%"), (1, "100%")]])
        self.items = [self._item() for _ in chart.lines]
        self.cursor = pyqtgraph.InfiniteLine(angle=90)
        self.addItem(self.cursor, ignoreBounds=True)

    def _item(self) -> pyqtgraph.PlotDataItem:
        return self.plot([], [], connect="finite")

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def draw(self, curves: Sequence[Points], last: int) -> None:
        """Show the curves over the steps up to the last."""
        top = 1.0 if self.chart.shares else _top(curves)
        self.setRange(xRange=(0, 1.02 * max(last, FEWEST)), yRange=(0, top * 1.1), padding=0.0, disableAutoRange=True)
        for line, item, points in zip(self.chart.lines, self.items, curves, strict=True):
            few = len(points[0]) <= MOST_MARKED
            symbol = line.look.mark if few else ""
            shown = thinned(points, MOST_DRAWN) if np.isfinite(points[1]).any() else NO_POINTS
            item.setData(*shown, symbol=symbol or None, antialias=few)

    def dress(self, palette: QPalette, hues: Sequence[QColor]) -> None:
        """Take the colours of the window."""
        ink = palette.color(QPalette.ColorRole.WindowText)
        self.setBackground(palette.color(QPalette.ColorRole.Window))
        for side in ("left", "bottom"):
            self.getAxis(side).setPen(ink)
            self.getAxis(side).setTextPen(ink)
        self.cursor.setPen(ink)
        for line, item in zip(self.chart.lines, self.items, strict=True):
            item.setPen(pen_of(line.look, hues, self.devicePixelRatioF()))
            item.setSymbolPen(hues[line.look.hue])
            item.setSymbolBrush(palette.color(QPalette.ColorRole.Window))
            item.setSymbolSize(MARK)


class Plots(QWidget):
    """Charts under one another, over the same steps."""

    pointed = Signal(int)  # the step under the mouse

    def __init__(self, charts: Sequence[Chart], captions: Sequence[QWidget]) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        self.plots = [Plot(chart) for chart in charts]
        for caption, plot in zip(captions, self.plots, strict=True):
            column.addWidget(caption)
            column.addWidget(plot)
            plot.scene().sigMouseMoved.connect(self._moved)
        self.plots[-1].setLabel("bottom", "step")
        self.plots[-1].setFixedHeight(HEIGHT + LABEL)

    def point_at(self, step: int | None) -> None:
        """Stand the cursor at a step, or take it away."""
        for plot in self.plots:
            plot.cursor.setVisible(step is not None)
            plot.cursor.setPos(step or 0)

    @Slot(object)
    def _moved(self, place: object) -> None:
        plot = next(plot for plot in self.plots if plot.scene() is self.sender())
        self.pointed.emit(round(plot.getViewBox().mapSceneToView(place).x()))


def pen_of(look: Look, hues: Sequence[QColor], ratio: float) -> QPen:
    """The pen of a line, whose width pyqtgraph takes in pixels of the screen: `ratio` of them make one of ours."""
    pen = pyqtgraph.mkPen(hues[look.hue], width=WIDTH * ratio)
    if look.dashes:
        pen.setDashPattern(list(look.dashes))
    return pen


def _top(curves: Sequence[Points]) -> float:
    values = np.concatenate([values for _, values in curves])
    finite = values[np.isfinite(values)]
    return float(finite.max()) if finite.size and finite.max() > 0 else 1.0
