"""Files that are either whole or not there: written under a temporary name, then renamed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_bytes(path: Path | str, data: bytes) -> None:
    """Write `data` to `path` so that a reader sees the old file or the new one, never a part.

    The folder is made when it is missing. A failed write leaves the old file as it was and no temporary one behind.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        _write(path, data)
    except OSError as error:
        if error.errno is None:
            raise
        # Name the file that was asked for, not the temporary one.
        raise type(error)(error.errno, error.strerror, str(path)) from None


def _write(path: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_text(path: Path | str, text: str) -> None:
    """Write `text` as UTF-8 with `\\n` line ends, whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


def _umask() -> int:
    # There is no way to read the umask without setting it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
