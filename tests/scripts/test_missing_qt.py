"""What scripts/missing-qt says of a Python that can show windows, and of one that cannot."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "missing-qt"


@pytest.mark.parametrize(
    ("python", "said"),
    [
        ("echo 'a warning of no account' >&2", ""),
        ("echo Traceback >&2; echo 'ImportError: libEGL.so.1' >&2; exit 1", "ImportError: libEGL.so.1\n"),
        ("exit 3", "Python ended with status 3.\n"),
    ],
)
def test_only_a_python_that_fails_misses_something(tmp_path: Path, python: str, said: str) -> None:
    for folder in ("scripts", ".venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(SCRIPT, tmp_path / "scripts")
    stand_in = tmp_path / ".venv" / "bin" / "python"
    stand_in.write_text(f"#!/bin/sh\n{python}\n")
    stand_in.chmod(0o755)
    found = subprocess.run([tmp_path / "scripts" / SCRIPT.name], capture_output=True, text=True, check=False)
    assert found.stdout == said
