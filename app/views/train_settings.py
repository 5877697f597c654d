"""What is trained, on what, and where it is kept."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QSpinBox,
    QWidget,
)

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.paths import is_file, is_taken
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.session.training import INDEX
from mlxdecoder.app.views.corpus_rows import CorpusRows, add_row
from mlxdecoder.app.views.parts import Text, button, named, unwheeled
from mlxdecoder.app.views.wording import counted

MOST_STEPS = 1_000_000


class TrainSettings(QWidget):
    """The choices before a training; `changed` tells of those that decide what can be done."""

    changed = Signal()

    def __init__(self, session: Session, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._steps_of = ""  # the preset whose usual steps were taken
        self._proposed = ""  # as the folder
        self._make()
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        add_row(form, "Preset", self.preset)
        form.addRow(self.purpose)
        self.corpora = CorpusRows(session, form, self)
        add_row(form, "Kept in", self._place())
        add_row(form, "Steps", self.steps)
        add_row(form, "Probe", self.probe)
        form.addRow(self.mistaken)
        self._connect()
        bridge.changed.connect(self.session_changed)
        for topic in ("welcome", "document"):
            self.session_changed(topic)
        self.corpora.refresh()
        self.propose_folder()

    def _make(self) -> None:
        self.preset = unwheeled(named(QComboBox(minimumContentsLength=8), "Preset"))
        # Its longest title must not decide how wide the panel is.
        self.preset.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.purpose = Text()
        self.steps = unwheeled(named(QSpinBox(minimum=1, maximum=MOST_STEPS), "Steps"))
        self.steps.setGroupSeparatorShown(True)
        self.probe = named(QLineEdit(), "Probe sentence")
        self.probe.setToolTip("One sentence that is translated and looked at again and again while training goes on")
        self.mistaken = QCheckBox()

    def _place(self) -> QWidget:
        """Where the training is kept."""
        made = QWidget()
        self._folder = named(QLineEdit(), "Folder of the training")
        self._choose_folder = named(button("Choose…", "Choose where it is kept"), "Choose the folder of the training")
        row = QHBoxLayout(made)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self._folder)
        row.addWidget(self._choose_folder)
        made.setFocusProxy(self._folder)
        return made

    def _connect(self) -> None:
        self.preset.activated.connect(self._preset_chosen)
        self.probe.editingFinished.connect(self._probe_written)
        self._choose_folder.clicked.connect(self._ask_for_folder)
        self._folder.textChanged.connect(self.changed)

    @property
    def folder(self) -> Path:
        return Path(os.path.expanduser(self._folder.text()))  # that of Path raises for users who are not there

    @property
    def holds_run(self) -> bool:
        """Whether the chosen folder is that of a training which was begun before."""
        return bool(self._folder.text()) and is_file(self.folder / INDEX)

    @property
    def mistakes(self) -> list[str]:
        """The mistakes that are trained with."""
        return list(self._session.document.mistakes) if self.mistaken.isChecked() else []

    @Slot(str)
    def session_changed(self, topic: str) -> None:
        if topic == "welcome":
            self._show_presets()
        if topic == "document":
            self._show_document()
        if topic in ("welcome", "document", "corpus", "worker") and self.isVisible():
            self._show_corpora()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show_corpora()

    def _show_corpora(self) -> None:
        """Only while somebody sees it: a large file is not read before."""
        self.corpora.refresh()
        self.corpora.look()

    def _show_presets(self) -> None:
        self.preset.clear()
        for preset in self._session.presets:
            self.preset.addItem(preset.title, preset.name)
        self._steps_of = ""
        self._show_document()

    def _show_document(self) -> None:
        document = self._session.document
        self.preset.setCurrentIndex(self.preset.findData(document.preset))
        self.purpose.say(next((one.purpose for one in self._session.presets if one.name == document.preset), ""))
        self._take_steps(document.preset)
        if not self.probe.hasFocus():
            self.probe.setText(document.probe)
        self.mistaken.setVisible(bool(document.mistakes))
        self.mistaken.setText(f"Train with the {counted(len(document.mistakes), 'mistake')} switched on")
        if not document.mistakes:
            self.mistaken.setChecked(True)

    def _take_steps(self, name: str) -> None:
        """The usual steps of a preset, when it is another than before."""
        usual = [preset.steps for preset in self._session.presets if preset.name == name]
        if usual and name != self._steps_of:
            self._steps_of = name
            self.steps.setValue(usual[0])
            if self._folder.text() == self._proposed:
                self.propose_folder()

    @Slot()
    def _preset_chosen(self) -> None:
        self._session.change("choose preset", preset=self.preset.currentData())

    @Slot()
    def _probe_written(self) -> None:
        if self.probe.text().strip():
            self._session.change("change probe", probe=self.probe.text().strip())

    def take_corpus(self, *paths: Path | str) -> None:
        """Learn from this file or these two, or from the sentences that are built in."""
        self._session.corpora.choose([os.path.abspath(path) for path in paths])

    def propose_folder(self) -> None:
        """A folder that is not used yet."""
        name = self.preset.currentData() or self._session.document.preset
        self._proposed = str(free_folder(self._session.runs, name))
        self._folder.setText(self._proposed)

    @Slot()
    def _ask_for_folder(self) -> None:
        dialog = QFileDialog(self, "Choose where the training is kept", str(self.folder.parent))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._folder.setText)
        dialog.open()


def free_folder(base: Path, name: str) -> Path:
    """A folder for a new training that does not exist yet."""
    numbers = itertools.count(1)
    return next(folder for number in numbers if not is_taken(folder := base / f"{name} {number}"))
