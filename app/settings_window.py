"""The settings: a window beside the others; what is set holds at once."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QWidget,
)

from mlxdecoder.app.settings import LARGEST_FONT, SMALLEST_FONT, Settings

THEMES = {"system": "As the system has it", "light": "Always light", "dark": "Always dark"}


class SettingsWindow(QDialog):
    """Shows the settings and changes them."""

    def __init__(self, settings: Settings, parent: QWidget) -> None:
        super().__init__(parent)
        self._settings = settings
        self.setWindowTitle("Settings")
        self.setModal(False)
        self._theme, self._size = self._make_theme(), self._make_size()
        self.restores = QCheckBox("Begin where I left off")
        self.restores.setAccessibleName("Begin where I left off")
        self.restores.toggled.connect(self._set_restores)
        self._runs = QLineEdit(readOnly=True)
        self._runs.setMinimumWidth(280)
        self._runs.setAccessibleName("Folder for trainings")
        form = QFormLayout(self)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        form.addRow("&Colours:", self._theme)
        form.addRow("&Text size:", self._size)
        form.addRow("At the start:", self.restores)
        form.addRow("Trainings are &kept in:", self._runs_row())
        self._show_settings()
        settings.changed.connect(self._show_settings)

    def _make_theme(self) -> QComboBox:
        box = QComboBox()
        for theme, title in THEMES.items():
            box.addItem(title, theme)
        box.setAccessibleName("Colours")
        box.activated.connect(self._set_theme)
        return box

    def _make_size(self) -> QSpinBox:
        box = QSpinBox(minimum=SMALLEST_FONT - 1, maximum=LARGEST_FONT, suffix=" points")
        box.setSpecialValueText("As the system has it")
        box.setKeyboardTracking(False)
        box.setAccessibleName("Text size")
        box.valueChanged.connect(self._set_size)
        return box

    def _runs_row(self) -> QWidget:
        row = QWidget()
        choose = QPushButton("Choose…")
        choose.setAccessibleName("Choose the folder for trainings")
        choose.setAutoDefault(False)
        choose.clicked.connect(self._choose_runs)
        layout = QHBoxLayout(row)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._runs)
        layout.addWidget(choose)
        return row

    @Slot()
    def _show_settings(self) -> None:
        self._theme.setCurrentIndex(self._theme.findData(self._settings.theme))
        self._size.setValue(self._settings.font_size or SMALLEST_FONT - 1)
        self.restores.setChecked(self._settings.restores)
        self._runs.setText(str(self._settings.runs))

    @Slot(int)
    def _set_theme(self, index: int) -> None:
        self._settings.theme = self._theme.itemData(index)

    @Slot(int)
    def _set_size(self, size: int) -> None:
        wanted = size if size >= SMALLEST_FONT else 0
        if wanted != self._settings.font_size:
            self._settings.font_size = wanted

    @Slot(bool)
    def _set_restores(self, restores: bool) -> None:
        if restores != self._settings.restores:
            self._settings.restores = restores

    @Slot()
    def _choose_runs(self) -> None:
        dialog = QFileDialog(self, "Where trainings are kept", str(self._settings.runs))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._set_runs)
        dialog.open()

    @Slot(str)
    def _set_runs(self, folder: str) -> None:
        self._settings.runs = Path(folder)
