"""Attention in float64 NumPy, head by head, with its gradients: what the kernels are held against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Truth:
    """Output [B, H, T, dv], log-sum-exp [B, H, T], weights and scores [B, H, T, S]; scores not seen are -inf."""

    output: np.ndarray
    lse: np.ndarray
    weights: np.ndarray
    scores: np.ndarray

    @property
    def largest_score(self) -> float:
        return float(np.abs(self.scores[np.isfinite(self.scores)]).max(initial=0))


def attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    allowed: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    scale: float | None = None,
) -> Truth:
    """Rows that see nothing have zeros and -inf; `allowed` and `bias` broadcast to [B, H, T, S]."""
    query, key, value = (x.astype(np.float64) for x in (query, key, value))
    (B, H, T, dk), S = query.shape, key.shape[2]
    group, scale = H // key.shape[1], dk**-0.5 if scale is None else scale
    scores = np.zeros((B, H, T, S))
    for b, h in np.ndindex(B, H):
        scores[b, h] = scale * query[b, h] @ key[b, h // group].T
    scores = scores + (0 if bias is None else bias)
    scores = np.where(True if allowed is None else allowed, scores, -np.inf)
    top = np.maximum(scores.max(axis=-1, keepdims=True), np.finfo(float).min)
    raised = np.exp(scores - top)
    total = raised.sum(axis=-1, keepdims=True)
    weights = raised / np.where(total > 0, total, 1)
    lse = np.where(total > 0, top + np.log(np.where(total > 0, total, 1)), -np.inf)[..., 0]
    output = np.zeros((B, H, T, value.shape[3]))
    for b, h in np.ndindex(B, H):
        output[b, h] = weights[b, h] @ value[b, h // group]
    return Truth(output, lse, weights, scores)


def gradients(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    weights: np.ndarray,
    scale: float,
    to_output: np.ndarray,
    to_lse: np.ndarray,
) -> dict[str, np.ndarray]:
    """What comes back to queries, keys, values and scores from output [B, H, T, dv] and log-sum-exp [B, H, T]."""
    query, key, value, to_output, to_lse = (x.astype(np.float64) for x in (query, key, value, to_output, to_lse))
    group = query.shape[1] // key.shape[1]
    of_query, of_key, of_value, of_scores = (np.zeros(x.shape) for x in (query, key, value, weights))
    for b, h in np.ndindex(query.shape[:2]):
        mine, shared = weights[b, h], h // group
        slopes = to_output[b, h] @ value[b, shared].T
        slopes = mine * (slopes - (mine * slopes).sum(axis=-1, keepdims=True) + to_lse[b, h, :, None])
        of_scores[b, h] = slopes
        of_query[b, h] = scale * slopes @ key[b, shared]
        of_key[b, shared] += scale * slopes.T @ query[b, h]
        of_value[b, shared] += mine.T @ to_output[b, h]
    return {"query": of_query, "key": of_key, "value": of_value, "bias": of_scores}


def slopes(function: Callable[..., float], arrays: Sequence[np.ndarray], step: float = 1e-5) -> list[np.ndarray]:
    """Central differences of a function of some arrays in float64, by every element of each."""
    found = []
    for i, array in enumerate(arrays):
        slope = np.zeros(array.shape)
        for place in np.ndindex(array.shape):
            ends = []
            for direction in (step, -step):
                moved = array.astype(np.float64)
                moved[place] += direction
                ends.append(function(*arrays[:i], moved, *arrays[i + 1 :]))
            slope[place] = (ends[0] - ends[1]) / (2 * step)
        found.append(slope)
    return found


def turn(x: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Features i and i + dh/2 of x [B, H, T, dh] as complex numbers, turned by angles [T, dh/2] or [B, 1, T, dh/2]."""
    half = x.shape[-1] // 2
    turned = (x[..., :half].astype(np.float64) + 1j * x[..., half:]) * np.exp(1j * angles)
    return np.concatenate([turned.real, turned.imag], axis=-1)
