"""The menus: everything that can be done, with its name and its keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QApplication, QDialog, QMenu, QWidget

from mlxdecoder.app.commands import Commands, bring_up
from mlxdecoder.app.composition import PANELS
from mlxdecoder.app.exports import FORMATS, Exports
from mlxdecoder.app.session.word_picture import MERGED_STAGES

if TYPE_CHECKING:
    from mlxdecoder.app.window import MainWindow

Key = QKeySequence.StandardKey
Role = QAction.MenuRole
KINDS = {"encoder": "&Encoder self-attention", "decoder": "&Decoder self-attention", "cross": "&Cross-attention"}
STAGES = {
    "scores": "&Scores",
    "scaled": "S&caled",
    "masked": "&Masked",
    "weights": "&Weights",
    "norms": "&Norm-weighted",
}
TRAINING = {"start": "&Start", "pause": "&Pause", "stop": "St&op", "resume": "&Resume", "reset": "Rese&t"}


class Menus(QObject):
    """The menu bar of a window."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, self._session = window, window.session
        self._commands, self._exports = Commands(window), Exports(window)
        self.actions: dict[str, QAction] = {}  # by their names without marks
        for make in (self._file, self._edit, self._view, self._train, self._break, self._windows, self._help):
            make()
        window.bridge.changed.connect(self.session_changed)
        window.settings.recent_changed.connect(self._list_recent)
        self._list_recent()
        self._show_document()
        self._show_training()

    @Slot(str)
    def session_changed(self, topic: str) -> None:
        if topic in ("document", "model"):
            self._show_document()
        if topic in ("training", "worker", "welcome", "busy"):
            self._show_training()
        if topic in ("model", "worker", "welcome"):
            self.export_menu.setEnabled(self._exports.able)

    # The menus --------------------------------------------------------------------------------------------------

    def _file(self) -> None:
        menu, files = self._menu("&File"), self._window.files
        self._add(menu, "&New", files.new, Key.New)
        self._add(menu, "&Open…", files.choose, Key.Open)
        self._recent = menu.addMenu("Open &recent")
        menu.addSeparator()
        close = self._add(menu, "&Close", self._commands.close, Key.Close)
        close.setShortcutContext(Qt.ShortcutContext.ApplicationShortcut)  # whichever window is to be closed
        self._add(menu, "&Save", files.save, Key.Save)
        self._add(menu, "Save &as…", files.save_as, Key.SaveAs)
        self.export_menu = menu.addMenu("&Export")
        self.export_menu.setEnabled(False)
        for form, title in FORMATS.items():
            self._add(self.export_menu, title, self._exports.choose).setData(form)
        menu.addSeparator()
        self._add(menu, "Open a &model…", files.choose_model, "Ctrl+Shift+O")
        self._add(menu, "Open the &packaged model", files.open_packaged_model)
        self._add(menu, "Choose a corp&us…", self._window.composition.choose_corpus)
        menu.addSeparator()
        self._add(menu, "&Quit mlxdecoder", self._commands.quit, Key.Quit, Role.QuitRole)

    def _edit(self) -> None:
        menu, do = self._menu("&Edit"), self._commands
        self._add(menu, "&Undo", do.undo, Key.Undo)
        self._add(menu, "&Redo", do.redo, Key.Redo)
        menu.addSeparator()
        self._add(menu, "Cu&t", do.cut, Key.Cut)
        self._add(menu, "&Copy", do.copy, Key.Copy)
        self._add(menu, "Copy as P&ython", do.copy_as_python, "Ctrl+Shift+C")
        self._add(menu, "&Paste", do.paste, Key.Paste)
        self._add(menu, "Select &all", do.select_all, Key.SelectAll)
        menu.addSeparator()
        self._add(menu, "&Settings…", do.show_settings, Key.Preferences, Role.PreferencesRole)

    def _view(self) -> None:
        menu, do, steps = self._menu("&View"), self._commands, self._window.composition.generation_bar
        self._choices(menu, KINDS, do.choose_kind, "Ctrl+Alt+")
        menu.addSeparator()
        self._choices(menu.addMenu("&Stage"), STAGES, do.choose_stage)
        self._add(menu, "Mean of the &heads", do.average).setCheckable(True)
        self._add(menu, "Merge pieces into &words", do.merge_words).setCheckable(True)
        menu.addSeparator()
        self._add(menu, "&First step", steps.first, "Ctrl+Shift+Left")
        self._add(menu, "Step &back", steps.back, "Ctrl+Left")
        self._add(menu, "Step f&orward", steps.forward, "Ctrl+Right")
        self._add(menu, "&Last step", steps.last, "Ctrl+Shift+Right")
        self._add(menu, "&Play or pause", steps.play, "Ctrl+Return")
        menu.addSeparator()
        self._add(menu, "L&arger text", do.enlarge, Key.ZoomIn)
        self._add(menu, "S&maller text", do.shrink, Key.ZoomOut)
        self._add(menu, "Full screen", do.full_screen, Key.FullScreen)

    def _train(self) -> None:
        menu, buttons = self._menu("&Train"), self._window.composition.train_panel.buttons
        for command, title in TRAINING.items():
            self._add(menu, title, buttons[command].click)

    def _break(self) -> None:
        menu = self._menu("&Break")
        self._add(menu, "&Back to correct", self._commands.mend, "Ctrl+B")
        self._add(menu, "&Diagnose this model", self._commands.diagnose, "Ctrl+D")

    def _windows(self) -> None:
        menu = self.window_menu = self._menu("&Window")
        self._add(menu, "&Minimise", self._window.showMinimized, "Ctrl+M")
        self._add(menu, "&Zoom", self._commands.zoom)
        menu.addSeparator()
        for place, title in enumerate(PANELS, 1):
            self._add(menu, f"&{title}", self._show_panel, f"Ctrl+{place}").setData(title)
        menu.addSeparator()
        self._add(menu, "&Restart the worker", self._window.connection.start_again)
        menu.addSeparator()
        self._open_windows = QActionGroup(self)
        menu.aboutToShow.connect(self._list_windows)

    def _help(self) -> None:
        menu, do = self._menu("&Help"), self._commands
        self._add(menu, "&What this shows", do.show_help, Key.HelpContents)
        self._add(menu, "&Keyboard shortcuts", do.show_shortcuts)
        self._add(menu, "What attention weights do &not show", do.show_limits)
        menu.addSeparator()
        self._add(menu, "&About mlxdecoder", do.about, role=Role.AboutRole)

    # What they show ---------------------------------------------------------------------------------------------

    def _show_document(self) -> None:
        view, history, model = self._session.document.view, self._session.history, self._session.model
        for name, what in (("Undo", history.undoable), ("Redo", history.redoable)):
            self.actions[name].setText(f"&{name} {what or ''}".strip())
            self.actions[name].setEnabled(what is not None)
        for kind, title in KINDS.items():
            self.actions[_plain(title)].setChecked(kind == view.kind)
            self.actions[_plain(title)].setEnabled(model is None or kind in model.kinds)
        for stage, title in STAGES.items():
            self.actions[_plain(title)].setChecked(stage == view.stage)
        self.actions["Mean of the heads"].setChecked(view.average)
        self.actions["Merge pieces into words"].setChecked(view.words)
        self.actions["Merge pieces into words"].setEnabled(view.stage in MERGED_STAGES)
        self.actions["Back to correct"].setEnabled(bool(self._session.document.mistakes))

    def _show_training(self) -> None:
        buttons = self._window.composition.train_panel.buttons
        for command, title in TRAINING.items():
            self.actions[_plain(title)].setEnabled(buttons[command].isEnabled())
        self.actions["Diagnose this model"].setEnabled(self._session.alive)

    @Slot()
    def _list_recent(self) -> None:
        self._recent.clear()
        recent = self._window.settings.recent
        for path in recent:
            action = self._recent.addAction(path.name.replace("&", "&&"), self._open_recent)
            action.setData(str(path))
            action.setToolTip(str(path))
        self._recent.addSeparator()
        self._recent.addAction("Clear menu", self._window.settings.forget_recent)
        self._recent.setEnabled(bool(recent))

    @Slot()
    def _open_recent(self) -> None:
        self._window.files.open(Path(_sender(self).data()))

    @Slot()
    def _list_windows(self) -> None:
        for action in self._open_windows.actions():
            self._open_windows.removeAction(action)
            self.window_menu.removeAction(action)
            action.deleteLater()
        for window in (self._window, *self._window.findChildren(QDialog)):
            if window.isVisible():
                self._list_window(window)

    def _list_window(self, window: QWidget) -> None:
        action = self.window_menu.addAction(_title(window), self._bring_up)
        action.setMenuRole(Role.NoRole)
        action.setCheckable(True)
        action.setChecked(window is QApplication.activeWindow())
        action.setData(window)
        self._open_windows.addAction(action)

    @Slot()
    def _bring_up(self) -> None:
        bring_up(_sender(self).data())

    @Slot()
    def _show_panel(self) -> None:
        self._window.composition.show_panel(_sender(self).data())

    # How they are made ------------------------------------------------------------------------------------------

    def _menu(self, title: str) -> QMenu:
        return self._window.menuBar().addMenu(title)

    def _add(
        self,
        menu: QMenu,
        title: str,
        act: Callable[..., object],
        keys: Key | str | None = None,
        role: Role = Role.NoRole,
    ) -> QAction:
        action = menu.addAction(title)
        action.setMenuRole(role)  # or macOS would move actions by what their names resemble
        if keys is not None:
            action.setShortcuts(QKeySequence.keyBindings(keys) if isinstance(keys, Key) else [QKeySequence(keys)])
        action.triggered.connect(act)
        self.actions[_plain(title)] = action
        return action

    def _choices(
        self, menu: QMenu, titles: Mapping[str, str], choose: Callable[[QAction], None], keys: str = ""
    ) -> None:
        group = QActionGroup(self)
        for place, (value, title) in enumerate(titles.items(), 1):
            action = menu.addAction(title)
            action.setMenuRole(Role.NoRole)
            action.setCheckable(True)
            action.setData(value)
            if keys:
                action.setShortcut(QKeySequence(f"{keys}{place}"))
            group.addAction(action)
            self.actions[_plain(title)] = action
        group.triggered.connect(choose)


def _title(window: QWidget) -> str:
    return window.windowTitle().replace("[*]", "").replace("&", "&&")


def _plain(title: str) -> str:
    return title.replace("&", "")


def _sender(of: QObject) -> QAction:
    action = of.sender()
    assert isinstance(action, QAction)
    return action
