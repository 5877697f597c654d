from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.generation_bar import GenerationBar
from mlxdecoder.app.views.sentence_bar import SentenceBar
from mlxdecoder.app.views.watch_panel import WatchPanel
from mlxdecoder.app.views.what_this_shows import WhatThisShows
from tests.app.views.written import written


@pytest.fixture
def panel(session: Session, bridge: Bridge, sent: list[Message], qtbot: QtBot) -> WatchPanel:
    written(session, sent)
    panel = WatchPanel(session, bridge)
    qtbot.addWidget(panel)
    panel.resize(340, 590)  # what 1280 x 800 leaves
    with qtbot.waitExposed(panel):
        panel.show()
    return panel


def focusable(widget: QWidget) -> list[QWidget]:
    keys = Qt.FocusPolicy.TabFocus.value
    return [each for each in widget.findChildren(QWidget) if each.focusPolicy().value & keys and not each.isWindow()]


def test_every_panel_is_reached_by_keys(panel: WatchPanel, qtbot: QtBot) -> None:
    bar = panel.tabs.tabBar()
    bar.setFocus()
    seen = []
    for _ in range(panel.tabs.count()):
        seen.append(panel.tabs.currentWidget().widget())
        qtbot.keyClick(bar, Qt.Key.Key_Right)
    assert seen == [panel.candidates, panel.sampling, panel.cache, panel.shapes]


def test_tab_reaches_everything_that_is_enabled_in_a_panel(panel: WatchPanel, qtbot: QtBot) -> None:
    panel.tabs.setCurrentIndex(1)
    wanted = {each for each in focusable(panel.sampling) if each.isEnabled() and each.isVisible() and not _inner(each)}
    panel.tabs.tabBar().setFocus()
    seen = set()
    for _ in range(30):
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        seen.add(QApplication.focusWidget())
    assert wanted <= seen


def _inner(widget: QWidget) -> bool:
    """A part of another widget for the keyboard, as the line in a number's field."""
    return widget.objectName().startswith("qt_")


def test_everything_fits_at_1280_by_800(panel: WatchPanel, qtbot: QtBot) -> None:
    for tab in range(panel.tabs.count()):
        panel.tabs.setCurrentIndex(tab)
        room = panel.tabs.currentWidget()
        assert room.verticalScrollBar().maximum() == 0, panel.tabs.tabText(tab)
        assert room.widget().width() <= room.viewport().width()


def test_everything_for_the_keyboard_has_a_name(
    panel: WatchPanel, session: Session, bridge: Bridge, qtbot: QtBot
) -> None:
    sentence, generation = SentenceBar(session, bridge), GenerationBar(session, bridge)
    qtbot.addWidget(sentence)
    qtbot.addWidget(generation)
    nameless = [
        each
        for root in (panel, sentence, generation)
        for each in focusable(root)
        if not each.accessibleName() and not _inner(each)
    ]
    assert nameless == []


def test_every_panel_tells_what_it_shows(panel: WatchPanel, qtbot: QtBot) -> None:
    told = []
    for tab in range(panel.tabs.count()):
        panel.tabs.setCurrentIndex(tab)
        help_button = panel.tabs.currentWidget().widget().findChild(WhatThisShows)
        qtbot.mouseClick(help_button, Qt.MouseButton.LeftButton)
        pages = [each for each in QApplication.topLevelWidgets() if each.inherits("QWhatsThat") and each.isVisible()]
        assert len(pages) == 1
        told.append(help_button.text_told)
        qtbot.keyClick(pages[0], Qt.Key.Key_Escape)
        assert not pages[0].isVisible()
    assert len(set(told)) == panel.tabs.count()
