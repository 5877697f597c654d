"""Random events, from seeds: nothing that is done to the app takes it down, and no checkpoint is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mlxdecoder.training.checkpoint import find_checkpoint, load_checkpoint

MONKEY = Path(__file__).parent / "monkey.py"


def let_loose(seed: int, events: int, folder: Path, seconds: int, monkey: Path = MONKEY) -> dict[str, Any]:
    """What the monkey tells; the test fails with the stacks of all threads when the app died or hung."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(monkey), str(seed), str(events)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, f"{(folder / 'diary.txt').read_text()[-500:]}\n{done.stderr[-5000:]}"
    return dict(json.loads(done.stdout.splitlines()[-1]))


def check(told: dict[str, Any]) -> None:
    assert told["exceptions"] == []
    assert told["warnings"] == []
    for folder, step in told["saved"].items():
        newest = find_checkpoint(Path(folder), "newest")
        assert int(newest.name.removeprefix("step-")) >= step
        load_checkpoint(newest)


@pytest.mark.parametrize("seed", [1])
def test_a_short_visit_does_no_harm(seed: int, home: Path) -> None:
    check(let_loose(seed, 300, home, 300))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [11, 12, 13])
def test_ten_thousand_events_do_no_harm(seed: int, home: Path) -> None:
    told = let_loose(seed, 10_000, home, 3600)
    check(told)
    assert told["kills"] > 0
    assert told["saved"], "no training came as far as a checkpoint; the monkey is to be given more time"


BROKEN = """
from PySide6.QtCore import qWarning
from mlxdecoder.app.views.grid import HeatmapGrid

def session_changed(self, topic):
    qWarning("a warning of Qt")
    raise ZeroDivisionError

HeatmapGrid.session_changed = session_changed


class Monkey:"""


def test_the_monkey_sees_what_goes_wrong(home: Path) -> None:
    (home / "monkey.py").write_text(MONKEY.read_text().replace("class Monkey:", BROKEN, 1))
    told = let_loose(1, 20, home, 100, home / "monkey.py")
    assert "ZeroDivisionError" in told["exceptions"][0]
    assert told["warnings"][0] == "a warning of Qt"


LEAVING = """
from mlxdecoder.app import client

def start(self):
    begin(self)
    while self.running:
        QTest.qWait(10)

client.worker_command = lambda: [sys.executable, "-c", ""]
begin, WorkerClient.start = WorkerClient.start, start


class Monkey:"""


def test_the_monkey_sees_a_worker_that_leaves_by_itself(home: Path) -> None:
    (home / "monkey.py").write_text(MONKEY.read_text().replace("class Monkey:", LEAVING, 1))
    told = let_loose(1, 1, home, 100, home / "monkey.py")
    assert "left by itself" in told["exceptions"][0] and "exit status 0" in told["exceptions"][0]
