"""What the user has set, and what the app remembers for itself, in one file of a folder of its own."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Literal, cast, get_args

from PySide6.QtCore import QByteArray, QLockFile, QObject, QSettings, QStandardPaths, Signal

from mlxdecoder.app.paths import is_file

Theme = Literal["system", "light", "dark"]
SMALLEST_FONT, LARGEST_FONT = 8, 32
MOST_RECENT = 10


class Settings(QObject):
    """Settings with a type and a default each; what the file holds of another type counts as not set."""

    changed = Signal()
    recent_changed = Signal()

    def __init__(self, folder: Path | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.folder = folder or _location(QStandardPaths.StandardLocation.AppDataLocation)
        self._stored = QSettings(str(self.folder / "settings.ini"), QSettings.Format.IniFormat)
        self._lock = QLockFile(str(self.folder / "lock"))
        self._lock.setStaleLockTime(0)  # it holds for as long as its process lives

    @property
    def font_size(self) -> int:
        """In points; 0 is the size that the system has."""
        try:
            size = int(str(self._stored.value("font_size", 0)))
        except ValueError:
            return 0
        return size if SMALLEST_FONT <= size <= LARGEST_FONT else 0

    @font_size.setter
    def font_size(self, size: int) -> None:
        self._set("font_size", size)

    @property
    def theme(self) -> Theme:
        """Whose colours: those of the system, or always the light or the dark ones."""
        found = str(self._stored.value("theme", "system"))
        return cast(Theme, found) if found in get_args(Theme) else "system"

    @theme.setter
    def theme(self, theme: Theme) -> None:
        self._set("theme", theme)

    @property
    def restores(self) -> bool:
        """Whether the app begins where it was left."""
        return str(self._stored.value("restores", "true")) != "false"

    @restores.setter
    def restores(self, restores: bool) -> None:
        self._set("restores", "true" if restores else "false")

    @property
    def keeps(self) -> bool:
        """Whether this app keeps its session here: when it begins where it was left, and was here before any other."""
        return self.restores and self._first

    @property
    def runs(self) -> Path:
        """Where trainings keep their folders."""
        default = _location(QStandardPaths.StandardLocation.DocumentsLocation) / "mlxdecoder"
        return Path(str(self._stored.value("runs", "") or default))

    @runs.setter
    def runs(self, folder: Path) -> None:
        self._set("runs", str(folder))

    @property
    def recent(self) -> list[Path]:
        """Sessions that were opened or saved and are still there, the newest first."""
        return [path for path in self._recent() if is_file(path)]

    def add_recent(self, path: Path) -> None:
        kept = [path, *(other for other in self._recent() if other != path)][:MOST_RECENT]
        self._stored.setValue("recent", "\n".join(map(str, kept)))
        self.recent_changed.emit()

    def forget_recent(self) -> None:
        self._stored.remove("recent")
        self.recent_changed.emit()

    def layout(self, name: str) -> QByteArray:
        """How a window or a splitter was left; empty when nobody knows."""
        found = self._stored.value(f"layout/{name}")
        return found if isinstance(found, QByteArray) else QByteArray()

    def set_layout(self, name: str, state: QByteArray) -> None:
        self._stored.setValue(f"layout/{name}", state)

    @cached_property
    def _first(self) -> bool:
        with suppress(OSError):  # then it cannot be locked either
            self.folder.mkdir(parents=True, exist_ok=True)
        return self._lock.tryLock(0)

    def _recent(self) -> list[Path]:
        return [Path(line) for line in str(self._stored.value("recent", "")).splitlines() if line]

    def _set(self, name: str, value: int | str) -> None:
        self._stored.setValue(name, value)
        self.changed.emit()


def _location(place: QStandardPaths.StandardLocation) -> Path:
    return Path(QStandardPaths.writableLocation(place))
