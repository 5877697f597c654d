"""Sessions, models and corpora as files: new, open, save, recent, dropped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from mlxdecoder.app.keeper import Keeper
from mlxdecoder.app.paths import (
    ALL_FILES,
    KINDS_OF_CORPORA,
    PARTS_OF_CHECKPOINTS,
    is_file,
    is_folder,
    may_be_corpus,
)
from mlxdecoder.app.session.document import SUFFIX, Document
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.settings import Settings
from mlxdecoder.errors import UserError

SESSIONS = f"Sessions (*{SUFFIX})"
Button = QMessageBox.StandardButton
Then = Callable[[], object]


class Files(QObject):
    """What the File menu does, for one window."""

    corpus_chosen = Signal(list)  # one path, or those of source and target

    def __init__(self, session: Session, settings: Settings, window: QWidget) -> None:
        super().__init__(window)
        self._session, self._settings, self._window = session, settings, window
        self.keeper = Keeper(session, settings, self)
        self._then: Then | None = None

    # Sessions ---------------------------------------------------------------------------------------------------

    @Slot()
    def new(self) -> None:
        """A session as at the first start."""
        self._when_saved(self._start_new)

    @Slot()
    def choose(self) -> None:
        """Let the user choose what to open."""
        dialog = self._dialog("Open a session", f"{SESSIONS};;{ALL_FILES}")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(self.open_chosen)
        dialog.open()

    @Slot(str)
    def open_chosen(self, path: str) -> None:
        self.open(Path(path))

    def open_together(self, paths: Sequence[Path]) -> None:
        """Open the one that is there, or two as the sides of a corpus; of others, say what is wanted."""
        if len(paths) == 1:
            self.open(paths[0])
        elif len(paths) == 2 and all(map(may_be_corpus, paths)):
            self.corpus_chosen.emit([str(path) for path in paths])
        else:
            wanted = "one session, one model, or a corpus of one file or of two, one for each language"
            self._session.say(f"{len(paths)} files were dropped, and none was opened: wanted is {wanted}.")

    def open(self, path: Path) -> None:
        """Open a session, a checkpoint or a corpus, whatever it is."""
        if is_folder(path):
            self._session.open_model(str(path))
        elif not is_file(path):
            self._session.say(f"{path.name}: is not there.")
        elif path.suffix.lower() in KINDS_OF_CORPORA:
            self.corpus_chosen.emit([str(path)])
        elif path.suffix.lower() in PARTS_OF_CHECKPOINTS:
            self._session.open_model(str(path.parent))
        elif (document := self._read(path)) is not None:  # before anything is asked: it may be no session
            self._when_saved(lambda: self._begin(document, path))

    @Slot()
    def save(self) -> None:
        """Save to where the session is, or ask where."""
        if self._session.path is None:
            self.save_as()
        else:
            self._save_to(self._session.path)

    @Slot()
    def save_as(self) -> None:
        """Ask where to save, and save there."""
        dialog = self._dialog("Save the session", SESSIONS)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(SUFFIX.removeprefix("."))
        dialog.selectFile(self._session.path.name if self._session.path else f"Untitled{SUFFIX}")
        dialog.fileSelected.connect(self._save_chosen)
        dialog.rejected.connect(self._forget)
        dialog.open()

    # Models -----------------------------------------------------------------------------------------------------

    @Slot()
    def choose_model(self) -> None:
        """Let the user choose a checkpoint, a training run or a Hugging Face folder."""
        title = "Open a checkpoint, a training run or a Hugging Face folder"
        dialog = self._dialog(title, "", str(self._settings.runs))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.fileSelected.connect(self._open_model)
        dialog.open()

    @Slot()
    def open_packaged_model(self) -> None:
        self._session.open_model(None)

    def may_close(self, close: Then) -> bool:
        """Whether nothing would be lost now; otherwise the user is asked, and `close` called when they want it."""
        if self.keeper.now() or not self._worth_saving:
            return True
        self._when_saved(close)
        return False

    # Inside -----------------------------------------------------------------------------------------------------

    def _start_new(self) -> None:
        self._session.start_over(Document())

    def _read(self, path: Path) -> Document | None:
        try:
            return Document.load(path)
        except UserError as error:
            self._session.say(str(error))
        except OSError as error:
            self._session.say(f"{path.name}: cannot be read: {error.strerror or error}.")
        return None

    def _begin(self, document: Document, path: Path) -> None:
        self._settings.add_recent(path)
        self._session.start_over(document, path)

    @Slot(str)
    def _save_chosen(self, path: str) -> None:
        self._save_to(Path(path))

    def _save_to(self, path: Path) -> None:
        try:
            self._session.save(path)
        except OSError as error:
            self._then = None
            self._session.say(f"{path.name}: cannot be saved: {error.strerror or error}.")
            return
        self._settings.add_recent(path)
        then, self._then = self._then, None
        if then is not None:
            then()

    def _when_saved(self, then: Then) -> None:
        if not self._worth_saving:
            then()
            return
        self._then = then
        box = QMessageBox(self._window)
        box.setIcon(QMessageBox.Icon.Question)
        box.setText(f"Save the changes to {self._session.path.name if self._session.path else 'this session'}?")
        box.setInformativeText("They are lost otherwise.")
        box.setStandardButtons(Button.Save | Button.Discard | Button.Cancel)
        box.setDefaultButton(Button.Save)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.finished.connect(self._answered)
        box.open()  # and no exec: a loop within the loop would hold up the session

    @Slot(int)
    def _answered(self, button: int) -> None:
        if button == Button.Save:
            self.save()
            return
        then, self._then = self._then, None
        if button == Button.Discard and then is not None:
            self._session.history.saved = self._session.document
            then()

    @Slot()
    def _forget(self) -> None:
        self._then = None

    @Slot(str)
    def _open_model(self, path: str) -> None:
        self._session.open_model(path)

    @property
    def _worth_saving(self) -> bool:
        """Whether there is more to lose than what was looked at."""
        history = self._session.history
        return replace(history.saved, view=history.value.view) != history.value

    def _dialog(self, title: str, kinds: str, folder: str = "") -> QFileDialog:
        near = self._session.path.parent if self._session.path else Path.home()
        dialog = QFileDialog(self._window, title, folder or str(near), kinds)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        return dialog
