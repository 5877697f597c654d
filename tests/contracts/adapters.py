"""Wrong recipes that the contracts on decoders and translators have to find, and a small decoder in NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder import recipe as right
from mlxdecoder.masks import Documents, Full, Mask, Padding
from mlxdecoder.recipe import RIGHT, Layout, Recipe
from tests.builders import POSITIONS

VARIANTS: list[dict[str, Any]] = [
    {"n_kv_heads": 2, "seed": 0},
    {"norm": "post", "n_kv_heads": 4, "seed": 1},
    {"norm_kind": "rms", "window": 4, "n_kv_heads": 1, "seed": 2},
]
"""Shapes of right models: norms, shared heads, windows."""


def every_scheme() -> list[Any]:
    """All kinds of positions in all variants, each kind once in a quick test and in a slow one for the rest."""
    grid = itertools.product(enumerate(POSITIONS), enumerate(VARIANTS))
    return [
        pytest.param(positions, variant, marks=[pytest.mark.slow] if (i + j) % 3 else [], id=f"{positions}-{j}")
        for (i, positions), (j, variant) in grid
    ]


class Rule(Mask):
    """A mask by any rule on query and key slots."""

    def __init__(self, rule: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> None:
        self.rule = rule

    def allowed(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        return self.rule(queries[:, None], keys[None, :])[None, None]


@dataclass(frozen=True)
class OnQueries(Mask):
    """A padding mask that lies on the wrong axis."""

    padding: Mask

    def allowed(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        drawn = self.padding.allowed(queries, keys)
        return drawn if isinstance(self.padding, Documents) else drawn.swapaxes(-1, -2)


def without(kind: type[Mask], layout: Layout) -> Layout:
    """The layout of a batch, but for its padding or its documents."""
    source, target = (Full() if isinstance(mask, kind) else mask for mask in (layout.source, layout.target))
    return replace(layout, source=source, target=target)


def decoder_mask(rule: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[[Layout], Mask]:
    return lambda layout: Rule(rule) & layout.target & layout.window


def fill(value: float) -> Callable[[mx.array, mx.array], mx.array]:
    return lambda scores, allowed: mx.where(allowed, scores, mx.array(value, scores.dtype))


def plain_softmax(scores: mx.array, allowed: mx.array | None) -> mx.array:
    return mx.softmax(scores, axis=-1)


def zero_after(scores: mx.array, allowed: mx.array | None) -> mx.array:
    weights = mx.softmax(scores, axis=-1)
    return weights if allowed is None else mx.where(allowed, weights, 0)


def over_queries(scores: mx.array, allowed: mx.array | None) -> mx.array:
    weights = mx.softmax(scores, axis=-2)
    return mx.where(mx.isnan(weights), 0, weights)


def reshape_only(x: mx.array, n_heads: int) -> mx.array:
    return x.reshape(len(x), n_heads, x.shape[1], -1)


def join_only(x: mx.array) -> mx.array:
    return x.reshape(len(x), x.shape[2], -1)


def exchange_axes(x: mx.array, n_heads: int) -> mx.array:
    B, T, _ = x.shape
    return x.reshape(T, B, n_heads, -1).transpose(1, 2, 0, 3)


MISTAKES: dict[str, Recipe] = {
    "no mask": replace(RIGHT, decoder_mask=lambda layout: layout.target & layout.window),
    "transposed": replace(RIGHT, decoder_mask=decoder_mask(lambda q, k: k >= q)),
    "off by one": replace(RIGHT, decoder_mask=decoder_mask(lambda q, k: k <= q + 1)),
    "strict": replace(
        RIGHT, decoder_mask=decoder_mask(lambda q, k: k < q), apply_mask=fill(-1e9), normalise=plain_softmax
    ),
    "strict nan": replace(
        RIGHT, decoder_mask=decoder_mask(lambda q, k: k < q), apply_mask=fill(-np.inf), normalise=plain_softmax
    ),
    "zero after softmax": replace(RIGHT, apply_mask=lambda scores, _: scores, normalise=zero_after),
    "fill -10": replace(RIGHT, apply_mask=fill(-10.0), normalise=plain_softmax),
    "fill -1e-9": replace(RIGHT, apply_mask=fill(-1e-9), normalise=plain_softmax),
    "inverted": replace(RIGHT, apply_mask=lambda scores, allowed: right.apply_mask(scores, ~allowed)),
    "inverted -1e9": replace(
        RIGHT, apply_mask=lambda scores, allowed: fill(-1e9)(scores, ~allowed), normalise=plain_softmax
    ),
    "over queries": replace(RIGHT, normalise=over_queries),
    "reshape": replace(RIGHT, split_heads=reshape_only),
    "reshape both": replace(RIGHT, split_heads=reshape_only, merge_heads=join_only),
    "axes exchanged": replace(RIGHT, split_heads=exchange_axes),
    "cache position 0": replace(RIGHT, position_start=lambda offset: 0),
    "cache mask top left": replace(RIGHT, mask_start=lambda offset: 0),
    "padding forgotten": replace(
        RIGHT,
        encoder_mask=lambda layout: right.encoder_mask(without(Padding, layout)),
        decoder_mask=lambda layout: right.decoder_mask(without(Padding, layout)),
        cross_mask=lambda layout: right.cross_mask(without(Padding, layout)),
    ),
    "padding on queries": replace(
        RIGHT,
        encoder_mask=lambda layout: OnQueries(layout.source),
        cross_mask=lambda layout: right.cross_mask(without(Padding, layout)),
    ),
    "cross padding forgotten": replace(RIGHT, cross_mask=lambda layout: right.cross_mask(without(Padding, layout))),
    "documents forgotten": replace(RIGHT, decoder_mask=lambda layout: right.decoder_mask(without(Documents, layout))),
    "cross documents forgotten": replace(RIGHT, cross_mask=lambda layout: right.cross_mask(without(Documents, layout))),
    "causal crossing": replace(RIGHT, cross_mask=lambda layout: Rule(lambda q, k: k <= q) & layout.crossing),
    "dropout": replace(RIGHT, drops_while_generating=True),
}


@dataclass(frozen=True)
class Plain:
    """One head and `layers` layers without norms, in NumPy.

    `sees` gives, for tokens [B, T], which keys each query may attend to [B or 1, T, T], `places` their positions.
    """

    sees: Callable[[np.ndarray], np.ndarray]
    places: Callable[[np.ndarray], np.ndarray] = lambda tokens: np.arange(tokens.shape[1])
    layers: int = 2
    seed: int = 0

    def __call__(self, tokens: np.ndarray) -> np.ndarray:
        random = np.random.default_rng(self.seed)
        table, positions, *weights = (random.normal(size=(n, 12)) for n in (20, 64, *[12] * 3 * self.layers))
        x = table[tokens] + positions[self.places(tokens)]
        for wq, wk, wv in zip(*[iter(weights)] * 3, strict=True):
            scores = (x @ wq) @ (x @ wk).swapaxes(-1, -2) / 12**2.5
            raised = np.where(self.sees(tokens), np.exp(scores - scores.max(axis=-1, keepdims=True)), 0)
            x = x + raised / raised.sum(axis=-1, keepdims=True) @ (x @ wv) / 3
        return x @ table.T


def triangle(tokens: np.ndarray) -> np.ndarray:
    """The causal mask [1, T, T]."""
    return np.tril(np.ones((1, tokens.shape[1], tokens.shape[1]), dtype=bool))


def documents(tokens: np.ndarray, separator: int) -> np.ndarray:
    """Which document each token belongs to [B, T]; the separator ends one."""
    ends = tokens == separator
    return np.cumsum(ends, axis=1) - ends
