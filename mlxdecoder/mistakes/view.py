"""The right model and the mistaken one on the same tokens, beside each other, and the numbers of every head."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlxdecoder.html import AttentionView
from mlxdecoder.maps import TOLERANCE, AttentionMap


@dataclass(frozen=True)
class HeadNumbers:
    """One head: its smallest and largest row sum, mean weight outside the intended mask, mean entropy (nats), NaNs."""

    kind: str
    layer: int
    head: int
    least_sum: float
    largest_sum: float
    outside: float
    entropy: float
    not_finite: int


@dataclass(frozen=True, repr=False)
class View:
    """The right model and the mistaken one on the same tokens: maps by kind, and how far their predictions are apart.

    `divergence` [T] is the Kullback-Leibler divergence of the mistaken next-token distribution from the right one, in
    nats, after each token that was read; NaN where the mistaken one is no distribution.
    """

    correct: dict[str, AttentionMap]
    mistaken: dict[str, AttentionMap]
    divergence: np.ndarray

    def _repr_html_(self) -> str:
        """Both side by side, as an interactive page."""
        return self.page()._repr_html_()

    def __repr__(self) -> str:
        return f"View({', '.join(self.correct)}; {len(self.divergence)} steps)"

    def page(self, title: str = "", note: str = "") -> AttentionView:
        """Correct, mistaken and their difference: shows itself in a notebook, saves itself for a browser."""
        first = self.most_changed()[0]
        kinds = sorted(self.correct, key=lambda kind: kind != first)
        sides = {"correct": self.correct, "mistaken": self.mistaken}
        return AttentionView({name: [maps[kind] for kind in kinds] for name, maps in sides.items()}, title, note)

    def most_changed(self) -> tuple[str, int, int]:
        """Kind, layer and head that show most: weights that are illegal, or else those that differ most."""
        shown = {kind: illegal(self.mistaken[kind]) for kind in self.mistaken}
        if max(float(head.max()) for head in shown.values()) <= TOLERANCE:
            shown = {kind: change_of(self.correct[kind], self.mistaken[kind]) for kind in self.correct}
        kind = max(shown, key=lambda kind: float(shown[kind].max()))
        layer, head = np.unravel_index(int(shown[kind].argmax()), shown[kind].shape)
        return kind, int(layer), int(head)

    def to_dict(self) -> dict[str, Any]:
        """The numbers of every head on both sides and the divergence, as what JSON knows."""
        return {
            "divergence": [_finite(float(value)) for value in self.divergence],
            "correct": [_row(one) for one in head_numbers(self.correct)],
            "mistaken": [_row(one) for one in head_numbers(self.mistaken)],
        }


def head_numbers(maps: dict[str, AttentionMap]) -> Iterator[HeadNumbers]:
    """The numbers of every head, kind by kind."""
    for kind, attention in maps.items():
        sums, outside, entropy = attention.row_sums(), attention.mass_outside(), attention.entropy()
        broken = ~np.isfinite(attention.weights)
        for layer, head in np.ndindex(sums.shape[:2]):
            one = (layer, head)
            yield HeadNumbers(
                kind,
                attention.layers[layer],
                attention.heads[head],
                float(sums[one].min()),
                float(sums[one].max()),
                float(outside[one].mean()),
                float(entropy[one].mean()),
                int(broken[one].sum()),
            )


def change_of(correct: AttentionMap, mistaken: AttentionMap) -> np.ndarray:
    """The largest change of a weight in each head [L, H]."""
    change = np.abs(mistaken.weights - correct.weights)
    return np.asarray(np.where(np.isfinite(change), change, np.inf).max(axis=(2, 3)))


def illegal(attention: AttentionMap) -> np.ndarray:
    """How much is wrong in a row of each head [L, H]: weight outside the mask, a sum that is off; NaN is worst."""
    wrong = attention.mass_outside() + attention.row_sum_errors()
    return np.asarray(np.where(np.isfinite(wrong), wrong, np.inf).max(axis=2))


def _row(numbers: HeadNumbers) -> dict[str, Any]:
    return {name: _finite(value) for name, value in vars(numbers).items()}


def _finite(value: Any) -> Any:
    """A value as JSON knows it: null for a number that is none."""
    return value if not isinstance(value, float) or np.isfinite(value) else None
