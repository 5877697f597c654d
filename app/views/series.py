"""What the curves of a training show, as data: which values, under which name, drawn how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mlxdecoder.app.session.training_log import Measure, TrainingLog
from mlxdecoder.app.views.wording import number, share

Points = tuple[np.ndarray, np.ndarray]  # steps, values
SMOOTHED = 10  # steps
NO_POINTS: Points = (np.zeros(0, np.int64), np.zeros(0))
EXTREMES = ((np.argmin, np.inf), (np.argmax, -np.inf))


@dataclass(frozen=True)
class Look:
    """How a line is told from the others, by its dashes and marks as much as by its hue."""

    hue: int  # of the three that curves.py has for light and for dark grounds
    dashes: tuple[float, ...] = ()  # drawn and left out, in widths of the line; nothing is left out of a whole line
    mark: str = ""


@dataclass(frozen=True)
class Line:
    """One curve: of which training, from what, and how its values are written."""

    name: str
    of: str
    points: Callable[[TrainingLog], Points]
    write: Callable[[float], str]
    look: Look


@dataclass(frozen=True)
class Chart:
    """Curves that share their axes; shares go from 0 to 1."""

    title: str
    lines: tuple[Line, ...]
    shares: bool = False

    @property
    def compared(self) -> bool:
        """Whether its lines are of several trainings, so that only the title says what they show."""
        return len({line.of for line in self.lines}) > 1


def losses(log: TrainingLog) -> Points:
    """The training loss of each step: the mean of the last ten, of those that are numbers; NaN
    where the loss itself is none.
    """
    values = np.array(log.losses, np.float64)
    known = np.isfinite(values)
    mean = _trailing_sum(np.where(known, values, 0)) / np.maximum(_trailing_sum(known), 1)
    return np.arange(1, len(values) + 1), np.where(known, mean, np.nan)


def accuracies(log: TrainingLog) -> Points:
    return _measured(log, lambda measure: measure.accuracy)


def exact_matches(log: TrainingLog) -> Points:
    return _measured(log, lambda measure: measure.exact)


def _measured(log: TrainingLog, value: Callable[[Measure], float]) -> Points:
    steps = np.array([measure.step for measure in log.measures], np.int64)
    return steps, np.array([value(measure) for measure in log.measures], np.float64)


def _trailing_sum(values: np.ndarray) -> np.ndarray:
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    return np.asarray(sums[ends] - sums[np.maximum(ends - SMOOTHED, 0)])


def thinned(points: Points, most: int) -> Points:
    """About `most` points of a curve: the least and the largest of each stretch, so that no peak is lost, and the end.

    A stretch without numbers stays a gap.
    """
    steps, values = points
    size = -(-2 * len(values) // most)
    if size <= 2:
        return points
    whole = np.pad(values, (0, -len(values) % size), constant_values=np.nan).reshape(-1, size)
    starts = np.arange(len(whole)) * size
    low, high = (choose(np.where(np.isnan(whole), least, whole), axis=1) for choose, least in EXTREMES)
    places = np.unique(np.concatenate([starts + low, starts + high, [len(values) - 1]]))
    return steps[places], values[places]


def at(points: Points, step: int) -> tuple[int, float] | None:
    """The newest point that is not after a step; None before the first."""
    place = int(np.searchsorted(points[0], step, side="right")) - 1
    return None if place < 0 else (int(points[0][place]), float(points[1][place]))


WHOLE, DASHED, DOTTED = Look(0), Look(1, (5, 3), "o"), Look(2, (1.5, 2.5), "s")
RIGHT, WRONG = Look(1, mark="o"), Look(2, (5, 3), "s")

TRAINING = (
    Chart("Training loss", (Line("Training loss, mean of 10 steps", "training", losses, number, WHOLE),)),
    Chart(
        "On sentences that training does not see",
        (
            Line("Teacher-forced accuracy", "training", accuracies, share, DASHED),
            Line("Free-running exact match", "training", exact_matches, share, DOTTED),
        ),
        shares=True,
    ),
)


def _twins(title: str, points: Callable[[TrainingLog], Points], write: Callable[[float], str]) -> Chart:
    lines = (Line("Right", "right", points, write, RIGHT), Line("Mistaken", "wrong", points, write, WRONG))
    return Chart(title, lines, shares=write is share)


TWINS = (
    _twins("Training loss, mean of 10 steps", losses, number),
    _twins("Teacher-forced accuracy", accuracies, share),
    _twins("Free-running exact match", exact_matches, share),
)
