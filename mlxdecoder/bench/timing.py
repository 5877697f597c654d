"""Two things timed in turn, so that whatever else the machine does falls on both."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from statistics import median

from tqdm import tqdm


def seconds(run: Callable[[], object]) -> float:
    """Wall-clock seconds of one call."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def shown(rounds: int, named: str) -> Iterable[int]:
    """Numbers of rounds; those with a name have a bar on a terminal."""
    return tqdm(range(rounds), named, unit=" rounds", leave=False, disable=None if named else True)


def paired(
    first: Callable[[], object], second: Callable[[], object], rounds: int, named: str = ""
) -> tuple[float, float, float]:
    """Median seconds of both, and the median over rounds of the first divided by the second."""
    pairs = [(seconds(first), seconds(second)) for _ in shown(1 + rounds, named)]
    del pairs[0]  # what only happens once is not measured
    return median(a for a, _ in pairs), median(b for _, b in pairs), median(a / b for a, b in pairs)
