"""A model that writes ends of lines: with pieces for bytes any model can, and one that has learnt little does."""

from __future__ import annotations

import pytest

from mlxdecoder.text.tokenizer import Tokenizer
from mlxdecoder.translate import load


def write_line_ends(monkeypatch: pytest.MonkeyPatch, command: str, end: str) -> None:
    """Let `command` have the packaged model, as if it wrote `end` for each space and behind the text."""
    checkpoint, decode = load(), Tokenizer.decode
    monkeypatch.setattr(f"mlxdecoder.commands.{command}.load", lambda *_: checkpoint)
    monkeypatch.setattr(Tokenizer, "decode", lambda *given: decode(*given).replace(" ", end) + end)
