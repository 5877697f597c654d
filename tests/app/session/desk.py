"""A session whose worker is played by the test."""

from __future__ import annotations

from typing import Any

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.document import Document
from mlxdecoder.app.session.session import Session

MODEL: dict[str, Any] = {
    "name": "toy",
    "path": None,
    "fingerprint": "f00",
    "architecture": "translator",
    "layers": 2,
    "encoder_layers": 2,
    "heads": 4,
    "kv_heads": 4,
    "width": 64,
    "vocab": 900,
    "parameters": 1,
    "kinds": ["encoder", "decoder", "cross"],
}


class Desk:
    """A session and what it has sent."""

    def __init__(self, document: Document | None = None) -> None:
        self.sent: list[Message] = []
        self.session = Session(self.sent.append, document)
        self.session.receive(Message("welcome", fields={"catalogue": [], "presets": [], "device": "cpu"}))

    def newest(self, kind: str) -> Message:
        return next(message for message in reversed(self.sent) if message.kind == kind)

    def answer(self, kind: str, to: str, **fields: Any) -> None:
        self.session.receive(Message(kind, self.newest(to).run, fields))


def opened() -> Desk:
    """A desk with a model that was opened."""
    desk = Desk()
    desk.answer("model", "open", **MODEL)
    return desk
