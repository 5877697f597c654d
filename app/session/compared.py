"""A sentence with the mistakes and without, over the same tokens, read in the way in which the mistakes are met."""

from __future__ import annotations

from dataclasses import dataclass

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.recording import Picture


@dataclass(frozen=True, eq=False)
class Compared:
    """Pictures by kind for both sides; `how` says how the tokens were read."""

    sides: dict[str, dict[str, Picture]]
    how: str

    def reach(self, kind: str) -> float:
        """The largest size of any weight, on either side."""
        return max(float(abs(side[kind].values).max(initial=0)) for side in self.sides.values() if kind in side)


def compared_of(message: Message) -> Compared:
    """What a `compared` message tells, as pictures."""
    sides: dict[str, dict[str, Picture]] = {"right": {}, "wrong": {}}
    for side, pictures in sides.items():
        for kind in message["queries"]:
            values, intended = message.arrays[f"{kind}.{side}"], message.arrays[f"{kind}.intended"]
            queries, keys = tuple(message["queries"][kind]), tuple(message["keys"][kind])
            pictures[kind] = Picture(kind, "weights", values, intended, queries, keys)
    return Compared(sides, message["how"])
