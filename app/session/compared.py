"""A sentence with the mistakes and without, over the same tokens, read in the way in which the mistakes are met."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.recording import Picture

VISIBLE = 0.01  # of a weight


@dataclass(frozen=True, eq=False)
class Compared:
    """Pictures by kind for both sides; `how` says how the tokens were read."""

    sides: dict[str, dict[str, Picture]]
    how: str

    @property
    def changes(self) -> dict[str, float]:
        """The largest change of a weight, for each kind; where one side is no number, all of it has changed."""
        right, wrong = self.sides["right"], self.sides["wrong"]
        return {kind: _largest(wrong[kind].values - right[kind].values) for kind in right}

    @property
    def outside(self) -> dict[str, float]:
        """The most weight of a row that lies where the mask forbids, for each kind, with the mistakes."""
        return {kind: _largest(picture.outside) for kind, picture in self.sides["wrong"].items()}

    def kind_to_look_at(self, now: str) -> str:
        """Where weight lies outside the mask, else where most has changed; `now` if that shows there already."""
        for seen in (self.outside, self.changes):
            most = max(seen, key=lambda kind: seen[kind])
            if seen[most] >= VISIBLE:
                return most if seen.get(now, 0.0) < VISIBLE else now
        return now


def _largest(change: np.ndarray) -> float:
    return float(np.nan_to_num(np.abs(change), nan=1.0).max(initial=0.0))


def compared_of(message: Message) -> Compared:
    """What a `compared` message tells, as pictures."""
    sides: dict[str, dict[str, Picture]] = {"right": {}, "wrong": {}}
    for side, pictures in sides.items():
        for kind in message["queries"]:
            values, intended = message.arrays[f"{kind}.{side}"], message.arrays[f"{kind}.intended"]
            queries, keys = tuple(message["queries"][kind]), tuple(message["keys"][kind])
            pictures[kind] = Picture(kind, "weights", values, intended, queries, keys)
    return Compared(sides, message["how"])
