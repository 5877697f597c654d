"""How the app is started: what is imported by whom, and what the self-test says."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from mlxdecoder.app.__main__ import main
from mlxdecoder.app.screen import has_screen
from mlxdecoder.commands import app as command

Run = Callable[..., tuple[int, str, str]]


def python(code: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", code],
        input=stdin,
        capture_output=True,
        timeout=120,
        check=False,
        env={**os.environ, **environment},
    )


def test_the_window_is_made_without_mlx() -> None:
    done = python("import sys, mlxdecoder.app.window, mlxdecoder.app.application; sys.exit('mlx.core' in sys.modules)")
    assert done.returncode == 0, done.stderr


def test_the_worker_runs_without_qt_and_ends_with_its_stdin() -> None:
    code = (
        "import sys; from mlxdecoder.app.__main__ import main; main(['--worker']); sys.exit('PySide6' in sys.modules)"
    )
    told = b""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        while b'"welcome"' not in told and (part := os.read(worker.stdout.fileno(), 2**16)):
            told += part
    assert b'"welcome"' in told
    assert worker.returncode == 0


def test_the_self_test_names_what_it_generated_and_where() -> None:
    done = python("import sys; from mlxdecoder.app.__main__ import main; sys.exit(main(['--self-test']))")
    assert done.returncode == 0, done.stderr
    assert b"'Le chat noir dort.' generated on" in done.stdout


@pytest.mark.parametrize(
    ("worker", "word"),
    [
        ("['/nowhere/worker']", b"could not be started"),
        ("[sys.executable, '-c', 'import sys; sys.exit(\"no device\")']", b"no device"),
        ("[sys.executable, '-c', 'import time; time.sleep(60)']", b"no picture after 2 seconds"),
    ],
)
def test_the_self_test_says_what_is_wrong(worker: str, word: bytes) -> None:
    done = python(f"""
import sys
from mlxdecoder.app import client, self_test
client.worker_command = lambda: {worker}
client.PATIENCE_AT_THE_END = 100
self_test.PATIENCE = 2000
sys.exit(self_test.self_test())
""")
    assert done.returncode == 1
    assert word in done.stderr
    assert done.stdout == b""


def test_without_qt_both_ways_to_start_say_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "is_installed", lambda: False)
    status, _, said = run("app")
    assert status == 2
    assert "pip install 'mlxdecoder[app]'" in said
    monkeypatch.setattr("mlxdecoder.app.__main__.is_installed", lambda: False)
    assert main([]) == 2
    assert "pip install 'mlxdecoder[app]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("platform", "environment", "there"),
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": ""}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("linux", {"QT_QPA_PLATFORM": "offscreen"}, True),
        ("darwin", {}, True),
        ("darwin", {"SSH_CONNECTION": "10.0.0.1 22"}, False),
        ("win32", {}, True),
    ],
)
def test_a_screen_is_known_by_the_environment(platform: str, environment: dict[str, str], there: bool) -> None:
    assert has_screen(platform, environment) == there


def test_without_a_screen_the_demo_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    status, _, said = run("app")
    assert status == 2
    assert "no screen found; `mlxdecoder demo`" in said
