"""All heads of all layers as small maps; one of them is chosen."""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Slot
from PySide6.QtGui import (
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QRegion,
    QResizeEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.announcing import announce
from mlxdecoder.app.views.grid_layout import GridLayout
from mlxdecoder.app.views.grid_painter import GridPainter
from mlxdecoder.app.views.scrolled import ScrolledPicture
from mlxdecoder.app.views.shown import shared_by, shown
from mlxdecoder.app.views.small_maps import SmallMaps

FAR = 10**6
MOVES = {  # layers down, heads to the right
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
    Qt.Key.Key_Home: (0, -FAR),
    Qt.Key.Key_End: (0, FAR),
    Qt.Key.Key_PageUp: (-FAR, 0),
    Qt.Key.Key_PageDown: (FAR, 0),
}
TOPICS = ("document", "recording", "token", "model")
EMPTY = "No attention yet."


class HeatmapGrid(ScrolledPicture):
    """The heads of the chosen kind and stage, L0 H0 and so on; a click or the arrow keys choose one.

    Badges stand beside a map, never on it: a triangle for weight outside the intended mask, a funnel for a sink.
    """

    def __init__(self, session: Session, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._maps: SmallMaps | None = None
        self._layout: GridLayout | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("All heads")
        self.viewport().setBackgroundRole(QPalette.ColorRole.Base)
        bridge.changed.connect(self.session_changed)
        self._refresh()

    @Slot(str)
    def session_changed(self, topic: str) -> None:
        if topic in TOPICS:
            self._refresh(only_rows=topic == "token")

    @property
    def chosen(self) -> tuple[int, int]:
        """The layer and head that are marked: those of the session, as far as there are so many."""
        view = self._session.document.view
        if self._layout is None:
            return view.layer, view.head
        return min(view.layer, self._layout.layers - 1), min(view.head, self._layout.heads - 1)

    @property
    def grid_layout(self) -> GridLayout | None:
        """Where the maps stand; None while there are none."""
        return self._layout

    def describe(self, layer: int, head: int) -> str:
        """One head in words, with what was found in it."""
        if self._maps is None:
            return EMPTY
        name = f"mean of the heads of layer {layer}" if self._averaged else f"layer {layer}, head {head}"
        return "; ".join([name, *self._maps.findings(layer, head), *shared_by(self._session, head)])

    def minimumSizeHint(self) -> QSize:
        return QSize(160, 120)

    def sizeHint(self) -> QSize:
        return QSize(420, 320)

    @property
    def _averaged(self) -> bool:
        return self._session.document.view.average

    # What is shown ----------------------------------------------------------------------------------------------

    def _refresh(self, only_rows: bool = False) -> None:
        maps, layout = self._maps, self._layout
        before = None if maps is None else maps.shown
        self._take()
        same_place = self._layout is not None and self._layout.extends(layout)
        if only_rows and same_place and before is not None and maps is self._maps:
            self.viewport().update(self._added_since(before.rows, before.picture.values.shape[3]))
        else:
            self.viewport().update()
        self.setAccessibleDescription(self.describe(*self.chosen))

    def _take(self) -> None:
        now = shown(self._session)
        if now is None:
            self._maps, self._layout = None, None
            return
        self._layout = self._fitting(now.picture.values.shape)
        self._set_scroll_bars(self._layout)
        if self._maps is not None and self._maps.continued_by(now, self._layout.block):
            self._maps.take(now)
        else:
            self._maps = SmallMaps(now, self._layout.block)

    def _fitting(self, shape: tuple[int, ...]) -> GridLayout:
        metrics = QFontMetricsF(self.font())
        gutters = ceil(metrics.horizontalAdvance("L00") + 10), ceil(metrics.height() + 4)
        # With the room that scroll bars would take: maps that shrank for them would not need them.
        size = self.maximumViewportSize()
        room = float(size.width()), float(size.height())
        return GridLayout.fitting(shape, room, gutters, self.devicePixelRatioF())

    def _set_scroll_bars(self, layout: GridLayout) -> None:
        port, (width, height) = self.viewport().size(), layout.size
        for bar, size, page, step in (
            (self.horizontalScrollBar(), width, port.width(), layout.across),
            (self.verticalScrollBar(), height, port.height(), layout.down),
        ):
            bar.setRange(0, max(0, int(size) - page))
            bar.setPageStep(page)
            bar.setSingleStep(int(step / 2))

    def _added_since(self, rows: int, columns: int) -> QRegion:
        region, layout = QRegion(), self._layout
        assert layout is not None
        for layer in range(layout.layers):
            for head in range(layout.heads):
                for part in (*layout.added(layer, head, rows, columns), layout.badges(layer, head)):
                    region += part.translated(self._origin()).toAlignedRect()
        return region

    def _origin(self) -> QPointF:
        return QPointF(-self.horizontalScrollBar().value(), -self.verticalScrollBar().value())

    # Choosing ---------------------------------------------------------------------------------------------------

    def _choose(self, layer: int, head: int) -> None:
        if self._layout is None:
            return
        layer, head = (min(max(at, 0), n - 1) for at, n in ((layer, self._layout.layers), (head, self._layout.heads)))
        # In the average there is one map a layer: the head that was chosen before is kept for afterwards.
        chosen = {"layer": layer} if self._averaged else {"layer": layer, "head": head}
        self._session.look(**chosen)
        self._scroll_to(self._layout.box(layer, head))
        announce(self, self.describe(layer, head))

    def _scroll_to(self, box: QRectF) -> None:
        assert self._layout is not None
        for bar, start, end, page, gutter in (
            (self.horizontalScrollBar(), box.left(), box.right(), self.viewport().width(), self._layout.left),
            (self.verticalScrollBar(), box.top(), box.bottom(), self.viewport().height(), self._layout.top),
        ):
            bar.setValue(int(min(max(bar.value(), end - page), start - gutter)))

    def _at(self, position: QPointF) -> tuple[int, int] | None:
        place = position - self._origin()
        return None if self._layout is None else self._layout.at(place.x(), place.y())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        move = MOVES.get(Qt.Key(event.key()))
        if move is None or event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            super().keyPressEvent(event)
            return
        layer, head = self.chosen
        self._choose(layer + move[0], head + move[1])

    def mousePressEvent(self, event: QMouseEvent) -> None:
        found = self._at(event.position())
        if found is not None and event.button() == Qt.MouseButton.LeftButton:
            self._choose(*found)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        event.accept()  # the press was ours

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            found = self._at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), "" if found is None else self.describe(*found), self)
            return True
        return super().viewportEvent(event)

    # Drawing ----------------------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._refresh()

    def restyle(self) -> None:
        self._refresh()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self.viewport().update()  # the gutters stay where they are

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self.viewport()) as painter:
            painter.setPen(self.palette().color(QPalette.ColorRole.Text))
            if self._layout is None:
                painter.drawText(self.viewport().rect(), Qt.AlignmentFlag.AlignCenter, EMPTY)
            else:
                self._draw(painter, self._layout, event.region())

    def _draw(self, painter: QPainter, layout: GridLayout, region: QRegion) -> None:
        assert self._maps is not None
        drawing = GridPainter(painter, self._maps, layout, self.palette(), self.font())
        drawing.names(self._origin(), self.chosen, self._averaged)
        drawing.maps(self._origin(), region, self.viewport().size())
        drawing.frame(*self.chosen, self.hasFocus())
