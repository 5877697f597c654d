"""The folder of a training run: checkpoints by step, and an index that says which is the newest and which the best."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from mlxdecoder.errors import UserError
from mlxdecoder.files import make_folder
from mlxdecoder.training.checkpoint import find_checkpoint
from mlxdecoder.training.manifest import read_json, write_json

INDEX = "run.json"


class RunFolder:
    """Keeps the newest and the best checkpoint; whenever the process dies, the index names whole ones."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    @classmethod
    def fresh(cls, path: Path | str) -> RunFolder:
        """A folder for a new run; raises `UserError` when something is in it."""
        folder = cls(path)
        if folder.path.is_file():
            raise UserError(f"{folder.path}: is a file; a folder for the run is wanted.")
        # Without an index, a checkpoint was promised to nobody: the run was killed while it saved its first one.
        promised = (folder.path / INDEX).exists()
        entries = list(folder.path.iterdir()) if folder.path.is_dir() else []
        if any(promised or not (_is_leftover(entry) or entry.name.startswith("step-")) for entry in entries):
            raise UserError(
                f"{folder.path}: is not empty; choose another folder (a training run goes on with train --resume)."
            )
        return folder

    def make(self) -> None:
        """Make the folder, and see that it can be written to: better now than when there is something to save."""
        make_folder(self.path)

    def newest(self) -> Path:
        return find_checkpoint(self.path, "newest")

    def add(self, step: int, write: Callable[[Path], None], best: bool) -> Path:
        """Let `write` make the checkpoint of a step, and remove those that are no longer the newest or the best."""
        name = f"step-{step:07d}"
        index = read_json(self.path / INDEX) if (self.path / INDEX).exists() else {}
        if name not in index.values():
            _discard(self.path / name)
            write(self.path / name)
        index = {"newest": name, "best": name if best else index.get("best", name)}
        write_json(self.path / INDEX, index)
        self._clean(set(index.values()))
        return self.path / name

    def _clean(self, kept: set[str]) -> None:
        for entry in self.path.iterdir():
            old = entry.name.startswith("step-") and entry.name not in kept
            if old or _is_leftover(entry):
                _discard(entry)


def _discard(entry: Path) -> None:
    """Remove an entry; the name of a folder is taken away first, so that no folder by that name is ever half there."""
    if entry.is_file():
        entry.unlink()
    elif entry.exists():
        hidden = entry.rename(entry.with_name(f".step-{uuid4().hex}"))
        shutil.rmtree(hidden, ignore_errors=True)


def _is_leftover(entry: Path) -> bool:
    """Whether a save that was killed left this behind."""
    return entry.name.startswith(".step-") or entry.name.startswith(f".{INDEX}.")
