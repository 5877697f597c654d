"""Attention from scratch in NumPy, as tutorials have it: methods for each step, one of which is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.wild.entry import Wild

Array = NDArray[Any]


def softmax(x: Array, axis: int = -1) -> Array:
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


class ScratchAttention:
    """q [B, H, T, d], k and v [B, Hkv, S, d]; mask: True = may attend. Rows that see nothing give zeros."""

    def __call__(self, q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
        n_rep = q.shape[1] // k.shape[1]
        return self.weights(self.scores(q, self.repeat(k, n_rep)), mask) @ self.repeat(v, n_rep)

    def repeat(self, x: Array, n_rep: int) -> Array:
        return np.repeat(x, n_rep, axis=1)

    def scores(self, q: Array, k: Array) -> Array:
        return q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])

    def weights(self, scores: Array, mask: Array | None) -> Array:
        if mask is None:
            return softmax(scores)
        return np.where(mask, softmax(np.where(mask, scores, -1e30)), 0.0)


class Naive(ScratchAttention):
    """exp without taking off the maximum first: right until the scores are large."""

    def weights(self, scores: Array, mask: Array | None) -> Array:
        exponentials = np.exp(scores) * (1 if mask is None else mask)
        return exponentials / (exponentials.sum(axis=-1, keepdims=True) + 1e-12)


class Renormalised(ScratchAttention):
    """Zeroed after the softmax and divided by what is left: unusual, and right."""

    def weights(self, scores: Array, mask: Array | None) -> Array:
        weights = softmax(scores) * (1 if mask is None else mask)
        return weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-30)


class IgnoresMask(ScratchAttention):
    def weights(self, scores: Array, mask: Array | None) -> Array:
        return softmax(scores)


class Transposed(ScratchAttention):
    def weights(self, scores: Array, mask: Array | None) -> Array:
        return super().weights(scores, mask if mask is None else mask.swapaxes(-1, -2))


class ZeroedAfterwards(ScratchAttention):
    def weights(self, scores: Array, mask: Array | None) -> Array:
        return softmax(scores) if mask is None else np.where(mask, softmax(scores), 0.0)


class InfiniteAfterwards(ScratchAttention):
    def weights(self, scores: Array, mask: Array | None) -> Array:
        return softmax(scores) if mask is None else np.where(mask, softmax(scores), -np.inf)


class FilledWith(ScratchAttention):
    def __init__(self, fill: float) -> None:
        self.fill = fill

    def weights(self, scores: Array, mask: Array | None) -> Array:
        return softmax(scores if mask is None else np.where(mask, scores, self.fill))


class MultipliedByMask(ScratchAttention):
    def weights(self, scores: Array, mask: Array | None) -> Array:
        return softmax(scores if mask is None else scores * mask)


class Inverted(ScratchAttention):
    """Blocks what is True, in a project whose masks say True = may attend."""

    def weights(self, scores: Array, mask: Array | None) -> Array:
        return softmax(scores if mask is None else np.where(mask, -1e30, scores))


class Unscaled(ScratchAttention):
    def scores(self, q: Array, k: Array) -> Array:
        return q @ k.swapaxes(-1, -2)


class OverQueries(ScratchAttention):
    def weights(self, scores: Array, mask: Array | None) -> Array:
        return softmax(scores if mask is None else np.where(mask, scores, -1e30), axis=-2)


class Tiled(ScratchAttention):
    def repeat(self, x: Array, n_rep: int) -> Array:
        return np.tile(x, (1, n_rep, 1, 1))


class SingleHead:
    """q [B, T, d], k and v [B, S, d], and a mask that is added: 0 where seen, -1e10 or -inf where not."""

    def __call__(self, q: Array, k: Array, v: Array, mask: Array | float = 0.0) -> Array:
        return self.weights(q @ k.transpose(0, 2, 1), mask, np.sqrt(q.shape[-1])) @ v

    def weights(self, scores: Array, mask: Array | float, root: float) -> Array:
        return softmax(scores / root + mask)


class SingleHeadUnscaled(SingleHead):
    def weights(self, scores: Array, mask: Array | float, root: float) -> Array:
        return softmax(scores + mask)


class SingleHeadOverQueries(SingleHead):
    """What `softmax(x, axis=1)` means once a batch axis has come in front."""

    def weights(self, scores: Array, mask: Array | float, root: float) -> Array:
        return softmax(scores / root + mask, axis=1)


class SingleHeadTooLate(SingleHead):
    def weights(self, scores: Array, mask: Array | float, root: float) -> Array:
        return softmax(scores / root) + mask


def scratch(variant: str, attention: ScratchAttention, mistake: int | None, *blemishes: str) -> Wild:
    # Only the inverted one is told what the mask means: nothing is wrong with blocking what is True elsewhere.
    options = {"mask": "allowed"} if isinstance(attention, Inverted) else {}
    return Wild(f"scratch.{variant}", "attention", lambda _: attention, mistake, options, frozenset(blemishes))


def single(variant: str, attention: SingleHead, mistake: int | None, *blemishes: str) -> Wild:
    return Wild(f"single_head.{variant}", "attention", lambda _: attention, mistake, {}, frozenset(blemishes))


ENTRIES = [
    scratch("right", ScratchAttention(), None),
    scratch("right_naive_softmax", Naive(), None, "large.overflow"),
    scratch("right_renormalised", Renormalised(), None, "large.overflow"),
    scratch("right_filled_with_a_billion", FilledWith(-1e9), None, "empty.uniform"),
    scratch("right_filled_with_infinity", FilledWith(-np.inf), None, "nan.empty"),
    scratch("ignores_mask", IgnoresMask(), 1),
    scratch("transposed", Transposed(), 2),
    scratch("zeroed_afterwards", ZeroedAfterwards(), 5),
    scratch("infinite_afterwards", InfiniteAfterwards(), 6),
    scratch("tiny_fill", FilledWith(-1e-9), 7),
    scratch("fill_of_ten", FilledWith(-10.0), 7),
    scratch("multiplied_by_mask", MultipliedByMask(), 7),
    scratch("inverted", Inverted(), 8),
    scratch("unscaled", Unscaled(), 11),
    scratch("over_queries", OverQueries(), 15),
    scratch("tiled", Tiled(), 26),
    single("right", SingleHead(), None, "nan.empty"),
    single("unscaled", SingleHeadUnscaled(), 11, "nan.empty"),
    single("over_queries", SingleHeadOverQueries(), 15),
    single("too_late", SingleHeadTooLate(), 6),
]
