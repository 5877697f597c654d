"""What the worker has told of a corpus: what it was recognised as, some pairs, and what training drops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mlxdecoder.app.protocol import Message

State = str  # "unread", "reading", "read", "stopped", "refused"


@dataclass
class CorpusLog:
    """`asked` are the fields of the request; `sides` says what `offered` and `chosen` are: "columns", say."""

    asked: Mapping[str, Any] = field(default_factory=dict)
    state: State = "unread"
    text: str = ""  # what was recognised
    sides: str = ""
    offered: tuple[str, ...] = ()
    chosen: tuple[int, int] | None = None  # places of source and target in what is offered
    header: bool | None = None  # whether the first row names the columns; None: not a table
    preview: tuple[tuple[str, str], ...] = ()
    rows: int = 0  # that were read so far
    counted: str = ""  # the pairs, and what is left out
    why: str = ""  # it cannot be read

    def take(self, message: Message) -> None:
        """Add what a message of an inspection tells."""
        {
            "recognised": self._recognised,
            "counted": self._counted,
            "inspected": self._inspected,
            "refused": self._refused,
            "broken": self._refused,
        }[message.kind](message)

    def _recognised(self, message: Message) -> None:
        self.text, self.sides, self.offered = message["text"], message["sides"], tuple(message["offered"])
        chosen = message["chosen"]
        self.chosen = (chosen[0], chosen[1]) if chosen else None
        self.header = message["header"]
        self.preview = tuple((source, target) for source, target in message["pairs"])

    def _counted(self, message: Message) -> None:
        self.rows = message["rows"]

    def _inspected(self, message: Message) -> None:
        self.state, self.counted = "read", message["text"]

    def _refused(self, message: Message) -> None:
        self.state, self.why = "refused", message["message"]
