"""Questions about paths that come from users and from files, answered whatever the path is; and kinds of files.

`Path.is_file` and its like raise where a name is too long or a folder is closed. Those of `os.path` say no.
"""

from __future__ import annotations

import os
from pathlib import Path

from mlxdecoder.app.session.document import SUFFIX

KINDS_OF_CORPORA = (".tsv", ".txt", ".csv", ".tmx", ".po", ".jsonl", ".ndjson", ".gz", ".zip")
CORPORA = f"Corpora ({' '.join(f'*{kind}' for kind in KINDS_OF_CORPORA)})"
ALL_FILES = "All files (*)"
PARTS_OF_CHECKPOINTS = (".safetensors", ".model", ".json")


def is_file(path: Path) -> bool:
    """Whether a file is there, as far as can be seen."""
    return os.path.isfile(path)


def is_folder(path: Path) -> bool:
    """Whether a folder is there, as far as can be seen."""
    return os.path.isdir(path)


def may_be_corpus(path: Path) -> bool:
    """Whether it is a file that is neither a session nor a part of a model: sentences come under any other name."""
    return is_file(path) and path.suffix.lower() not in (SUFFIX, *PARTS_OF_CHECKPOINTS)


def is_taken(path: Path) -> bool:
    """Whether anything is there, as far as can be seen."""
    return os.path.exists(path)
