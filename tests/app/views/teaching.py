"""A worker that is played by the tests: its catalogue, and its answers to what was asked last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session
from tests.app.session import desk

INNER = ("qt_spinbox_lineedit", "qt_scrollarea_viewport")  # what Qt makes inside a widget that has a name
PRESETS = [
    {"name": "toy", "title": "Toy", "purpose": "The toy sentences.", "steps": 600, "usual_for": "toy"},
    {"name": "small", "title": "Small", "purpose": "Short sentences.", "steps": 3000, "usual_for": "corpus"},
    {"name": "large", "title": "Large", "purpose": "Many sentences: a day.", "steps": 9000, "usual_for": ""},
]
MODEL = {**desk.MODEL, "fingerprint": "abc", "parameters": 290_000}


def entry(name: str, number: int = 1, stage: str = "mask", **others: Any) -> dict[str, Any]:
    """An entry of the catalogue as the worker tells it."""
    told = {
        "id": name,
        "number": number,
        "title": name.replace("-", " ").capitalize(),
        "stage": stage,
        "right": "allowed = keys <= queries",
        "wrong": "allowed = keys <= queries + 1",
        "heatmap": f"heatmap of {name}",
        "curves": f"curves of {name}",
        "generation": f"generation of {name}",
        "question": f"What does {name} do?",
        "answer": f"answer about {name}",
        "contracts": ["T1 causal"],
        "concerns": ["translator", "language_model"],
        "trains_only": False,
        "generates_only": False,
        "harmless": False,
    }
    return {**told, **others}


CATALOGUE = [
    entry("off-by-one", 3),
    entry("no-mask", 1, wrong="pass  # the scores as they are"),
    entry("renormalised", 27, "softmax", harmless=True, contracts=[]),
    entry("over-queries", 15, "softmax", contracts=["T2 rows", "T15 queries"]),
    entry("unshifted", 12, "labels", trains_only=True),
    entry("position-zero", 19, "cache", generates_only=True),
]


def greet(session: Session, sent: list[Message]) -> None:
    """The worker is there, and has opened the packaged model."""
    session.receive(Message("welcome", fields={"version": "1", "catalogue": CATALOGUE, "presets": PRESETS}))
    answer(session, sent, "open", "model", **MODEL)


def asked(sent: Sequence[Message], kind: str) -> Message:
    """The last request of a kind."""
    return [message for message in sent if message.kind == kind][-1]


def answer(
    session: Session,
    sent: Sequence[Message],
    to: str,
    kind: str,
    arrays: dict[str, np.ndarray] | None = None,
    **fields: Any,
) -> None:
    """What the worker tells of the last request of the kind `to`."""
    session.receive(Message(kind, asked(sent, to).run, fields, arrays or {}))


def begin(session: Session, sent: list[Message], steps: int = 600, at: int = 0, folder: str = "/runs/toy 1") -> None:
    """The worker has begun to train."""
    answer(session, sent, "train", "training", steps=steps, rate=0.005, folder=folder, at=at)


def probe_of(session: Session, sent: list[Message], step: int, translation: str, weights: np.ndarray) -> None:
    """The probe sentence at a measurement; `weights` [L, H, T, T] are the decoder's."""
    length = weights.shape[-1]
    tokens = {"decoder": [f"t{place}" for place in range(length)]}
    arrays = {"decoder.weights": weights, "decoder.intended": np.tril(np.ones((length, length), bool))}
    told = {"step": step, "translation": translation, "queries": tokens, "keys": tokens}
    answer(session, sent, "train", "probe", arrays, **told)


def nameless(panel: QWidget) -> list[QWidget]:
    """What can have the focus in a panel, and has neither a name nor a text on it."""
    able = [child for child in panel.findChildren(QWidget) if child.focusPolicy() != Qt.FocusPolicy.NoFocus]
    own = [child for child in able if child.window() is panel.window() and child.objectName() not in INNER]
    return [child for child in own if not child.accessibleName() and not getattr(child, "text", str)()]
