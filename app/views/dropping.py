"""What people drop on the window."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtGui import QDropEvent


def dropped(event: QDropEvent) -> list[Path]:
    """The files and folders that are dropped, or are about to be."""
    return [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
