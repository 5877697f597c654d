"""The observer that tells the window about a training, and lets it ask other things meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mlxdecoder.app.worker.link import Link
from mlxdecoder.app.worker.probing import Probe
from mlxdecoder.mistakes.twins import finite
from mlxdecoder.training.observer import Measures, Observer, StepReport
from mlxdecoder.training.run_folder import RunFolder

BETWEEN = 0.1  # seconds from one telling of losses to the next


class Losses:
    """Collects losses, and hands them over some at a time: `hand_over(first_step, losses, report)`."""

    def __init__(self, hand_over: Callable[[int, list[float], StepReport], None]) -> None:
        self._hand_over, self._waiting, self._last = hand_over, list[float](), -BETWEEN
        self._report: StepReport | None = None

    def add(self, report: StepReport) -> None:
        self._waiting.append(report.loss)
        self._report = report
        if time.monotonic() - self._last >= BETWEEN:
            self.flush()

    def flush(self) -> None:
        """Hand over all that waits; for what must not come before the losses that led to it."""
        if self._report is not None and self._waiting:
            losses, self._waiting = self._waiting, []
            self._hand_over(self._report.step - len(losses) + 1, losses, self._report)
            self._last = time.monotonic()


def measures_told(measures: Measures) -> dict[str, Any]:
    """The measures of a step as the window knows them; null for what is no number."""
    return {
        "step": measures.step,
        "loss": finite(measures.validation_loss),
        "accuracy": finite(measures.teacher_forced),
        "exact": finite(measures.exact_match),
    }


class LookingOn(Observer):
    """Tells losses, measures, the probe sentence and checkpoints; `kept` is the run's folder, once it holds one."""

    def __init__(self, link: Link, probe: Probe, folder: RunFolder) -> None:
        self._link, self._probe, self.folder = link, probe, str(folder.path)
        self._losses = Losses(self._progress)
        self.kept: str | None = self.folder if (folder.path / "run.json").exists() else None

    def begins(self, step: int) -> None:
        """Training begins now, or goes on, behind this step."""
        self._first, self._began = step, time.monotonic()

    def stepped(self, report: StepReport) -> None:
        self._step = report.step
        self._losses.add(report)
        self._link.breathe()

    def saved(self, path: Path) -> None:
        self._losses.flush()
        self.kept = self.folder
        self._link.tell("saved", step=self._step, path=self.folder)

    def measured(self, measures: Measures) -> None:
        self._link.tell("measured", **measures_told(measures))
        told, arrays = self._probe.look(measures.step)
        self._link.tell("probe", arrays, **told)
        self._link.breathe()

    def wants_stop(self) -> bool:
        return self._link.stopped() or self._link.paused()

    def _progress(self, first_step: int, losses: list[float], report: StepReport) -> None:
        seconds = max(time.monotonic() - self._began, 1e-9)
        rate = (report.step - self._first) / seconds
        self._link.tell("progress", first_step=first_step, losses=losses, rate=rate, left=report.seconds_left)
