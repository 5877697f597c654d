"""The help: it explains every panel, reads well in any colours, works by keyboard, and needs no network."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QColor, QGuiApplication, QPalette, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mlxdecoder.app.appearance import dark_palette
from mlxdecoder.app.composition import PANELS
from mlxdecoder.app.help_pages import LIMITS, SHORTCUTS, pages
from mlxdecoder.app.help_window import HelpWindow
from mlxdecoder.app.session.catalogue import Model
from mlxdecoder.app.session.script import script
from mlxdecoder.app.views.generation_bar import HELP
from mlxdecoder.app.window import MainWindow

REFERENCES = (
    "https://arxiv.org/abs/1902.10186",
    "https://arxiv.org/abs/1908.04626",
    "https://aclanthology.org/2020.emnlp-main.574",
    "https://arxiv.org/abs/2309.17453",
)


@pytest.fixture
def help_window(qtbot: QtBot) -> HelpWindow:
    made = HelpWindow()
    qtbot.addWidget(made)
    made.show_page()
    return made


def shown(window: MainWindow) -> HelpWindow:
    (found,) = window.findChildren(HelpWindow)
    assert found.isVisible()
    return found


def luminance(colour: QColor) -> float:
    """Relative luminance, WCAG 2.2."""
    parts = np.array([colour.redF(), colour.greenF(), colour.blueF()])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: QColor, other: QColor) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def colours_of_letters(help_window: HelpWindow) -> dict[str, QColor]:
    """What the letters of the page are drawn in: of plain text, and of each link."""
    base = help_window.text.palette().color(QPalette.ColorRole.Text)
    found, cursor = {"text": base}, QTextCursor(help_window.text.document())
    while cursor.movePosition(QTextCursor.MoveOperation.NextCharacter):
        form = cursor.charFormat()
        if form.isAnchor():
            found[form.anchorHref()] = form.foreground().color()
    return found


def test_each_panel_of_the_window_has_a_page() -> None:
    titles = [page.title for page in pages()]
    assert set(PANELS) <= set(titles)
    assert {"The sentence", "All heads", "One head", "The generation", "Files", SHORTCUTS, LIMITS} <= set(titles)
    assert all(len(page.text) > 200 for page in pages())


def test_the_menu_opens_it_beside_the_window(window: MainWindow) -> None:
    window.menus.actions["What this shows"].trigger()
    assert not shown(window).isModal()
    window.menus.actions["What attention weights do not show"].trigger()
    assert shown(window).text.toPlainText().startswith(LIMITS)


def test_the_limits_name_their_sources_as_links(window: MainWindow) -> None:
    window.menus.actions["What attention weights do not show"].trigger()
    links = set(colours_of_letters(shown(window))) - {"text"}
    assert links == set(REFERENCES)


def test_the_page_of_keys_has_every_command_that_has_some(window: MainWindow) -> None:
    window.menus.actions["Keyboard shortcuts"].trigger()
    text = shown(window).text.toPlainText()
    for name, action in window.menus.actions.items():
        if action.shortcuts():
            assert name.removesuffix("…") in text


def test_one_gets_from_page_to_page_and_out_by_keys_alone(help_window: HelpWindow, qtbot: QtBot) -> None:
    qtbot.waitUntil(help_window.list.hasFocus)
    seen = [help_window.text.toPlainText()]
    for _ in pages()[1:]:
        QTest.keyClick(help_window.list, Qt.Key.Key_Down)
        seen.append(help_window.text.toPlainText())
    assert len(set(seen)) == len(pages())
    QTest.keyClick(help_window.list, Qt.Key.Key_Home)  # a page without links, each of which Tab would go to
    QTest.keyClick(help_window.list, Qt.Key.Key_Tab)
    assert help_window.text.hasFocus()
    QTest.keyClick(help_window.text, Qt.Key.Key_Tab)
    assert help_window.list.hasFocus()
    QTest.keyClick(help_window, Qt.Key.Key_Escape)
    assert not help_window.isVisible()


@pytest.mark.parametrize("dark", [False, True])
def test_letters_and_links_stand_out_also_after_the_colours_have_changed(help_window: HelpWindow, dark: bool) -> None:
    help_window.show_page(LIMITS)
    before = QApplication.palette()
    try:
        QApplication.setPalette(dark_palette() if dark else QPalette(QColor("#f0f0f0")))
        QApplication.processEvents()
        ground = help_window.text.palette().color(QPalette.ColorRole.Base)
        assert (luminance(ground) < 0.2) == dark
        for what, colour in colours_of_letters(help_window).items():
            assert contrast(colour, ground) >= 4.5, what
    finally:
        QApplication.setPalette(before)


def test_everything_has_a_name_for_a_screen_reader(help_window: HelpWindow) -> None:
    for part in (help_window.list, help_window.text):
        assert part.focusPolicy() != Qt.FocusPolicy.NoFocus
        assert part.accessibleName()


def test_nothing_is_fetched_to_show_a_page(help_window: HelpWindow) -> None:
    for row in range(help_window.list.count()):
        help_window.list.setCurrentRow(row)
        assert "<img" not in help_window.text.toHtml()
        assert help_window.text.source() == QUrl()


def test_copy_as_python_puts_the_script_on_the_clipboard_and_says_so(window: MainWindow) -> None:
    window.session.change("change the sentence", sentence="The old dog eats.")
    window.menus.actions["Copy as Python"].trigger()
    assert QGuiApplication.clipboard().text() == script(window.session.document)
    assert "clipboard" in window.composition.notices.text


def test_the_script_of_a_model_whose_heads_share_keys_says_so(window: MainWindow) -> None:
    sizes = {"layers": 2, "encoder_layers": 2, "heads": 4, "kv_heads": 2, "width": 64, "vocab": 900, "parameters": 1}
    window.session.model = Model("small", None, "f", "translator", kinds=("encoder", "decoder", "cross"), **sizes)
    window.menus.actions["Copy as Python"].trigger()
    assert "key/value head 0 of 2, shared by heads 0–1" in QGuiApplication.clipboard().text()


def test_the_generation_is_not_said_to_stop_at_a_step_while_all_is_read_at_once(window: MainWindow) -> None:
    (page,) = [page.text for page in pages() if page.title == "The generation"]
    for text in (" ".join(page.split()), HELP):
        assert "While mistakes are on and all is read at once" in text
        assert "every token of the right translation" in text


def test_the_page_on_files_says_what_is_not_exported() -> None:
    (page,) = [page.text for page in pages() if page.title == "Files"]
    assert "The stage, the difference and the step on screen play no part" in page
