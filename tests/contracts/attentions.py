"""Attention as people write it, right and wrong, in few lines of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray
Attention = Callable[..., Any]


def softmax(scores: Array, axis: int = -1) -> Array:
    raised = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return raised / raised.sum(axis=axis, keepdims=True)


def keep(scores: Array, mask: Array) -> Array:
    return np.where(mask, scores, -1e9)


def attention(
    fill: Callable[[Array, Array], Array] = keep,
    scale: Callable[[Array], float] = lambda q: q.shape[-1] ** -0.5,
    normalise: Callable[[Array], Array] = softmax,
    late: Callable[[Array, Array], Array] = lambda weights, mask: weights,
    share: Callable[[Array, int], Array] = lambda x, n: np.repeat(x, n, axis=1),
) -> Attention:
    """Each choice as a function of its own."""

    def f(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
        if q.ndim == 4:
            k, v = (share(x, q.shape[1] // x.shape[1]) for x in (k, v))
        scores = (q * scale(q)) @ k.swapaxes(-1, -2)
        weights = normalise(scores if mask is None else fill(scores, mask))
        return (weights if mask is None else late(weights, mask)) @ v

    return f


def zero_empty(weights: Array, mask: Array) -> Array:
    """Zeros for rows that see nothing, where True = may attend."""
    return np.where(np.broadcast_to(mask, weights.shape).any(axis=-1, keepdims=True), weights, 0)


def unstable(scores: Array) -> Array:
    raised = np.exp(scores.astype(np.float32))
    return raised / raised.sum(axis=-1, keepdims=True)
