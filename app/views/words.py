"""The words of the heatmaps: kinds, stages and sides with what they mean, numbers, and tokens in any script. No Qt."""

from __future__ import annotations

import math
from functools import lru_cache

from mlxdecoder.app.views.wording import isolated
from mlxdecoder.labels import elided, visible

KINDS = {
    "encoder": ("Encoder", "Each token of the source looks at the whole source."),
    "decoder": ("Decoder", "Each token looks at itself and at what stands before it."),
    "cross": ("Cross", "Each token of the translation looks at the source."),
}
ALONE = ("Self-attention", KINDS["decoder"][1])  # what the decoder's is called where there is no other
STAGES = {
    "scores": ("Scores", "How well each query fits each key: their dot product, as it comes out."),
    "scaled": ("Scaled", "The scores divided by the root of the head's width, with any bias for positions."),
    "masked": ("Masked", "The scaled scores after the mask: what may not be seen is minus infinity."),
    "weights": ("Weights (softmax)", "What softmax makes of the masked scores: each row is shared out among the keys."),
    "norms": (
        "Weights × value size",
        "The size of what each key really brings into the sum: its weight times the length of its value after the "
        "output projection. A large weight on a short value does little.",
    ),
}
SIDES = {
    "wrong": ("Mistaken", "The attention with the mistakes that are on."),
    "right": ("Correct", "The attention of the same model without the mistakes."),
    "change": (
        "Difference",
        "Mistaken minus correct, on the same scale, for as long as both have read the same tokens.",
    ),
}
UNITS = {"scores": "score", "scaled": "scaled score", "masked": "masked score", "weights": "weight", "norms": "size"}


@lru_cache(4096)
def label(token: str) -> str:
    """A token for an axis: visible, elided in the middle, and without effect on the direction of its surroundings."""
    return isolated(elided(token))


def whole(token: str) -> str:
    """A token in full, for a sentence or a tooltip."""
    return isolated(visible(token))


def number(value: float, signed: bool = False) -> str:
    """A value in few characters; signed ones with a plus."""
    if math.isnan(value):
        return "no value"
    if math.isinf(value):
        return "−∞" if value < 0 else "+∞" if signed else "∞"
    if value == 0:
        return "0"
    digits = 3 if abs(value) < 10 else 1
    spelled = f"{value:{'+' if signed else ''}.{digits}f}" if 1e-3 <= abs(value) < 1e5 else f"{value:.1e}"
    return spelled.replace("-", "−")


def short(value: float, signed: bool = False) -> str:
    """A value for a cell: two digits behind the point, one when there are others before it."""
    if value == 0 or not math.isfinite(value):
        return "–" if math.isnan(value) else number(value, signed)
    if abs(value) >= 1e4:
        return f"{value:.0e}".replace("-", "−")
    return f"{value:{'+' if signed else ''}.{2 if abs(value) < 10 else 0}f}".replace("-", "−")


def tick(value: float) -> str:
    """A number on a scale."""
    return f"{value:g}".replace("-", "−")
