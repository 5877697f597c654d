"""Whatever is done to a file, reading it gives a corpus or an error of a line or two, soon and in little memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings

from tests.text.readers.mutated import Case, cases, read_files, write_case


@given(cases)
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example])
def test_a_changed_file_gives_a_corpus_or_an_error(case: Case) -> None:
    with TemporaryDirectory() as folder:
        read_files(write_case(case, Path(folder)), case.choice, case.limit)


@pytest.mark.slow
def test_a_hundred_thousand_changed_files_stay_within_their_limits() -> None:
    command = [sys.executable, "-m", "tests.text.readers.fuzz", "100000"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
