"""The mean of the last snapshots of the weights, which translates better than the newest weights alone."""

from __future__ import annotations

from collections import deque

import mlx.core as mx


class Snapshots:
    """Keeps the weights [P] of every `every`-th step, the last `count` of them."""

    def __init__(self, every: int, count: int) -> None:
        self._every, self._count = every, count
        self.kept: deque[mx.array] = deque(maxlen=count)

    def add(self, step: int, weights: mx.array) -> None:
        """Keep the weights if a snapshot is due after this step."""
        if step % self._every == 0:
            self.kept.append(weights)

    def mean(self, step: int, weights: mx.array) -> mx.array:
        """The mean of the last snapshots, of which the present weights are always one."""
        latest = [] if step and step % self._every == 0 else [weights]
        averaged = [*self.kept, *latest][-self._count :]
        return sum(averaged[1:], averaged[0]) / len(averaged)
