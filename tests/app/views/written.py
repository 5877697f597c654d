"""Generations as a worker would tell them, with candidates and a cache, for the panels that walk through them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session
from tests.app.views.sessions import SOURCE, run_of, tell_model

WORDS = ("▁Le", "▁chat", "▁noir", "▁dort", ".", "</s>")
N_OTHERS = 9
KEYS = 64  # bytes of the keys and values of one position


def told(step: int, word: str, translation: str = "", **changes: Any) -> dict[str, Any]:
    """The fields of a step that chose `word`, id 100 + step, with probability 0.8 before nine others of 0.02."""
    others = [[200 + other, f"▁other{other}", 0.02] for other in range(N_OTHERS)]
    cache = {"read": KEYS * step, "added": KEYS, "held": KEYS * (step + 1)}
    return {
        "step": step,
        "id": 100 + step,
        "text": word,
        "logprob": math.log(0.8),
        "candidates": [[100 + step, word, 0.8], *others],
        "piece": word,
        "translation": translation or "".join(WORDS[: step + 1]).replace("▁", " ").strip(),
        "seconds": 0.01,
        "cache": cache,
        "slots": list(range(step + 1)),
        **changes,
    }


def tell_source(session: Session, run: int, unknown: Sequence[str] = ()) -> None:
    fields = {"tokens": list(SOURCE), "begin": "<s>", "unknown": list(unknown)}
    session.receive(Message("source", run, fields))


def tell_word(session: Session, run: int, step: int, word: str, translation: str = "", **changes: Any) -> None:
    session.receive(Message("token", run, told(step, word, translation, **changes)))


def tell_end(session: Session, run: int, reason: str = "stop", translation: str = "Le chat noir dort.") -> None:
    session.receive(Message("generated", run, {"reason": reason, "translation": translation, "tokens": []}))


def write(session: Session, run: int, words: Sequence[str] = WORDS) -> None:
    """The source and these words, without an end."""
    tell_source(session, run)
    for step, word in enumerate(words):
        tell_word(session, run, step, word, "".join(words[: step + 1]).replace("▁", " ").strip())


def written(session: Session, sent: list[Message], words: Sequence[str] = WORDS) -> None:
    """A model that is open, and a whole generation of these words."""
    tell_model(session, sent)
    run = run_of(sent)
    write(session, run, words)
    tell_end(session, run, translation="".join(words[:-1]).replace("▁", " ").strip())


def asked(sent: Sequence[Message]) -> Message:
    """The newest request for a generation."""
    return [one for one in sent if one.kind == "generate"][-1]


def count_of(sent: Sequence[Message], kind: str) -> int:
    return sum(one.kind == kind for one in sent)
