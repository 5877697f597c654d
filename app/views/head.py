"""One head of attention, large: as a map or as a table, of one side or of all that there is room for."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QStackedWidget, QToolButton, QVBoxLayout, QWidget

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views import words
from mlxdecoder.app.views.announcing import announce
from mlxdecoder.app.views.head_column import HeadColumn, line
from mlxdecoder.app.views.map_panel import MapPanel
from mlxdecoder.app.views.shown import Head, head_of, shared_by, shown, side_shown
from mlxdecoder.app.views.table import HeadTable
from mlxdecoder.heads import ABOUT_SINKS
from mlxdecoder.maps import KINDS
from mlxdecoder.words import MERGED

TOPICS = ("document", "recording", "token", "model")
ENOUGH = 340  # pixels for a map beside another
LARGEST_ZOOM = 32.0
EMPTY = "No attention yet."
POINT = "Rows are queries, columns are keys. Point at a cell, or move with the arrow keys."

ABOUT = (
    "A row is a token that was just read; what it looks at serves to choose the next one. The line is the border of "
    "the intended mask; the values under it are raw."
)


class HeadView(QWidget):
    """The chosen head: tokens on both axes, raw values, the intended mask as an outline, sums beside the rows.

    With mistakes on, the correct and the mistaken map stand side by side where there is room, the difference beside
    them when it is chosen; all on one scale, under one cursor.
    """

    def __init__(self, session: Session, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._cursor: tuple[int, int] | None = None
        self._zoom = 1.0
        self._columns = {side: HeadColumn(side) for side in ("right", "wrong", "change")}
        self._title, self._findings, self._reading = line("title"), line("findings"), line("reading")
        self._remarks = line("remarks")
        self._table, self._pages = HeadTable(), QStackedWidget()
        self._put_together()
        bridge.changed.connect(self.session_changed)
        self._refresh()

    @Slot(str)
    def session_changed(self, topic: str) -> None:
        if topic in TOPICS:
            self._refresh()

    @property
    def panels(self) -> dict[str, MapPanel]:
        """The maps that are shown, by side."""
        return {side: column.panel for side, column in self._columns.items() if not column.isHidden()}

    @property
    def reading(self) -> str:
        """What is told of the cell that is pointed at."""
        return self._reading.text()

    @property
    def title(self) -> str:
        """Which head is shown."""
        return self._title.text()

    @property
    def findings(self) -> str:
        """What is wrong in it."""
        return self._findings.text()

    @property
    def remarks(self) -> str:
        """What is worth knowing of it."""
        return self._remarks.text()

    # How it is put together -------------------------------------------------------------------------------------

    def _put_together(self) -> None:
        top, maps, page = QHBoxLayout(), QWidget(), QVBoxLayout(self)
        top.addWidget(self._title, 1)
        for text, name, hint in (
            ("−", "Zoom out", "Smaller cells (−)"),
            ("Fit", "Zoom to fit", "The whole map (0)"),
            ("+", "Zoom in", "Larger cells (+)"),
        ):
            top.addWidget(self._button(text, name, hint))
        self._as_table = self._button("Table", "Show as a table", "The same values as a table")
        self._as_table.setCheckable(True)
        top.addWidget(self._as_table)
        beside = QHBoxLayout(maps)
        beside.setContentsMargins(0, 0, 0, 0)
        for column in self._columns.values():
            beside.addWidget(column, 1)
            column.panel.pointed.connect(self.point)
            column.panel.left.connect(self._forget)
            column.panel.zoomed.connect(self._zoom_by)
            column.panel.scrolled.connect(self._scroll_together)
        for widget in (maps, self._table, QLabel(EMPTY, alignment=Qt.AlignmentFlag.AlignCenter)):
            self._pages.addWidget(widget)
        page.setContentsMargins(0, 0, 0, 0)
        page.addLayout(top)
        page.addWidget(self._findings)
        page.addWidget(self._remarks)
        page.addWidget(self._pages, 1)
        page.addWidget(self._reading)

    def _button(self, text: str, name: str, hint: str) -> QToolButton:
        button = QToolButton()
        button.setText(text)
        button.setAccessibleName(name)
        button.setToolTip(hint)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.clicked.connect(self._pressed)
        return button

    @Slot()
    def _pressed(self) -> None:
        button = self.sender()
        assert isinstance(button, QToolButton)
        if button is self._as_table:
            self._refresh()
        else:
            self._zoom_by({"−": 0.8, "Fit": 0.0, "+": 1.25}[button.text()])

    # What is shown ----------------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        heads = {side: self._head(side) for side in self._sides()}
        for side, column in self._columns.items():
            column.show_head(heads.get(side), alone=len(heads) == 1)
        chosen = heads.get(side_shown(self._session)) or next(iter(heads.values()), None)
        self._title.setText("" if chosen is None else chosen.title)
        self._title.setToolTip(f"{ABOUT} {MERGED}" if self._session.generation.merges_words else ABOUT)
        self._tell_lines([head for head in heads.values() if head is not None])
        self._pages.setCurrentIndex(2 if chosen is None else int(self._as_table.isChecked()))
        if self._as_table.isChecked():
            self._table.show_head(chosen)
        self._tell()

    def _sides(self) -> list[str]:
        side = side_shown(self._session)
        wanted = ["right", "wrong"] + (["change"] if side == "change" else [])
        room = self.width() >= ENOUGH * len(wanted) and not self._as_table.isChecked()
        return wanted if room and "right" in self._session.generation.recordings else [side]

    def _head(self, side: str) -> Head | None:
        now, view = shown(self._session, side), self._session.document.view
        if now is None:
            return None
        heads = self._session.model.heads if self._session.model else now.picture.values.shape[1]
        which = f"mean of its {heads} heads" if view.average else f"head {view.head}"
        unit, generation = words.STAGES[view.stage][0].lower(), self._session.generation
        title = f"{KINDS[view.kind].capitalize()} · layer {view.layer}, {which} · {unit}"
        if generation.merges_words:
            title += " · merged into words: rows averaged, columns summed"
        if generation.compared is not None and generation.reads_at_once:
            title += f" · {generation.compared.how}"
        if self._as_table.isChecked() and "right" in generation.recordings:
            title += f" · {words.SIDES[side][0].lower()}"
        return head_of(now, view.layer, view.head, title)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if list(self.panels) != self._sides():
            self._refresh()

    # Pointing ---------------------------------------------------------------------------------------------------

    @Slot(int, int)
    def point(self, row: int, column: int) -> None:
        """Mark one cell in every map, and tell of it."""
        self._cursor = row, column
        for panel in self.panels.values():
            panel.point(self._cursor)
        self._tell()

    @Slot()
    def _forget(self) -> None:
        self._cursor = None
        for panel in self.panels.values():
            panel.point(None)
        self._tell()

    def _tell(self) -> None:
        heads = [panel.head for panel in self.panels.values() if panel.head is not None]
        pointed = [] if self._cursor is None else [head for head in heads if head.has(*self._cursor)]
        told = [head.tell(*self._cursor) for head in pointed if self._cursor is not None]
        if len(heads) > 1:
            told = [f"{words.SIDES[head.side][0]}: {text}" for head, text in zip(pointed, told, strict=True)]
        self._reading.setText("\n".join(told) or (POINT if heads else ""))
        for panel in self.panels.values():
            if told and panel.hasFocus():
                announce(panel, " ".join(told))

    def _tell_lines(self, heads: list[Head]) -> None:
        """What is wrong, and what is worth knowing."""
        sinks = _of_sides(heads, Head.sinks)
        shared = shared_by(self._session, self._session.document.view.head) if heads else []
        for label, told in ((self._findings, _of_sides(heads, Head.findings)), (self._remarks, [*sinks, *shared])):
            label.setText("\n".join(one[:1].upper() + one[1:] for one in told))
            label.setVisible(bool(told))
        self._remarks.setToolTip(ABOUT_SINKS if sinks else "")

    # Moving -----------------------------------------------------------------------------------------------------

    @Slot(float)
    def _zoom_by(self, factor: float) -> None:
        self._zoom = min(max(self._zoom * factor, 1.0), LARGEST_ZOOM)
        for column in self._columns.values():
            column.panel.set_zoom(self._zoom)

    @Slot(int, int)
    def _scroll_together(self, across: int, down: int) -> None:
        for panel in self.panels.values():
            panel.horizontalScrollBar().setValue(across)
            panel.verticalScrollBar().setValue(down)


def _of_sides(heads: list[Head], told: Callable[[Head], list[str]]) -> list[str]:
    """What is told of each head, with the name of its side where there are several."""
    said = [(words.SIDES[head.side][0], one) for head in heads for one in told(head)]
    return [f"{side}: {one}" if len(heads) > 1 else one for side, one in said]
