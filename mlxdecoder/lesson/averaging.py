"""From the mean over the past to attention, in four rungs: a loop, a product, a softmax of zeros, learned scores."""

from __future__ import annotations

import mlx.core as mx
import numpy as np

from mlxdecoder.attention import attention
from mlxdecoder.lesson.pytorch import head_weights, pytorch_figures
from mlxdecoder.lesson.report import Check, Grids, LessonReport, largest_difference
from mlxdecoder.masks import Causal

EXACT = 1e-6


def report() -> LessonReport:
    """Climb the ladder on the lesson's four tokens, whose own features are what is averaged."""
    figures = pytorch_figures()
    x = figures["self.x"][0]  # [T, d]
    wq, wk, _ = head_weights(figures, "self")
    mean, triangle = mean_by_loop(x), mean_weights(len(x))
    uniform, uniform_weights = by_attention(x, np.zeros_like(wq), np.zeros_like(wk))
    learned, learned_weights = by_attention(x, wq, wk)
    outputs = {"1 loop": mean, "2 triangle": triangle @ x, "3 softmax of 0": uniform, "4 learned": learned}
    weights = {"2 triangle": triangle, "3 softmax of 0": uniform_weights, "4 learned": learned_weights}
    checks = (
        Check("1 = 2: the loop and the lower triangle", largest_difference(mean, triangle @ x), EXACT),
        Check("2 = 3: the triangle and the masked softmax of zeros", largest_difference(triangle @ x, uniform), EXACT),
        Check("2 = 3: their weights", largest_difference(triangle, uniform_weights), EXACT),
        Check("4 has weights of its own", largest_difference(uniform_weights, learned_weights), EXACT, equal=False),
        Check("4: its weights sum to 1", largest_difference(learned_weights.sum(-1), np.ones(len(x))), EXACT),
        Check("4 with query weights of 0 = 3", _distance(x, np.zeros_like(wq), wk, uniform), EXACT),
        Check("4 with key weights of 0 = 3", _distance(x, wq, np.zeros_like(wk), uniform), EXACT),
    )
    sections = (
        Grids("Weights", weights, [f"k{i + 1}" for i in range(len(x))], decimals=3),
        Grids("Outputs, the first 3 of 8 features", _first(outputs, 3), ["f1", "f2", "f3"], decimals=3),
    )
    claim = "Rungs 1, 2 and 3 are one; rung 4 becomes them when its query or key weights are zero."
    return LessonReport(sections, checks, claim)


def mean_by_loop(x: np.ndarray) -> np.ndarray:
    """Rung 1: each token [T, d] becomes the mean of itself and of all before it."""
    means = []
    for t in range(len(x)):
        total = np.zeros_like(x[0])
        for past in x[: t + 1]:
            total = total + past
        means.append(total / (t + 1))
    return np.stack(means)


def mean_weights(T: int) -> np.ndarray:
    """Rung 2: the same as a matrix [T, T], the lower triangle of ones with every row divided by its sum."""
    triangle = np.tril(np.ones((T, T), np.float32))
    return np.asarray(triangle / triangle.sum(axis=1, keepdims=True))


def by_attention(x: np.ndarray, wq: np.ndarray, wk: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rungs 3 and 4: causal attention with query and key weights [d, d] over x [T, d] itself; outputs and weights."""
    stages: dict[str, mx.array] = {}
    states = mx.array(x)[None, None]  # [1, 1, T, d]
    query, key = states @ mx.array(wq).T, states @ mx.array(wk).T
    output = attention(query, key, states, Causal(), watch=stages.__setitem__)
    return np.array(output)[0, 0], np.array(stages["weights"])[0, 0]


def _distance(x: np.ndarray, wq: np.ndarray, wk: np.ndarray, wanted: np.ndarray) -> float:
    return largest_difference(by_attention(x, wq, wk)[0], wanted)


def _first(grids: dict[str, np.ndarray], n: int) -> dict[str, np.ndarray]:
    return {name: grid[:, :n] for name, grid in grids.items()}
