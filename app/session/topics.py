"""What a session tells its listeners of, and which messages of the worker are the last ones to a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from mlxdecoder.app.protocol import Message

Topic = Literal[
    "document",
    "welcome",
    "model",
    "recording",
    "token",
    "comparison",
    "training",
    "corpus",
    "twin",
    "verdict",
    "diagnosis",
    "shapes",
    "cost",
    "exported",
    "busy",
    "notice",
    "worker",
]
Send = Callable[[Message], None]
Listener = Callable[[Topic], None]
LAST = (
    "generated",
    "compared",
    "shapes",
    "cost",
    "verdict",
    "diagnosis",
    "trained",
    "exported",
    "inspected",
    "model",
    "refused",
    "broken",
)
