"""Files that are dropped on the window, or chosen as a corpus in the menu: one of any kind, or the two of a corpus."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit, QWidget

from mlxdecoder.app.session.document import Document
from mlxdecoder.app.window import MainWindow


def drop(on: QWidget, *paths: Path) -> None:
    """Drop files on a widget, which may leave them to those that it lies in, as Qt does."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    left, none, copy = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, Qt.DropAction.CopyAction
    enter = QDragEnterEvent(QPoint(5, 5), copy, data, left, none)
    enter.ignore()
    widget: QWidget | None = on
    while widget is not None and not enter.isAccepted():
        target = widget
        if target.acceptDrops():
            QApplication.sendEvent(target, enter)
        widget = target.parentWidget()
    assert enter.isAccepted()
    QApplication.sendEvent(target, QDropEvent(QPointF(5, 5), copy, data, left, none, QEvent.Type.Drop))


def test_a_session_that_is_dropped_is_opened(window: MainWindow, tmp_path: Path) -> None:
    Document(sentence="The old dog eats.").save(tmp_path / "one.mlxdecoder")
    drop(window, tmp_path / "one.mlxdecoder")
    assert window.session.document.sentence == "The old dog eats."


def test_a_file_is_not_typed_into_the_field_it_is_dropped_on(window: MainWindow) -> None:
    fields = window.composition.findChildren(QLineEdit)
    assert fields
    assert not any(field.acceptDrops() for field in fields)


def test_a_corpus_that_is_dropped_is_shown_where_training_is(window: MainWindow, tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    drop(window, tmp_path / "pairs.tsv")
    assert window.composition.panels.currentWidget() is window.composition.train_panel
    assert window.session.document.corpus.files == (str(tmp_path / "pairs.tsv"),)


@pytest.mark.parametrize("place", ["window", "heatmaps", "train panel"])
def test_two_files_that_are_dropped_anywhere_are_the_sides_of_a_corpus(
    window: MainWindow, tmp_path: Path, place: str
) -> None:
    composition = window.composition
    sides = [tmp_path / name for name in ("pairs.en", "pairs.de")]
    for side in sides:
        side.write_text("a\n")
    if place == "train panel":
        composition.show_panel("Train")
    drop({"window": window, "heatmaps": composition.grid, "train panel": composition.train_panel}[place], *sides)
    assert composition.panels.currentWidget() is composition.train_panel
    assert window.session.document.corpus.files == tuple(map(str, sides))
    assert composition.train_panel.settings.corpora.files.names.text() == "pairs.en → pairs.de"


@pytest.mark.parametrize("on_panel", [False, True])
@pytest.mark.parametrize(
    "names",
    [
        ("pairs.tsv", "model"),
        ("pairs.tsv", "weights.safetensors"),
        ("one.mlxdecoder", "two.mlxdecoder"),
        ("pairs.tsv", "gone.tsv"),
        ("a.en", "a.de", "a.fr"),
    ],
)
def test_files_that_are_no_corpus_together_are_left_and_it_is_said_what_is_wanted(
    window: MainWindow, tmp_path: Path, names: tuple[str, ...], on_panel: bool
) -> None:
    (tmp_path / "model").mkdir()
    for name in names:
        if name not in ("model", "gone.tsv"):
            (tmp_path / name).write_text("a\tb\n")
    before = window.session.document
    drop(window.composition.train_panel if on_panel else window, *(tmp_path / name for name in names))
    assert window.session.document == before
    said = window.composition.notices.text
    assert f"{len(names)} files were dropped" in said and "one session, one model, or a corpus" in said


@pytest.mark.parametrize("names", [["pairs.tsv"], ["train.en", "train.de"]])
def test_the_menu_takes_a_corpus_of_one_file_or_of_two(window: MainWindow, tmp_path: Path, names: list[str]) -> None:
    files = [str(tmp_path / name) for name in names]
    window.menus.actions["Choose a corpus…"].trigger()
    dialog = QApplication.activeModalWidget()
    assert isinstance(dialog, QFileDialog) and dialog.fileMode() == QFileDialog.FileMode.ExistingFiles
    dialog.filesSelected.emit(files)
    dialog.close()
    assert window.composition.panels.currentWidget() is window.composition.train_panel
    assert window.session.document.corpus.files == tuple(files)


def test_more_files_than_two_are_no_corpus_for_the_menu(window: MainWindow) -> None:
    window.menus.actions["Choose a corpus…"].trigger()
    dialog = QApplication.activeModalWidget()
    assert isinstance(dialog, QFileDialog)
    dialog.filesSelected.emit(["/a.en", "/a.de", "/a.fr"])
    dialog.close()
    assert window.session.document.corpus.files == ()
    assert "3 files were chosen; one is wanted, or two" in window.composition.notices.text
