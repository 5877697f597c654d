"""The pinned sentence over the course of a training: its translation and its heatmaps at each measurement."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QPen, QResizeEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QSizePolicy, QSlider, QVBoxLayout, QWidget

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.session.recording import Picture
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.session.training_log import Probe
from mlxdecoder.app.views.colours import scale_of
from mlxdecoder.app.views.painting import draw_cells
from mlxdecoder.app.views.parts import Text, named
from mlxdecoder.app.views.raster import pool, to_rgb32
from mlxdecoder.app.views.wording import isolated, share
from mlxdecoder.app.views.words import KINDS
from mlxdecoder.cells import mask_outline
from mlxdecoder.maps import TOLERANCE

GAP = 4  # pixels between maps
FINEST = 96  # cells on a side of the small maps; more are pooled
SCALE = scale_of("weights", "wrong", 1.0)
NOTHING = np.empty((0, 0, 0, 0), np.uint32)  # [L, H, T, S]


class ProbeView(QWidget):
    """What the model makes of one sentence, step by step; it follows the training until the slider is moved back."""

    def __init__(self, session: Session, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._title = Text("Probe sentence", strong=True)
        self._sentence, self._told, self._outside = Text(), Text(), Text()
        self._kind = named(QComboBox(), "Kind of attention of the probe")
        self._slider = named(QSlider(Qt.Orientation.Horizontal), "Step of the probe")
        self._slider.setMaximum(0)
        self.maps = ProbeMaps()
        self._legend = Text("Layers down, heads across; rows are queries, columns are keys; dark is 0, bright is 1.")
        self._lay_out()
        self._kind.activated.connect(self._show)
        self._slider.valueChanged.connect(self._show)
        bridge.changed.connect(self.session_changed)
        self.session_changed("training")

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        self._choice = QWidget()
        row = QHBoxLayout(self._choice)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(QLabel("Shown at"))
        row.addWidget(self._slider, 1)
        row.addWidget(self._kind)
        for widget in (self._title, self._sentence, self._choice, self._told, self.maps, self._outside, self._legend):
            column.addWidget(widget)

    @property
    def shown(self) -> Probe | None:
        """The measurement at which the slider stands."""
        probes = self._session.training.log.probes
        return probes[min(self._slider.value(), len(probes) - 1)] if probes else None

    @Slot(str)
    def session_changed(self, topic: str) -> None:
        if topic == "training":
            self._stretch()
        if topic in ("training", "document"):
            self._show()

    def _stretch(self) -> None:
        """Make room for new measurements; who looks at the newest goes on to the next."""
        last = max(len(self._session.training.log.probes) - 1, 0)
        follows = self._slider.value() == self._slider.maximum()
        if last != self._slider.maximum():
            self._slider.setMaximum(last)
            self._slider.setPageStep(max(last // 10, 1))
            if follows:
                self._slider.setValue(last)

    @Slot()
    def _show(self) -> None:
        probe = self.shown
        self._sentence.say(isolated(self._session.document.probe))
        self._choice.setVisible(probe is not None)
        self._legend.setVisible(probe is not None)
        if probe is None:
            self._told.say("It is translated at each measurement, and its attention kept.")
            self._outside.say("")
            self.maps.show_picture(None, "")
            return
        self._offer(probe)
        self._show_probe(probe)

    def _show_probe(self, probe: Probe) -> None:
        picture = probe.pictures.get(self._kind.currentData())
        told = isolated(probe.translation) if probe.translation.strip() else "nothing yet"
        self._told.say(f"Step {probe.step:,}: {told}")
        self._slider.setAccessibleDescription(self._told.text())
        self.maps.show_picture(picture, f"{self._kind.currentText()} attention at step {probe.step:,}")
        self._outside.say("" if picture is None else in_words(picture))

    def _offer(self, probe: Probe) -> None:
        """Let one choose among the kinds of attention that the model has; cross-attention tells most."""
        kinds = [kind for kind in ("cross", "decoder", "encoder") if kind in probe.pictures]
        if kinds != [self._kind.itemData(place) for place in range(self._kind.count())]:
            self._kind.clear()
            for kind in kinds:
                self._kind.addItem(KINDS[kind][0], kind)


class ProbeMaps(QWidget):
    """All layers (down) and heads (across) of one kind of attention, raw, with the intended mask outlined."""

    def __init__(self) -> None:
        super().__init__()
        self._picture: Picture | None = None
        self._pixels = NOTHING
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_picture(self, picture: Picture | None, name: str) -> None:
        """Show the maps of a picture, or none."""
        if picture is self._picture:
            return
        self._picture = picture
        self._pixels = NOTHING if picture is None else _pixels(picture)
        self.setAccessibleName(name)
        self.setAccessibleDescription("" if picture is None else in_words(picture))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(300, self._height(self.width()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.updateGeometry()

    def _height(self, width: int) -> int:
        return len(self._pixels) * (self._cell(width).height() + GAP)

    def _cell(self, width: int) -> QSize:
        """The size of one map, with the proportions of the picture as far as they are bearable."""
        picture = self._picture
        if picture is None:
            return QSize(0, 0)
        n_heads, n_queries, n_keys = picture.values.shape[1:]
        across = min((width - 1 - GAP * (n_heads - 1)) // n_heads, 140)
        return QSize(across, max(min(across * n_queries // n_keys, 2 * across), across // 3))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        size = self._cell(self.width())
        for layer, head in np.ndindex(self._pixels.shape[:2]):
            place = QRectF(head * (size.width() + GAP), layer * (size.height() + GAP), size.width(), size.height())
            pixels = self._pixels[layer, head]
            draw_cells(painter, place, pixels, QRectF(0, 0, pixels.shape[1], pixels.shape[0]), 1)
            self._outline(painter, place)

    def _outline(self, painter: QPainter, place: QRectF) -> None:
        assert self._picture is not None  # there are images
        intended = self._picture.intended
        height, width = intended.shape
        painter.save()
        painter.translate(place.topLeft())
        painter.scale(place.width() / width, place.height() / height)
        for colour, thick in ((QPalette.ColorRole.Window, 3), (QPalette.ColorRole.WindowText, 1)):
            pen = QPen(self.palette().color(colour), thick)
            pen.setCosmetic(True)
            painter.setPen(pen)
            for (x0, y0), (x1, y1) in mask_outline(intended) + 0.5:
                painter.drawLine(x0, y0, x1, y1)
        painter.restore()


def in_words(picture: Picture) -> str:
    """What is amiss with the weights: outside the intended mask, or rows that do not sum to 1."""
    queries = max(picture.values.shape[2], 1)
    outside = picture.outside.sum(axis=-1) / queries
    sums = picture.row_sums
    if not np.isfinite(picture.values).all():
        return "Some weights are no numbers."
    told = []
    if outside.max() > TOLERANCE:
        told.append(f"Outside the intended mask: {share(float(outside.max()))} of the weight in the worst head.")
    if np.abs(sums - 1).max() > TOLERANCE:
        told.append(f"Row sums: {sums.min():.2f} to {sums.max():.2f}.")
    return " ".join(told) or "Within the intended mask; all rows sum to 1."


def _pixels(picture: Picture) -> np.ndarray:
    """[L, H, T, S], pooled where there are more cells than pixels."""
    block = max(-(-max(picture.values.shape[-2:]) // FINEST), 1)
    return to_rgb32(pool(picture.values, block, SCALE), SCALE)
