"""What can be done with a training in each state, and how the state is told."""

from __future__ import annotations

from typing import Any

import pytest

from mlxdecoder.app.session.training_log import TrainingLog
from mlxdecoder.app.views.train_states import available, pace, told

BEGUN: dict[str, Any] = {"folder": "/runs/toy 1", "steps": 600, "step": 120, "losses": [1.0] * 120}
SAVED = {**BEGUN, "checkpoint": "/runs/toy 1"}

CASES = [
    ("a new app", TrainingLog(), "start"),
    ("running", TrainingLog("running", **BEGUN), "pause stop"),
    ("running with a checkpoint", TrainingLog("running", **SAVED), "pause stop"),
    ("pausing", TrainingLog("pausing", **SAVED), "resume stop"),
    ("paused", TrainingLog("paused", **SAVED), "resume stop reset use"),
    ("stopping", TrainingLog("stopping", **SAVED), ""),
    ("stopped", TrainingLog("idle", reason="stopped", **SAVED), "start resume reset use"),
    ("stopped before anything was saved", TrainingLog("idle", reason="stopped", **BEGUN), "start reset"),
    ("done", TrainingLog("idle", reason="done", **SAVED), "start reset use"),
    ("diverged", TrainingLog("idle", reason="diverged", **SAVED), "start resume reset use"),
]


@pytest.mark.parametrize(("log", "able"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_each_state_allows_what_makes_sense_in_it(log: TrainingLog, able: str) -> None:
    assert available(log, alive=True) == set(able.split())


@pytest.mark.parametrize("log", [case[1] for case in CASES], ids=[case[0] for case in CASES])
def test_without_a_worker_curves_can_be_cleared_and_nothing_else_done(log: TrainingLog) -> None:
    assert available(log, alive=False) <= {"reset"}


def test_a_folder_that_holds_a_training_can_be_gone_on_with_but_not_begun_in() -> None:
    assert available(TrainingLog(), alive=True, left_over=True, taken=True) == {"resume"}


@pytest.mark.parametrize(
    ("log", "text"),
    [
        (TrainingLog(), "Not started"),
        (TrainingLog("running"), "Getting ready…"),
        (TrainingLog("running", **BEGUN), "Training: step 120 of 600"),
        (TrainingLog("stopping"), "Stopping…"),
        (TrainingLog("paused", **SAVED), "Paused at step 120 of 600"),
        (TrainingLog("idle", reason="done", step=1), "Done after 1 step"),
        (TrainingLog("idle", reason="stopped", **SAVED), "Stopped at step 120 of 600"),
        (TrainingLog("idle", reason="diverged", **SAVED), "Ended at step 120: the loss is no longer a number"),
        (TrainingLog("idle", **SAVED), "Ended at step 120 of 600, and not as it should"),
    ],
)
def test_the_state_is_told_in_a_sentence(log: TrainingLog, text: str) -> None:
    assert told(log) == text


@pytest.mark.parametrize(("left", "text"), [(40.2, "41 s"), (150, "2 min"), (7500, "2 h 5 min")])
def test_the_time_that_is_left_is_told_in_the_unit_that_fits(left: float, text: str) -> None:
    assert pace(TrainingLog("running", rate=41.3, left=left)) == f"41 steps a second, about {text} left"
