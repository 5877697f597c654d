"""The side panel of watching: what could come next, how it is chosen, what the cache does, the shapes."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QTabWidget, QVBoxLayout, QWidget

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.cache_panel import CachePanel
from mlxdecoder.app.views.candidates import CandidatesPanel
from mlxdecoder.app.views.parts import Scrolled
from mlxdecoder.app.views.sampling import SamplingPanel
from mlxdecoder.app.views.shapes_panel import ShapesPanel


class WatchPanel(QWidget):
    """One panel on top at a time, each a tab; what does not fit scrolls."""

    def __init__(self, session: Session, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.tabs = QTabWidget(self)
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setAccessibleName("What is shown beside the heatmaps")
        self.tabs.setAccessibleName("Beside the heatmaps")
        self.candidates = CandidatesPanel(session, bridge)
        self.sampling = SamplingPanel(session, bridge)
        self.cache = CachePanel(session, bridge)
        self.shapes = ShapesPanel(session, bridge)
        self._add(self.candidates, "&Next token")
        self._add(self.sampling, "Samp&ling")
        self._add(self.cache, "&Cache")
        self._add(self.shapes, "S&hapes")
        self.setFocusProxy(self.tabs.tabBar())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.tabs)

    def sizeHint(self) -> QSize:
        return QSize(340, 600)

    def _add(self, panel: QWidget, title: str) -> None:
        self.tabs.addTab(Scrolled(panel, title.replace("&", "")), title)
