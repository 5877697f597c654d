"""What the window is told of mistakes and presets when it is welcomed."""

from __future__ import annotations

from typing import Any

from mlxdecoder.app.cards import CARDS
from mlxdecoder.errors import UserError
from mlxdecoder.mistakes import CATALOGUE, Mistake
from mlxdecoder.mistakes.entry import WITHOUT
from mlxdecoder.training.presets import FOR_CORPUS, FOR_TOY, PRESETS, Preset

TOLD = (
    *("id", "number", "title", "stage", "right", "wrong", "heatmap", "curves", "generation"),
    *("trains_only", "generates_only", "harmless"),
)


def entries() -> list[dict[str, Any]]:
    """The catalogue in the order in which it is best taught, each entry with its question and answer."""
    return [_entry(mistake) for mistake in CATALOGUE]


def presets() -> list[dict[str, Any]]:
    """The sizes of model and training to choose from, the smallest first."""
    usual_for = {FOR_TOY: "toy", FOR_CORPUS: "corpus"}
    return [
        {
            "name": name,
            "title": preset.title,
            "purpose": preset.purpose,
            "steps": preset.training.steps,
            "usual_for": usual_for.get(name, ""),
        }
        for name, preset in PRESETS.items()
    ]


def find_preset(name: str) -> Preset:
    """The preset of this name; UserError when there is none."""
    if name not in PRESETS:
        raise UserError(f"preset: {name!r} found; known are {', '.join(PRESETS)}.")
    return PRESETS[name]


def _entry(mistake: Mistake) -> dict[str, Any]:
    card = CARDS[mistake.id]
    told = {name: getattr(mistake, name) for name in TOLD}
    told["concerns"] = [architecture for architecture in WITHOUT if mistake.concerns(architecture)]
    return {**told, "contracts": list(mistake.contracts), "question": card.question, "answer": card.answer}
