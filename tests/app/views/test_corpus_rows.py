"""What is trained on, chosen in the form: by clicks and keys, with what the worker tells of it beside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import QComboBox, QFileDialog, QLabel, QPushButton, QTableView, QWidget
from pytestqt.qtbot import QtBot

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.corpus_choice import CorpusChoice
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.train_panel import TrainPanel
from tests.app.views.teaching import answer, asked, greet, nameless

Sent = list[Message]
COLUMNS = ["id", "English", "Français"]


class Form:
    """The panel for training, with a worker that the test plays."""

    def __init__(self, session: Session, bridge: Bridge, sent: Sent) -> None:
        self.session, self.sent = session, sent
        self.panel = TrainPanel(session, bridge)

    def take(self, *names: str) -> None:
        self.panel.settings.take_corpus(*(Path("/corpora") / name for name in names))

    def tell(self, kind: str = "recognised", **fields: Any) -> None:
        if kind == "recognised":
            told = {"text": "CSV, header", "sides": "columns", "offered": COLUMNS, "chosen": [1, 2], "header": True}
            fields = {**told, "pairs": [["Go.", "Va."], ["Run!", "Cours !"]], **fields}
        answer(self.session, self.sent, "inspect", kind, **fields)

    @property
    def choice(self) -> CorpusChoice:
        return self.session.document.corpus

    @property
    def inspections(self) -> int:
        return [message.kind for message in self.sent].count("inspect")

    def shown(self, kind: type[QWidget]) -> list[QWidget]:
        return [one for one in self.panel.findChildren(kind) if one.isVisible()]

    @property
    def texts(self) -> list[str]:
        return [one.text().replace("\u200b", "") for one in self.shown(QLabel) if isinstance(one, QLabel)]

    def button(self, name: str) -> QPushButton | None:
        found = [one for one in self.shown(QPushButton) if one.accessibleName() == name]
        assert all(isinstance(one, QPushButton) for one in found)
        return found[0] if found else None  # type: ignore[return-value]

    def click(self, name: str) -> None:
        button = self.button(name)
        assert button is not None
        button.click()

    def sides(self) -> list[QComboBox]:
        boxes = [one for one in self.shown(QComboBox) if isinstance(one, QComboBox)]
        return [box for box in boxes if box.accessibleName().endswith(("of the source", "of the target"))]


@pytest.fixture
def form(qtbot: QtBot, session: Session, bridge: Bridge, sent: Sent, tmp_path: Path) -> Form:
    session.runs = tmp_path / "runs"
    made = Form(session, bridge, sent)
    qtbot.addWidget(made.panel)
    made.panel.show()
    greet(session, sent)
    return made


def pick(qtbot: QtBot, box: QComboBox, text: str) -> None:
    """Choose as with keys: from the list, at the text."""
    place = box.findText(text)
    assert place >= 0
    box.setCurrentIndex(place)
    box.activated.emit(place)


def preview(form: Form) -> list[list[str]]:
    (table,) = (one for one in form.shown(QTableView) if isinstance(one, QTableView))
    model = table.model()
    sizes = model.rowCount(QModelIndex()), model.columnCount(QModelIndex())
    return [[model.index(row, column).data() for column in range(sizes[1])] for row in range(sizes[0])]


def test_with_the_toy_sentences_there_is_nothing_to_choose_or_to_read(form: Form) -> None:
    assert form.sides() == [] and form.shown(QTableView) == [] and form.inspections == 0
    assert "Pairs" not in form.texts and "Measured by" not in form.texts


def test_what_was_recognised_and_what_is_dropped_is_told_with_some_pairs(form: Form) -> None:
    form.take("pairs.csv")
    assert "Reading…" in form.texts
    form.tell()
    form.tell("counted", rows=12_000)
    assert {"CSV, header", "Reading: 12,000 rows so far…"} <= set(form.texts)
    assert preview(form) == [["Go.", "Va."], ["Run!", "Cours !"]]
    form.tell("inspected", text="30,000 rows; 29,990 pairs.\nDropped: duplicates (10).")
    assert "30,000 rows; 29,990 pairs.\nDropped: duplicates (10)." in form.texts
    assert not any(text.startswith("Reading") for text in form.texts)


def test_columns_are_chosen_by_name_and_kept_and_trained_on(form: Form, qtbot: QtBot) -> None:
    form.take("pairs.csv")
    form.tell()
    source, target = form.sides()
    assert (source.currentText(), target.currentText()) == ("English", "Français")
    assert [source.itemText(place) for place in range(source.count())] == COLUMNS
    pick(qtbot, target, "id")
    assert form.choice == CorpusChoice(("/corpora/pairs.csv",), columns=("English", "id"))
    assert asked(form.sent, "inspect")["columns"] == ["English", "id"]
    form.panel.buttons["start"].click()
    assert asked(form.sent, "train")["columns"] == ["English", "id"]


def test_a_side_that_gets_what_the_other_had_gives_its_own(form: Form, qtbot: QtBot) -> None:
    form.take("pairs.csv")
    form.tell()
    pick(qtbot, form.sides()[0], "Français")
    assert form.choice.columns == ("Français", "English")


def test_source_and_target_change_places_and_back(form: Form) -> None:
    form.take("pairs.csv")
    form.tell()
    form.click("Swap source and target")
    assert form.choice.columns == ("Français", "English")
    form.tell(chosen=[2, 1])
    form.click("Swap source and target")
    assert form.choice.columns == ("English", "Français")


def test_columns_without_a_header_are_numbers(form: Form) -> None:
    form.take("pairs.tsv")
    form.tell(offered=["1", "2", "3"], chosen=[0, 1])
    assert [box.currentText() for box in form.sides()] == ["Column 1", "Column 2"]
    assert "Columns" in form.texts
    form.click("Swap source and target")
    assert form.choice.columns == ("2", "1")


def test_the_first_row_is_taken_for_names_or_for_a_pair(form: Form) -> None:
    form.take("pairs.csv")
    assert not form.panel.settings.corpora.header.isVisible()
    form.tell()
    header = form.panel.settings.corpora.header
    assert header.isVisible() and header.isChecked()
    header.click()
    assert asked(form.sent, "inspect")["header"] is False
    form.tell(header=False, offered=["1", "2", "3"], text="CSV, no header")
    assert not header.isChecked()
    form.panel.buttons["start"].click()
    assert asked(form.sent, "train")["header"] is False
    answer(form.session, form.sent, "train", "refused", message="no")
    form.tell(header=None)
    assert not header.isVisible()


def test_languages_that_have_to_be_chosen_are_taken_once_both_are_there(form: Form, qtbot: QtBot) -> None:
    form.take("pairs.zip")
    form.tell(text="", sides="languages", offered=["en", "fr", "de"], chosen=None, pairs=[])
    form.tell("refused", message="/corpora/pairs.zip: wanted one text, or two")
    assert {"pairs.zip: wanted one text, or two", "Languages"} <= set(form.texts)
    source, target = form.sides()
    swap = form.button("Swap source and target")
    assert swap is not None and not swap.isEnabled()
    pick(qtbot, source, "de")
    assert form.choice.languages is None
    pick(qtbot, target, "en")
    assert form.choice.languages == ("de", "en")
    assert asked(form.sent, "inspect")["languages"] == ["de", "en"]


def test_the_sides_of_two_files_are_the_files(form: Form) -> None:
    form.take("train.de", "train.en")
    form.tell(text="Two files", sides="files", offered=["train.de", "train.en"], chosen=[0, 1])
    assert [box.currentText() for box in form.sides()] == ["train.de", "train.en"]
    form.click("Swap source and target")
    assert form.choice.files == ("/corpora/train.en", "/corpora/train.de")
    assert form.choice.columns is None


def test_the_number_of_pairs_is_limited_and_set_free_again(form: Form, qtbot: QtBot) -> None:
    form.take("pairs.csv")
    limit = form.panel.settings.corpora.limit
    assert limit.text() == "All"
    before = form.inspections
    limit.selectAll()
    qtbot.keyClicks(limit, "2500")
    assert form.inspections == before  # not at each digit
    qtbot.keyClick(limit, Qt.Key.Key_Return)
    assert (form.choice.limit, asked(form.sent, "inspect")["limit"]) == (2500, 2500)
    form.session.undo()
    assert (form.choice.limit, limit.text()) == (None, "All")
    form.session.redo()
    limit.setValue(0)
    assert form.choice.limit is None


def test_it_is_measured_by_files_or_by_pairs_that_are_held_out(form: Form) -> None:
    form.take("pairs.csv")
    form.panel.settings.corpora.validation.chosen.emit(["/corpora/val.csv"])
    assert (asked(form.sent, "inspect")["corpus"], form.choice.validation) == (
        ["/corpora/val.csv"],
        ("/corpora/val.csv",),
    )
    form.tell("inspected", text="1,014 rows; 1,014 pairs.")
    assert "1,014 rows; 1,014 pairs." in form.texts
    form.panel.buttons["start"].click()
    assert asked(form.sent, "train")["validation"] == ["/corpora/val.csv"]
    answer(form.session, form.sent, "train", "refused", message="no")
    form.click("Sentences to measure by: held-out pairs")
    assert form.choice.validation == ()


@pytest.mark.parametrize("files", [["/a", "/b", "/c"]])
def test_more_files_than_two_are_refused_and_change_nothing(form: Form, files: Sequence[str]) -> None:
    form.take("pairs.csv")
    form.panel.settings.corpora.files.chosen.emit(list(files))
    assert form.choice.files == ("/corpora/pairs.csv",)
    assert form.session.notice.startswith("3 files were chosen")


def test_an_error_stands_beside_the_file_and_leads_back_to_what_was(form: Form) -> None:
    form.take("pairs.csv")
    form.session.corpora.limit(9)
    form.take("picture.png")
    form.tell("refused", message="/corpora/picture.png, line 1: byte 0x89 is not UTF-8")
    assert "picture.png, line 1: byte 0x89 is not UTF-8" in form.texts
    assert form.session.notice == ""
    form.click("Sentences: back")
    assert form.choice == CorpusChoice(("/corpora/pairs.csv",), limit=9)
    assert not any("0x89" in text for text in form.texts)


def test_what_could_not_be_read_can_be_tried_again(form: Form) -> None:
    form.take("pairs.csv")
    form.tell("refused", message="pairs.csv: cannot be read: Permission denied")
    form.click("Sentences: read again")
    assert form.inspections == 2
    form.tell()
    form.tell("inspected", text="2 rows; 2 pairs.")
    assert "2 rows; 2 pairs." in form.texts and form.button("Sentences: read again") is None


def test_to_a_file_with_one_side_the_other_can_be_added(form: Form) -> None:
    form.take("train.en")
    form.tell(text="", sides="", offered=[], chosen=None, pairs=[])
    form.tell("refused", message="train.en, line 1: no tab")
    form.click("Sentences: add the other side")
    dialog = form.panel.findChildren(QFileDialog)[0]
    dialog.fileSelected.emit("/elsewhere/train.de")
    dialog.close()
    assert form.choice.files == ("/corpora/train.en", "/elsewhere/train.de")


def test_the_reading_can_be_stopped_and_a_training_begun_all_the_same(form: Form) -> None:
    form.take("huge.tsv")
    form.tell()
    form.tell("counted", rows=70_000)
    form.click("Sentences: stop")
    assert asked(form.sent, "stop")["of"] == asked(form.sent, "inspect").run
    assert "Not counted to the end: stopped after 70,000 rows." in form.texts
    form.panel.buttons["start"].click()
    assert asked(form.sent, "train")["corpus"] == ["/corpora/huge.tsv"]


def test_nothing_is_read_before_somebody_sees_it(
    qtbot: QtBot, session: Session, bridge: Bridge, sent: Sent, tmp_path: Path
) -> None:
    session.runs = tmp_path / "runs"
    made = Form(session, bridge, sent)
    qtbot.addWidget(made.panel)
    session.change("open", corpus=CorpusChoice(("/corpora/huge.tsv",)))
    greet(session, sent)
    assert made.inspections == 0
    made.panel.show()
    assert made.inspections == 1


def test_back_to_the_toy_sentences_all_that_is_about_files_goes(form: Form) -> None:
    form.take("pairs.csv")
    form.tell()
    form.click("Sentences to learn from: toy sentences")
    assert form.choice == CorpusChoice()
    assert form.sides() == [] and form.shown(QTableView) == []
    assert asked(form.sent, "stop")["of"] == asked(form.sent, "inspect").run


def test_strange_names_and_texts_are_shown_in_one_line(form: Form) -> None:
    form.take("pairs.csv")
    form.tell(offered=["a\u202eb", "x" * 300, ""], chosen=[0, 1], pairs=[["<b>bold</b>", "\u202eevil"]])
    labels = [form.sides()[0].itemText(place) for place in range(3)]
    assert all(len(label) <= 60 and label.isprintable() for label in labels)
    assert preview(form) == [["<b>bold</b>", "\u202eevil"]]


def test_everything_that_can_have_the_focus_has_a_name(form: Form) -> None:
    form.take("train.en")
    form.tell()
    form.panel.settings.corpora.validation.chosen.emit(["/corpora/val.csv"])
    form.tell("refused", message="no")
    assert nameless(form.panel) == []


def test_the_buttons_above_stay_where_they_are(form: Form) -> None:
    before = {name: button.geometry() for name, button in form.panel.buttons.items()}
    form.take("pairs.csv")
    form.tell(text="CSV " * 60)
    form.tell("refused", message="x" * 500)
    assert {name: button.geometry() for name, button in form.panel.buttons.items()} == before
