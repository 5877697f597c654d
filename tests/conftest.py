"""What holds for all tests, and a way to run commands as a user types them."""

from __future__ import annotations

import importlib.util
import io
import sys
from collections.abc import Callable

import pytest
from hypothesis import settings

from mlxdecoder.cli import main

try:
    import PySide6.QtWidgets  # noqa: F401
except ImportError:
    pytest_plugins: list[str] = []
else:  # left to itself it would end the whole run where Qt cannot be loaded
    pytest_plugins = ["pytestqt.plugin"] if importlib.util.find_spec("pytestqt") else []

# How long an example takes says more about the machine than about the code.
settings.register_profile("untimed", settings.default, deadline=None)
settings.load_profile("untimed")


class Stdin(io.TextIOWrapper):
    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Run a command; gives its exit status, what it printed, and what it said on stderr."""

    def call(*arguments: object, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", Stdin(stdin))
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = stop.code
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call
