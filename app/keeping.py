"""The whole state, kept by itself between one start and the next."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlxdecoder.app.paths import is_file
from mlxdecoder.app.session.document import LARGEST_FILE, Document
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.session.training import INDEX
from mlxdecoder.errors import UserError
from mlxdecoder.files import write_text

NAME = "kept.json"


@dataclass(frozen=True)
class Kept:
    """A session as it is, and as it was saved, and where; and what to ask to go on with a training."""

    document: Document
    saved: Document
    path: Path | None = None
    training: dict[str, Any] | None = None

    @classmethod
    def of(cls, session: Session) -> Kept:
        return cls(session.document, session.history.saved, session.path, session.training.unfinished)

    def write(self, folder: Path) -> None:
        """Keep this; raises `OSError`."""
        content = {
            "document": self.document.to_json(),
            "saved": self.saved.to_json(),
            "path": str(self.path) if self.path else None,
            "training": self.training,
        }
        write_text(folder / NAME, json.dumps(content, indent=2) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Kept | None:
        """What was kept, None when nothing was; raises `UserError` for what cannot be understood, and `OSError`."""
        place = folder / NAME
        if not place.exists():
            return None
        if place.stat().st_size > LARGEST_FILE:
            raise UserError(f"{NAME}: too large to be what was kept.")
        return cls._parse(place.read_text(encoding="utf-8", errors="replace"))

    @classmethod
    def _parse(cls, text: str) -> Kept:
        try:
            content = json.loads(text)
            document, saved = (Document.from_json(content[name], NAME) for name in ("document", "saved"))
            path, training = content["path"], content["training"]
            training = {**training, "folder": str(training["folder"])} if training else None
            return cls(document, saved, Path(path) if path else None, training)
        except (KeyError, TypeError, ValueError, RecursionError):
            raise UserError("What was kept of the last time cannot be read.") from None

    def put_into(self, session: Session) -> None:
        """Make a new session that which was kept."""
        session.start_over(self.document, self.path)
        session.history.saved = self.saved
        if self.training is not None and is_file(Path(self.training["folder"]) / INDEX):
            session.training.interrupted = self.training
