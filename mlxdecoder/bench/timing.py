"""Two things timed in turn, so that whatever else the machine does falls on both."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median


def seconds(run: Callable[[], object]) -> float:
    """Wall-clock seconds of one call."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def paired(first: Callable[[], object], second: Callable[[], object], rounds: int) -> tuple[float, float, float]:
    """Median seconds of both, and the median over rounds of the first divided by the second."""
    first(), second()  # what only happens once is not measured
    pairs = [(seconds(first), seconds(second)) for _ in range(rounds)]
    return median(a for a, _ in pairs), median(b for _, b in pairs), median(a / b for a, b in pairs)
