"""How the views are arranged in the window."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QSplitter, QTabWidget, QVBoxLayout, QWidget

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.notices import NoticeBar
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.break_panel import BreakPanel
from mlxdecoder.app.views.broken_banner import BrokenBanner
from mlxdecoder.app.views.generation_bar import GenerationBar
from mlxdecoder.app.views.grid import HeatmapGrid
from mlxdecoder.app.views.head import HeadView
from mlxdecoder.app.views.sentence_bar import SentenceBar
from mlxdecoder.app.views.train_panel import TrainPanel
from mlxdecoder.app.views.view_bar import ViewBar
from mlxdecoder.app.views.watch_panel import WatchPanel

PANELS = ("Watch", "Train", "Break")
WIDE, SIDE = 920, 360  # px, as a window of the usual width is shared out at first


class Composition(QWidget):
    """Sentence, banner, heatmaps beside the side panel, steps; and the bar for notices on top of all."""

    def __init__(self, session: Session, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.notices = NoticeBar()
        self.sentence_bar = SentenceBar(session, bridge)
        self.banner = BrokenBanner(session, bridge)
        self.view_bar = ViewBar(session, bridge)
        self.grid = HeatmapGrid(session, bridge.later(17))
        self.head = HeadView(session, bridge.later(34))
        self.generation_bar = GenerationBar(session, bridge)
        self.watch_panel = WatchPanel(session, bridge)
        self.train_panel = TrainPanel(session, bridge)
        self.break_panel = BreakPanel(session, bridge)
        self.panels = self._tabs()
        self.splitters = {"maps": self._maps(), "body": QSplitter(Qt.Orientation.Horizontal)}
        self._lay_out()

    @Slot(str)
    def show_panel(self, title: str) -> None:
        """Show one of the panels at the side, which is opened when it was folded away."""
        body = self.splitters["body"]
        if body.sizes()[1] == 0:
            body.setSizes([WIDE, SIDE])
        self.panels.setCurrentIndex(PANELS.index(title))
        self.panels.currentWidget().setFocus(Qt.FocusReason.ShortcutFocusReason)

    @Slot()
    def choose_corpus(self) -> None:
        """Let the user choose what to train on, where it will be shown."""
        self.show_panel("Train")
        self.train_panel.settings.corpora.files.ask()

    @Slot(list)
    def take_corpus(self, files: list[str]) -> None:
        """Show what would be trained on this corpus."""
        self.show_panel("Train")
        self.train_panel.settings.take_corpus(*files)

    def _tabs(self) -> QTabWidget:
        tabs = QTabWidget()
        tabs.setDocumentMode(True)
        tabs.setAccessibleName("Panels")
        tabs.tabBar().setAccessibleName("Panels")
        for title, panel in zip(PANELS, (self.watch_panel, self.train_panel, self.break_panel), strict=True):
            tabs.addTab(panel, title)
        return tabs

    def _maps(self) -> QSplitter:
        maps = QSplitter(Qt.Orientation.Horizontal)
        maps.setChildrenCollapsible(False)
        for view in (self.grid, self.head):
            maps.addWidget(view)
            maps.setStretchFactor(maps.count() - 1, 1)
        maps.setSizes([WIDE, WIDE])
        return maps

    def _lay_out(self) -> None:
        middle = QWidget()
        column = _column(middle, left=8)
        column.addWidget(self.view_bar)
        column.addWidget(self.splitters["maps"], 1)
        body = self.splitters["body"]
        for part, stretch in ((middle, 1), (self.panels, 0)):
            body.addWidget(part)
            body.setStretchFactor(body.count() - 1, stretch)
        body.setCollapsible(0, False)
        body.setSizes([WIDE, SIDE])
        column = _column(self)
        for view in (self.notices, self.sentence_bar, self.banner):
            column.addWidget(view)
        column.addWidget(body, 1)
        column.addWidget(self.generation_bar)


def _column(of: QWidget, left: int = 0) -> QVBoxLayout:
    column = QVBoxLayout(of)
    column.setContentsMargins(left, 0, 0, 0)
    column.setSpacing(0)
    return column
