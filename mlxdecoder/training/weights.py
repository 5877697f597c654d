"""Weights by their names into a model, or a word about those that do not fit."""

from __future__ import annotations

from pathlib import Path

import mlx.core as mx
from mlx.utils import tree_flatten

from mlxdecoder.errors import UserError, listed, shown
from mlxdecoder.models import Encoder, LanguageModel, Translator


def put_weights(model: Encoder | LanguageModel | Translator, weights: dict[str, mx.array], name: Path) -> None:
    """Load weights into a model; raises `UserError` that lists what is missing, left over or of another shape."""
    wanted = dict(tree_flatten(model.parameters()))
    missing, extra = sorted(wanted.keys() - weights.keys()), sorted(weights.keys() - wanted.keys())
    wrong = [key for key in wanted.keys() & weights.keys() if wanted[key].shape != weights[key].shape]
    check_names(name, missing, extra, {key: (weights[key].shape, wanted[key].shape) for key in wrong})
    broken = [key for key in sorted(weights) if not mx.isfinite(weights[key]).all().item()]
    if broken:
        raise UserError(f"{name}: {broken[0]} holds values that are no numbers; take an earlier checkpoint.")
    model.load_weights(list(weights.items()))


def check_names(
    name: Path, missing: list[str], extra: list[str], wrong: dict[str, tuple[tuple[int, ...], tuple[int, ...]]]
) -> None:
    """Raise `UserError` that lists what is missing, left over, or of another shape (found, wanted)."""
    parts = [
        f"{what} {listed([*map(shown, names)])}"
        for what, names in (("missing", missing), ("left over", extra))
        if names
    ]
    if wrong:
        shapes = [f"{shown(key)} {found}, wanted {wanted}" for key, (found, wanted) in sorted(wrong.items())]
        parts.append(f"of another shape {listed(shapes)}")
    if parts:
        raise UserError(f"{name}: does not fit the config: {'; '.join(parts)}.")
