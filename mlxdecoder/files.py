"""Files that are either whole or not there: written under a temporary name, then renamed."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def write_bytes(path: Path | str, data: bytes) -> None:
    """Write `data` to `path`, whole or not at all, as `replacing` does."""
    with replacing(path) as file:
        file.write(data)


def write_text(path: Path | str, text: str) -> None:
    """Write `text` as UTF-8 with `\\n` line ends, whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


@contextmanager
def replacing(path: Path | str) -> Iterator[IO[bytes]]:
    """Open `path` to write to, so that a reader sees the old file or the new one, never a part.

    The folder is made when it is missing. When writing fails, the old file stays as it was and no temporary one is
    left. A link goes on pointing to its file; a pipe or a device is no file to be replaced, and is written to.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("wb") if _is_special(path) else _renamed_to(Path(os.path.realpath(path))) as file:
            yield file
    except OSError as error:
        if error.errno is None:
            raise
        # Name the file that was asked for, not the temporary one.
        raise type(error)(error.errno, error.strerror, str(path)) from None


def check_writable(path: Path | str) -> None:
    """Raise OSError when `path` cannot be written to: better before long work than after it. Its folder is made."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not _is_special(path):
        make_folder(Path(os.path.realpath(path)).parent)


def make_folder(folder: Path) -> None:
    """Make a folder, and see that it can be written to."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass


@contextmanager
def _renamed_to(path: Path) -> Iterator[IO[bytes]]:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _umask() -> int:
    # There is no way to read the umask without setting it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
