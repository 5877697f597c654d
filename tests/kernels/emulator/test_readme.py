"""The examples of the emulator's README run and print what it says they print."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from mlxdecoder.kernels import emulator
from tests.kernels.emulator.small import needs_compiler

README = (Path(emulator.__file__).parent / "README.md").read_text()
EXAMPLE = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


@needs_compiler
def test_the_examples_print_what_the_readme_says() -> None:
    names = dict[str, Any]()
    examples = EXAMPLE.findall(README)
    assert len(examples) >= 5
    for code, expected in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        assert printed.getvalue() == expected


def test_every_kind_of_finding_that_a_defect_has_is_explained() -> None:
    defects = pytest.importorskip("tests.kernels.emulator.test_defects").DEFECTS
    explained = set(re.findall(r"`([a-z -]+)`", README))
    assert {defect.kind for defect in defects.values()} <= explained
