"""All the parameters of a model as one flat array, and the optimiser that updates it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten, tree_unflatten


class FlatParameters:
    """The order in which the parameters of a model lie in one array: few launches for what an optimiser does."""

    def __init__(self, model: nn.Module) -> None:
        leaves: list[tuple[str, mx.array]] = tree_flatten(model.trainable_parameters())
        self.names = [name for name, _ in leaves]
        self.shapes = [array.shape for _, array in leaves]
        sizes = [array.size for _, array in leaves]
        self._ends = [sum(sizes[:i]) for i in range(1, len(sizes))]

    def join(self, tree: Any) -> mx.array:
        """A tree of parameters or gradients as one array [P]."""
        return mx.concatenate([array.reshape(-1) for _, array in tree_flatten(tree)])

    def split(self, flat: mx.array) -> Any:
        """The tree again, of views into the array [P]."""
        parts = mx.split(flat, self._ends)
        named = zip(self.names, parts, self.shapes, strict=True)
        return tree_unflatten([(name, part.reshape(shape)) for name, part, shape in named])


@dataclass(frozen=True)
class AdamW:
    """Adam with decoupled weight decay on flat arrays, Loshchilov and Hutter 2017, https://arxiv.org/abs/1711.05101."""

    beta1: float = 0.9
    beta2: float = 0.98
    epsilon: float = 1e-9
    weight_decay: float = 0.0
    clip: float = 1.0

    def update(
        self, weights: mx.array, gradient: mx.array, moments: tuple[mx.array, mx.array], rate: float, step: int
    ) -> tuple[mx.array, tuple[mx.array, mx.array]]:
        """The weights [P] and moments after step number `step`, counted from 1; the gradient is clipped by its norm."""
        squares = gradient * gradient
        cut = mx.minimum(self.clip / mx.maximum(mx.sqrt(squares.sum()), 1e-12), 1.0)
        first = self.beta1 * moments[0] + ((1 - self.beta1) * cut) * gradient
        second = self.beta2 * moments[1] + ((1 - self.beta2) * cut * cut) * squares
        # The corrections of both moments' bias go into numbers, which saves two passes over the arrays.
        shrink = math.sqrt(1 - self.beta2**step)
        speed = rate / (1 - self.beta1**step) * shrink
        kept = weights * (1 - rate * self.weight_decay) if self.weight_decay else weights
        return kept - first / (mx.sqrt(second) + self.epsilon * shrink) * speed, (first, second)
