"""What can be done with a training in each of its states, and how the state is told. No Qt."""

from __future__ import annotations

from mlxdecoder.app.session.training_log import TrainingLog
from mlxdecoder.app.views.wording import counted, duration

WHILE = {
    "running": {"pause", "stop"},
    "pausing": {"resume", "stop"},
    "paused": {"resume", "stop", "reset", "use"},
    "stopping": set[str](),
    "idle": {"start", "resume", "reset", "use"},
}


def available(log: TrainingLog, alive: bool, left_over: bool = False, taken: bool = False) -> frozenset[str]:
    """The commands that make sense now: start, pause, resume, stop, reset, use.

    `left_over` says that there is a training of another time that can go on; `taken` that the chosen folder is used by
    one, so that none can begin there.
    """
    able = set(WHILE[log.state])
    unfinished = log.checkpoint is not None and log.reason != "done"
    missing = {
        "start": taken,
        "resume": log.state == "idle" and not (unfinished or left_over),
        "reset": not (log.folder or log.losses),
        "use": log.checkpoint is None,
    }
    able -= {command for command, nothing in missing.items() if nothing}
    return frozenset(able if alive else able & {"reset"})


def told(log: TrainingLog) -> str:
    """The state in a sentence."""
    at = f"step {log.step:,}"
    if log.state == "running":
        return f"Training: {at} of {log.steps:,}" if log.steps else "Getting ready…"
    if log.state in ("pausing", "stopping"):
        saving = f" at {at}: what was learnt is being saved" if log.step else ""
        return f"{log.state.capitalize()}{saving}…"
    if log.state == "paused":
        return f"Paused at {at} of {log.steps:,}"
    return _ended(log, at)


def _ended(log: TrainingLog, at: str) -> str:
    if log.reason == "done":
        return f"Done after {counted(log.step, 'step')}"
    if log.reason == "diverged":
        return f"Ended at {at}: the loss is no longer a number"
    if log.reason is not None:
        return f"Stopped at {at} of {log.steps:,}"
    return f"Ended at {at} of {log.steps:,}, and not as it should" if log.step else "Not started"


def pace(log: TrainingLog) -> str:
    """How fast it goes and how long it will take, while it runs."""
    if log.state != "running" or not log.rate:
        return ""
    rate = f"{log.rate:.0f}" if log.rate >= 10 else f"{log.rate:.1f}"
    return f"{rate} steps a second, about {duration(log.left)} left"
