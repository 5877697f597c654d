"""The training of a session: what answers at once, and what can go on after it was cut off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.app.session.desk import Desk, opened


@pytest.fixture
def desk() -> Desk:
    return opened()


@pytest.fixture
def run(tmp_path: Path) -> dict[str, Any]:
    """A training that has saved something."""
    (tmp_path / "run.json").write_text("{}")
    return {"preset": "toy", "folder": str(tmp_path), "steps": 10, "probe": "", "mistakes": []}


def test_a_training_that_dies_before_it_says_that_it_saved_can_go_on(desk: Desk, run: dict[str, Any]) -> None:
    desk.session.training.begin(**run)
    desk.answer("training", "train", steps=10, folder=run["folder"], at=0)
    desk.session.worker_ended("The worker has stopped unexpectedly.")
    assert desk.session.training.log.state == "idle"
    assert desk.session.training.interrupted == {**run, "resume": True} == desk.session.training.unfinished


def test_a_training_that_has_saved_nothing_cannot_go_on(desk: Desk, tmp_path: Path) -> None:
    desk.session.training.begin(preset="toy", folder=str(tmp_path / "none"), steps=10, probe="", mistakes=[])
    desk.session.worker_ended("The worker has stopped unexpectedly.")
    assert desk.session.training.interrupted is None


@pytest.mark.parametrize("how", ["dies", "is refused"])
def test_going_on_can_be_tried_again(desk: Desk, run: dict[str, Any], how: str) -> None:
    desk.session.training.interrupted = {**run, "resume": True}
    desk.session.training.go_on()
    if how == "dies":
        desk.session.worker_ended("The worker has stopped unexpectedly.")
    else:
        desk.answer("refused", "train", message="pairs.tsv: no such file.")
    assert desk.session.training.interrupted == {**run, "resume": True} == desk.session.training.unfinished


def test_what_goes_on_is_no_longer_interrupted(desk: Desk, run: dict[str, Any]) -> None:
    desk.session.training.interrupted = {**run, "resume": True}
    desk.session.training.go_on()
    desk.answer("training", "train", steps=10, folder=run["folder"], at=5)
    assert desk.session.training.interrupted is None and desk.session.training.log.state == "running"


@pytest.mark.parametrize("command", ["pause", "stop"])
def test_pause_and_stop_answer_at_once(desk: Desk, run: dict[str, Any], command: Any) -> None:
    desk.session.training.begin(**run)
    desk.session.training.control(command)
    assert desk.session.training.log.state == {"pause": "pausing", "stop": "stopping"}[command]
    assert desk.newest(command)["of"] == desk.newest("train").run
