"""What the menus do that is not done elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QApplication, QMessageBox, QWidget

from mlxdecoder import __version__
from mlxdecoder.app.help_pages import LIMITS, SHORTCUTS
from mlxdecoder.app.help_window import HelpWindow
from mlxdecoder.app.session.script import script
from mlxdecoder.app.settings import LARGEST_FONT, SMALLEST_FONT
from mlxdecoder.app.views.switching import back_to_correct

if TYPE_CHECKING:
    from mlxdecoder.app.window import MainWindow

ABOUT = (
    f"<b>mlxdecoder {__version__}</b><p>Train a small translator, watch the attention of every head while it writes, "
    "and break it on purpose.</p><p>MIT licence. Made with Qt, which is used under the LGPL.</p>"
)


class Commands(QObject):
    """Commands for one window."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, self._session = window, window.session
        self._help: HelpWindow | None = None  # made when it is wanted first

    # Edit -------------------------------------------------------------------------------------------------------

    @Slot()
    def undo(self) -> None:
        self._session.undo()

    @Slot()
    def redo(self) -> None:
        self._session.redo()

    @Slot()
    def cut(self) -> None:
        self._edit("cut")

    @Slot()
    def copy(self) -> None:
        self._edit("copy")

    @Slot()
    def copy_as_python(self) -> None:
        model = self._session.model
        document = self._session.document.looking(at_once=self._session.generation.reads_at_once)
        text = script(document, model.architecture, model.grouping) if model else script(document)
        QGuiApplication.clipboard().setText(text)
        self._session.say("A script that makes this picture again is on the clipboard.")

    @Slot()
    def paste(self) -> None:
        self._edit("paste")

    @Slot()
    def select_all(self) -> None:
        self._edit("selectAll")

    @Slot()
    def show_settings(self) -> None:
        bring_up(self._window.settings_window)

    # View -------------------------------------------------------------------------------------------------------

    @Slot(QAction)
    def choose_kind(self, action: QAction) -> None:
        self._session.look(kind=action.data())

    @Slot(QAction)
    def choose_stage(self, action: QAction) -> None:
        self._session.look(stage=action.data())

    @Slot(bool)
    def average(self, average: bool) -> None:
        self._session.look(average=average)

    @Slot(bool)
    def merge_words(self, merge: bool) -> None:
        self._session.look(words=merge)

    @Slot()
    def enlarge(self) -> None:
        self._resize_text(1)

    @Slot()
    def shrink(self) -> None:
        self._resize_text(-1)

    @Slot()
    def full_screen(self) -> None:
        self._window.setWindowState(self._window.windowState() ^ Qt.WindowState.WindowFullScreen)

    # Break, window, help ----------------------------------------------------------------------------------------

    @Slot()
    def mend(self) -> None:
        back_to_correct(self._session)

    @Slot()
    def diagnose(self) -> None:
        self._window.composition.show_panel("Break")
        self._session.requests.ask("diagnose", mistakes=list(self._session.document.mistakes))

    @Slot()
    def zoom(self) -> None:
        self._window.setWindowState(self._window.windowState() ^ Qt.WindowState.WindowMaximized)

    @Slot()
    def show_help(self) -> None:
        self._show_page()

    @Slot()
    def show_shortcuts(self) -> None:
        self._show_page(SHORTCUTS)

    @Slot()
    def show_limits(self) -> None:
        self._show_page(LIMITS)

    @Slot()
    def about(self) -> None:
        box = QMessageBox(self._window)
        box.setWindowTitle("About mlxdecoder")
        box.setTextFormat(Qt.TextFormat.RichText)
        box.setText(ABOUT)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setModal(False)
        box.show()

    @Slot()
    def close(self) -> None:
        """Close the window that the user is in."""
        (QApplication.activeWindow() or self._window).close()

    @Slot()
    def quit(self) -> None:
        self._window.close()

    # Inside -----------------------------------------------------------------------------------------------------

    def _show_page(self, title: str = "") -> None:
        if self._help is None:
            self._help = HelpWindow(self._window, self._keys())
        self._help.show_page(title)

    def _keys(self) -> list[tuple[str, str]]:
        """The commands of the menus that have keys, with them."""
        keys = {
            name: [key.toString(QKeySequence.SequenceFormat.NativeText) for key in action.shortcuts()]
            for name, action in self._window.menus.actions.items()
        }
        return [(name.removesuffix("…"), " or ".join(given)) for name, given in keys.items() if given]

    def _edit(self, command: str) -> None:
        focused = QApplication.focusWidget()
        if hasattr(focused, command):
            getattr(focused, command)()

    def _resize_text(self, by: int) -> None:
        size = QApplication.font().pointSize() + by
        self._window.settings.font_size = min(max(size, SMALLEST_FONT), LARGEST_FONT)


def bring_up(window: QWidget) -> None:
    """Show a window above the others, also one that was hidden or minimised."""
    window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.show()
    window.raise_()
    window.activateWindow()
