"""What the window is told of mistakes and presets when it is welcomed."""

from __future__ import annotations

from typing import Any

from mlxdecoder.app.cards import CARDS
from mlxdecoder.mistakes import CATALOGUE, Mistake
from mlxdecoder.training.presets import PRESETS

TITLES = {
    "toy": "Toy: 0.3 million parameters, the toy sentences in about a minute",
    "small": "Small: 1.5 million parameters, short real sentences",
    "real": "Real text: the same size, trained for an hour of one core",
    "mac": "Real text on a Mac: 2.5 million parameters, big batches",
}
TOLD = (
    *("id", "number", "title", "stage", "right", "wrong", "heatmap", "curves", "generation"),
    *("trains_only", "generates_only", "harmless"),
)


def entries() -> list[dict[str, Any]]:
    """The catalogue in the order in which it is best taught, each entry with its question and answer."""
    return [_entry(mistake) for mistake in CATALOGUE]


def presets() -> list[dict[str, Any]]:
    """The sizes of model and training to choose from, the smallest first."""
    return [{"name": name, "title": TITLES[name], "steps": preset.training.steps} for name, preset in PRESETS.items()]


def _entry(mistake: Mistake) -> dict[str, Any]:
    card = CARDS[mistake.id]
    told = {name: getattr(mistake, name) for name in TOLD}
    return {**told, "contracts": list(mistake.contracts), "question": card.question, "answer": card.answer}
