"""File > Export: where to, in which format; what comes of it is told in a notice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QUrl, Slot
from PySide6.QtGui import QAction, QDesktopServices
from PySide6.QtWidgets import QFileDialog

from mlxdecoder.app.notices import Offer
from mlxdecoder.maps import KINDS

if TYPE_CHECKING:
    from mlxdecoder.app.window import MainWindow

FORMATS = {  # what the menu says, by the format that the worker is asked for; the ending of the file is its name
    "png": "&PNG picture",
    "svg": "&SVG drawing",
    "pdf": "P&DF drawing",
    "html": "&HTML page to point at",
    "json": "&JSON numbers",
    "csv": "&CSV table",
    "npz": "&NumPy archive",
}


class Exports(QObject):
    """What the Export menu does, for one window."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, self._session = window, window.session
        self._form = ""
        self._folder: Path | None = None  # where the last file went
        self._exported = Path()
        window.bridge.changed.connect(self.session_changed)

    @property
    def able(self) -> bool:
        """Whether there is something to export, and somebody to do it."""
        return self._session.alive and self._session.model is not None

    @Slot(str)
    def session_changed(self, topic: str) -> None:
        if topic == "exported":
            self._exported = Path(self._session.told["exported"]["path"])
            self._tell(f"{self._exported.name} is saved.", ("Show the folder", self._show_folder))

    @Slot()
    def choose(self) -> None:
        """Ask where the file is to go; the menu's entry holds the format."""
        entry = self.sender()
        assert isinstance(entry, QAction)
        self._form = entry.data()
        kind = KINDS[self._session.document.view.kind]
        dialog = QFileDialog(self._window, self._title(kind), str(self._near()))
        dialog.setNameFilter(f"{FORMATS[self._form].replace('&', '')} (*.{self._form})")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(self._form)
        dialog.selectFile(f"{kind}.{self._form}")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.export)
        dialog.open()

    @Slot(str)
    def export(self, path: str) -> None:
        """Have the file written, in the format that was chosen last."""
        if not self.able:
            self._session.say("Nothing can be exported now: the worker is not there, or has no model yet.")
            return
        self._folder = Path(path).parent
        document = self._session.document
        self._session.requests.ask(
            "export",
            format=self._form,
            path=path,
            sentence=document.sentence,
            forced={str(step): token for step, token in document.forced.items()},
            sampling=vars(document.sampling).copy(),
            mistakes=self._mistakes,
            kind=document.view.kind,
            at_once=self._session.generation.reads_at_once,
            words=document.view.words,
        )
        self._tell(f"Writing {Path(path).name}…", ("Stop", self._stop))

    @Slot()
    def _stop(self) -> None:
        self._session.requests.cancel("export")
        self._tell("Stopped; nothing was written.")

    @Slot()
    def _show_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._exported.parent)))

    def _title(self, kind: str) -> str:
        mistaken = " and the mistakes that are on" if self._mistakes else ""
        tokens = "words" if self._session.document.view.words else "tokens"
        return f"Export the weights of all heads, {kind}, with all {tokens}{mistaken}; not the stage or step on screen"

    @property
    def _mistakes(self) -> list[str]:
        document = self._session.document
        return [] if document.view.side == "right" else list(document.mistakes)

    def _near(self) -> Path:
        beside = self._session.path.parent if self._session.path else Path.home()
        return self._folder or beside

    def _tell(self, text: str, *offers: Offer) -> None:
        self._window.composition.notices.tell(text, *offers)
