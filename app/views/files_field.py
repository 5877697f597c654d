"""The one or two files of a corpus, to be chosen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLineEdit, QWidget

from mlxdecoder.app.paths import ALL_FILES, CORPORA
from mlxdecoder.app.views.parts import button, named

TIP = "Tab-separated, CSV, TMX, PO or JSON lines; or two plain files, line by line"
Mode = QFileDialog.FileMode


class FilesField(QWidget):
    """Shows which files are chosen, or `without` any; `chosen` tells the paths that the user has chosen."""

    chosen = Signal(list)

    def __init__(self, name: str, without: str) -> None:
        super().__init__()
        self._without, self._files = without, tuple[str, ...]()
        self.names = named(QLineEdit(without, readOnly=True), name)
        self._choose = named(button("Choose…", TIP), f"Choose {name.lower()}")
        self._back = named(button("✕", f"Back to: {without.lower()}"), f"{name}: {without.lower()}")
        self._back.setFixedWidth(self._back.fontMetrics().horizontalAdvance("✕✕✕"))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        for widget in (self.names, self._choose, self._back):
            row.addWidget(widget)
        self.setFocusProxy(self.names)
        self._choose.clicked.connect(self.ask)
        self._back.clicked.connect(self._take_none)

    def show_files(self, files: Sequence[str]) -> None:
        """Show that these are chosen."""
        self._files = tuple(files)
        self.names.setText(" → ".join(Path(file).name for file in files) or self._without)
        self.names.setCursorPosition(0)
        self.names.setToolTip("\n".join(files) or TIP)
        self._back.setVisible(bool(files))

    @Slot()
    def ask_for_other(self) -> None:
        """Let the user choose the target side of the file that is chosen."""
        self._dialog("Choose the file with the translations", Mode.ExistingFile).fileSelected.connect(self._add)

    @Slot()
    def ask(self) -> None:
        """Let the user choose one file, or two."""
        title = "Choose a file with pairs, or two files, one for each language"
        self._dialog(title, Mode.ExistingFiles).filesSelected.connect(self._selected)

    def _dialog(self, title: str, mode: Mode) -> QFileDialog:
        near = Path(self._files[0]).parent if self._files else Path.home()
        dialog = QFileDialog(self, title, str(near))
        dialog.setNameFilters([CORPORA, ALL_FILES])
        dialog.setFileMode(mode)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()
        return dialog

    @Slot(list)
    def _selected(self, files: list[str]) -> None:
        self.chosen.emit(files)

    @Slot(str)
    def _add(self, file: str) -> None:
        self.chosen.emit([*self._files[:1], file])

    @Slot()
    def _take_none(self) -> None:
        self.chosen.emit([])
