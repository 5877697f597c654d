"""The rows of a form that choose what is trained on and measured by, and show what is known of it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, QSignalBlocker, Slot
from PySide6.QtWidgets import QCheckBox, QFormLayout, QLabel, QSpinBox, QWidget

from mlxdecoder.app.session.corpus_log import CorpusLog
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.corpus_view import CorpusView
from mlxdecoder.app.views.files_field import FilesField
from mlxdecoder.app.views.parts import named, unwheeled
from mlxdecoder.app.views.sides_field import SidesField

BUILT_IN = "Toy sentences"
HELD_OUT = "Held-out pairs"
MOST_PAIRS, STEP = 2**31 - 1, 1000


class CorpusRows(QObject):
    """All that the form has about corpora; what is about files is there only when there are some."""

    def __init__(self, session: Session, form: QFormLayout, parent: QWidget) -> None:
        super().__init__(parent)
        self._session, self._form = session, form
        self.files = FilesField("Sentences to learn from", BUILT_IN)
        self.view = CorpusView(session, "corpus", "Sentences", rows=5)
        self.sides = SidesField()
        self.header = QCheckBox("The first row names the columns")
        self.limit = named(QSpinBox(minimum=0, maximum=MOST_PAIRS, singleStep=STEP), "Most pairs to learn from")
        self.limit.setSpecialValueText("All")
        self.limit.setGroupSeparatorShown(True)
        self.limit.setKeyboardTracking(False)  # or each digit would have the file read anew
        unwheeled(self.limit)
        self.validation = FilesField("Sentences to measure by", HELD_OUT)
        self.validation_view = CorpusView(session, "validation", "Sentences to measure by", rows=2)
        self._add_rows()
        self._connect()

    def _add_rows(self) -> None:
        add_row(self._form, "Sentences", self.files)
        self._form.addRow(self.view)
        self._direction = add_row(self._form, "Columns", self.sides)
        self._form.addRow("", self.header)
        add_row(self._form, "Pairs", self.limit)
        add_row(self._form, "Measured by", self.validation)
        self._form.addRow(self.validation_view)

    def _connect(self) -> None:
        self.files.chosen.connect(self._choose)
        self.view.other_wanted.connect(self.files.ask_for_other)
        self.sides.chosen.connect(self._choose_sides)
        self.header.clicked.connect(self._name_columns)
        self.limit.valueChanged.connect(self._limit)
        self.validation.chosen.connect(self._measure_by)
        self.validation_view.other_wanted.connect(self.validation.ask_for_other)

    def refresh(self) -> None:
        """Show what is chosen, and what is known of it."""
        choice, logs = self._session.document.corpus, self._session.corpora.logs
        self.files.show_files(choice.files)
        self.validation.show_files(choice.validation)
        self.sides.show_log(logs["corpus"])
        self._direction.setText(logs["corpus"].sides.capitalize())
        self.header.setChecked(bool(logs["corpus"].header))
        with QSignalBlocker(self.limit):
            self.limit.setValue(choice.limit or 0)
        self.view.show_log(logs["corpus"])
        self.validation_view.show_log(logs["validation"])
        self._show_rows(bool(choice.files), bool(choice.validation), logs["corpus"])

    def look(self) -> None:
        """Have what is chosen read, where it is not known."""
        for which in self._session.corpora.logs:
            self._session.corpora.look(which)

    def _show_rows(self, files: bool, validation: bool, log: CorpusLog) -> None:
        for widget, shown in (
            (self.view, files),
            (self.sides, files and bool(log.offered)),
            (self.header, files and log.header is not None),
            (self.limit, files),
            (self.validation, files),
            (self.validation_view, files and validation),
        ):
            self._form.setRowVisible(widget, shown)

    @Slot(list)
    def _choose(self, files: list[str]) -> None:
        if self._are_few(files):
            self._session.corpora.choose(files)

    @Slot(int, int)
    def _choose_sides(self, source: int, target: int) -> None:
        self._session.corpora.choose_sides(source, target)

    @Slot(list)
    def _measure_by(self, files: list[str]) -> None:
        if self._are_few(files):
            self._session.corpora.measure_by(files)

    def _are_few(self, files: Sequence[str]) -> bool:
        if len(files) > 2:
            self._session.say(f"{len(files)} files were chosen; one is wanted, or two, one for each language.")
        return len(files) <= 2

    @Slot(bool)
    def _name_columns(self, header: bool) -> None:
        self._session.corpora.name_columns(header)

    @Slot(int)
    def _limit(self, pairs: int) -> None:
        self._session.corpora.limit(pairs or None)


def add_row(form: QFormLayout, name: str, field: QWidget) -> QLabel:
    """A row with a label that leads to its field."""
    label = QLabel(name)
    label.setBuddy(field)
    form.addRow(label, field)
    return label
