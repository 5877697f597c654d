from __future__ import annotations

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mlxdecoder.app.views.bar_table import Bar, BarTable, bar_colour, bar_within

ROWS = [("one", Bar("10%", 0.1)), ("two", Bar("90%", 0.9)), ("three", Bar("not a number", float("nan")))]


@pytest.fixture
def table(qtbot: QtBot) -> BarTable:
    table = BarTable("Numbers", ("Name", "Share"), (1,), 4)
    qtbot.addWidget(table)
    table.fill(ROWS)
    table.resize(300, 200)
    with qtbot.waitExposed(table):
        table.show()
    return table


def coloured(table: BarTable, row: int) -> int:
    """How many pixels of the line above the letters are not the ground."""
    cell = table.visualRect(table.content.index(row, 1))
    image = table.viewport().grab(cell).toImage()
    ground = table.palette().color(QPalette.ColorRole.Base)
    return sum(image.pixelColor(x, 4) != ground for x in range(image.width()))


def test_a_bar_is_as_long_as_its_share(table: BarTable) -> None:
    width = table.visualRect(table.content.index(0, 1)).width()
    assert coloured(table, 0) == pytest.approx(0.1 * width, abs=3)
    assert coloured(table, 1) == pytest.approx(0.9 * width, abs=4)


def test_what_is_no_number_has_no_bar(table: BarTable) -> None:
    assert coloured(table, 2) == 0


def test_a_tiny_share_can_be_seen_and_one_above_1_stays_in_its_cell() -> None:
    cell = QRect(10, 0, 104, 20)
    assert bar_within(cell, 1e-9).width() == 2
    assert bar_within(cell, 7.0).right() <= cell.right()


def test_rows_that_come_leave_the_choice_alone(table: BarTable) -> None:
    table.choose(1)
    table.fill([*ROWS, ("four", Bar("1%", 0.01))])
    assert [index.row() for index in table.selectionModel().selectedRows()] == [1]


def test_a_click_and_return_pick_a_row(table: BarTable, qtbot: QtBot) -> None:
    picked: list[int] = []
    table.picked.connect(picked.append)
    middle = table.visualRect(table.content.index(2, 0)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=middle)
    qtbot.keyClick(table, Qt.Key.Key_Up)
    qtbot.keyClick(table, Qt.Key.Key_Return)
    assert picked == [2, 1]


def test_all_rows_are_copied_or_those_that_are_chosen(table: BarTable, qtbot: QtBot) -> None:
    table.copy()
    assert QApplication.clipboard().text() == "Name\tShare\none\t10%\ntwo\t90%\nthree\tnot a number"
    table.choose(1)
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.clipboard().text() == "Name\tShare\ntwo\t90%"


def luminance(colour: QColor) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour.getRgbF()[:3]]
    return sum(share * each for share, each in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: QColor, other: QColor) -> float:
    """WCAG's contrast ratio."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def over(colour: QColor, ground: QColor) -> QColor:
    share = colour.alphaF()
    mixed = [share * c + (1 - share) * g for c, g in zip(colour.getRgbF()[:3], ground.getRgbF()[:3], strict=True)]
    return QColor.fromRgbF(*mixed)


@pytest.mark.parametrize(
    ("highlight", "highlighted", "ground", "text"),
    [
        ("#308cc6", "white", "white", "black"),
        ("#2f65ca", "white", "#1e1e1e", "#eeeeee"),
        ("#ffd60a", "black", "#1e1e1e", "white"),
    ],
)
def test_the_number_over_a_bar_can_be_read(highlight: str, highlighted: str, ground: str, text: str) -> None:
    palette = QPalette()
    palette.setColor(QPalette.ColorRole.Highlight, QColor(highlight))
    palette.setColor(QPalette.ColorRole.HighlightedText, QColor(highlighted))
    assert contrast(bar_colour(palette, chosen=True), QColor(highlighted)) >= 4.5
    assert contrast(over(bar_colour(palette, chosen=False), QColor(ground)), QColor(text)) >= 4.5
