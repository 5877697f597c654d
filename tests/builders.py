"""Small models, ids and random masks for the tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
import numpy as np
from hypothesis import strategies as st
from mlx.utils import tree_map

from mlxdecoder.config import ModelConfig
from mlxdecoder.masks import Causal, Documents, Full, Mask, Padding, Window
from mlxdecoder.models import make_model
from mlxdecoder.recipe import RIGHT, Recipe
from tests import reference
from tests.reference import Rule

POSITIONS = ("none", "learned", "sinusoidal", "rotary", "relative", "alibi")
VOCABULARY = 24
SHAPE: dict[str, Any] = {
    "target_vocab": VOCABULARY,
    "d_model": 16,
    "n_heads": 4,
    "n_kv_heads": 2,
    "d_ff": 24,
    "n_layers": 2,
    "max_length": 64,
}


def small(architecture: str = "language_model", seed: int = 0, recipe: Recipe = RIGHT, **changes: Any) -> Any:
    """A model of width 16 with random weights, ready to use (not training)."""
    mx.random.seed(seed)
    config = ModelConfig(**{**SHAPE, "architecture": architecture, **changes})
    model = make_model(config, recipe)
    model.eval()
    return model


def lively(architecture: str = "language_model", seed: int = 0, **changes: Any) -> Any:
    """The same with larger weights, so that what it generates depends on what it reads."""
    model = small(architecture, seed, **changes)
    model.update(tree_map(lambda weight: weight * 2.5 if weight.ndim == 2 else weight, model.parameters()))
    return model


def ids(*shape: int, seed: int = 0, low: int = 4, high: int = VOCABULARY) -> np.ndarray:
    """Random ids, without padding and marks."""
    return np.random.default_rng(seed).integers(low, high, shape)


def rows_of(lengths: Sequence[int], seed: int = 0, high: int = VOCABULARY) -> list[list[int]]:
    """Random rows of ids of these lengths."""
    return [ids(length, seed=100 * seed + i, high=high).tolist() for i, length in enumerate(lengths)]


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def numbers(x: mx.array) -> np.ndarray:
    return np.array(x.astype(mx.float32))


def difference(found: mx.array | np.ndarray, wanted: mx.array | np.ndarray) -> float:
    """The largest difference, relative to the largest number that is wanted."""
    found, wanted = (numbers(x) if isinstance(x, mx.array) else x for x in (found, wanted))
    assert found.shape == wanted.shape
    return float(np.abs(found - wanted).max(initial=0) / max(np.abs(wanted).max(initial=0), 1e-30))


MaskAndRule = tuple[Mask, Rule]


@st.composite
def single_masks(draw: Callable[..., Any], B: int, width: int) -> MaskAndRule:
    """A mask of one kind for B rows of `width` slots, with its rule."""
    kind = draw(st.sampled_from(["full", "causal", "window", "right", "left", "documents"]))
    if kind == "window":
        size, keep = draw(st.integers(1, width + 2)), draw(st.integers(0, 3))
        return Window(size, keep), reference.window(size, keep)
    if kind in ("right", "left"):
        lengths = draw(st.lists(st.integers(0, width), min_size=B, max_size=B))
        if kind == "right":
            return Padding.right(lengths, width), reference.right_padding(lengths, width)
        return Padding.left(lengths, width), reference.left_padding(lengths, width)
    if kind == "documents":
        row = st.lists(st.integers(0, 2), min_size=width, max_size=width).map(lambda row: tuple(sorted(row)))
        table = tuple(draw(st.lists(row, min_size=B, max_size=B)))
        return Documents(table), reference.documents(table)
    return (Causal(), reference.causal) if kind == "causal" else (Full(), reference.full)


@st.composite
def masks(draw: Callable[..., Any], B: int, width: int) -> MaskAndRule:
    """One to three masks combined with `&`, with the rule that all of them must allow."""
    parts = draw(st.lists(single_masks(B, width), min_size=1, max_size=3))
    combined = parts[0][0]
    for mask, _ in parts[1:]:
        combined = combined & mask
    return combined, reference.every([rule for _, rule in parts])
