"""Keeps the session by itself: soon after a change, and when the window closes."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QThreadPool, QTimer, Slot

from mlxdecoder.app.keeping import NAME, Kept
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.settings import Settings
from mlxdecoder.errors import UserError

LATER = 1000  # ms without a change
BROKEN = "kept.broken.json"


class Keeper(QObject):
    """Keeps one session where the settings are."""

    def __init__(self, session: Session, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session, self._settings = session, settings
        self._pool = QThreadPool(self)  # writing until it is on the disk takes longer than a frame
        self._pool.setMaxThreadCount(1)  # so that what is newer is written later
        self._soon = QTimer(self, singleShot=True, interval=LATER)
        self._soon.timeout.connect(self._keep_beside)

    def restore(self) -> None:
        """Begin where the app was left."""
        try:
            kept = Kept.read(self._settings.folder) if self._settings.keeps else None
        except (UserError, OSError) as error:
            self._session.say(f"{error} {_put_aside(self._settings.folder)}")
            return
        if kept is not None:
            kept.put_into(self._session)

    def soon(self) -> None:
        """The session has changed: keep it when it rests."""
        if self._settings.keeps:
            self._soon.start()

    def now(self) -> bool:
        """Keep the session before this returns; gives whether it is kept."""
        self._soon.stop()
        self._pool.waitForDone()
        if not self._settings.keeps:
            return False
        try:
            Kept.of(self._session).write(self._settings.folder)
        except OSError:
            return False
        return True

    @Slot()
    def _keep_beside(self) -> None:
        self._pool.start(partial(_keep, Kept.of(self._session), self._settings.folder))


def _keep(kept: Kept, folder: Path) -> None:
    with suppress(OSError):  # when the window closes it is tried again, and told
        kept.write(folder)


def _put_aside(folder: Path) -> str:
    """Save what cannot be read from being written over; gives what to say of it."""
    try:
        (folder / NAME).replace(folder / BROKEN)
    except OSError:
        return "This is a new session."
    return f"This is a new session; what was kept is now in {folder / BROKEN}."
