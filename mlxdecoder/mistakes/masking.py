"""Masks that are wrong, as values: what the mistakes about who sees whom are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mlxdecoder.masks import Full, Mask, parts_of
from mlxdecoder.recipe import Layout


@dataclass(frozen=True)
class Ahead(Mask):
    """A causal mask that is `steps` off: a query sees the slots up to its own and `steps` more, or fewer."""

    steps: int

    def allowed(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        return (keys[None, :] <= queries[:, None] + self.steps)[None, None]


@dataclass(frozen=True)
class Turned(Mask):
    """A mask with queries and keys exchanged."""

    inner: Mask

    @property
    def batch(self) -> int | None:
        return self.inner.batch

    def allowed(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        return self.inner.allowed(keys, queries).swapaxes(-1, -2)

    def rows(self, indices: Sequence[int]) -> Turned:
        return Turned(self.inner.rows(indices))

    def positions(self, slots: np.ndarray) -> np.ndarray:
        return self.inner.positions(slots)


def exchanged(mask: Mask, kind: type[Mask], put: Callable[[Mask], Mask]) -> Mask:
    """The mask with each of its parts of one kind exchanged for another one."""
    combined: Mask = Full()
    for part in parts_of(mask):
        combined = combined & (put(part) if isinstance(part, kind) else part)
    return combined


def without(mask: Mask, kind: type[Mask]) -> Mask:
    """The mask without its parts of one kind."""
    return exchanged(mask, kind, lambda part: Full())


MaskChoice = Callable[[Layout], Mask]


def dropping(kind: type[Mask]) -> Callable[[MaskChoice], MaskChoice]:
    """A change of a recipe's mask: masks of one kind are forgotten."""
    return lambda before: lambda layout: without(before(layout), kind)


def putting(kind: type[Mask], put: Callable[[Mask], Mask]) -> Callable[[MaskChoice], MaskChoice]:
    """A change of a recipe's mask: masks of one kind are exchanged."""
    return lambda before: lambda layout: exchanged(before(layout), kind, put)
