"""The recipe: every choice about attention, decoding and training that people get wrong, as one value.

Each field of `Recipe` holds the function, or the flag, that makes the choice; the defaults are right. Models, caches,
batches and losses ask the recipe and know of no other way, so a different choice is a different value, never a branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import mlx.core as mx
import numpy as np

from mlxdecoder.backend import masked_softmax, softmax
from mlxdecoder.errors import UserError
from mlxdecoder.masks import Causal, Documents, Full, Mask, parts_of


@dataclass(frozen=True)
class Layout:
    """What is known of a batch, for the masks to be made from.

    `source` and `target` say which of their own slots are padding, or which document they belong to; `window` limits
    the reach of self-attention. In packed batches the same id means the same pair in source and target.
    """

    source: Mask = field(default_factory=Full)
    target: Mask = field(default_factory=Full)
    window: Mask = field(default_factory=Full)

    @property
    def crossing(self) -> Mask:
        """Which source slots a target slot may see: those that are no padding, of its own document."""
        mask: Mask = Full()
        for part in parts_of(self.source):
            mask = mask & (self._crossing_documents(part) if isinstance(part, Documents) else part)
        return mask

    def rows(self, indices: Sequence[int]) -> Layout:
        """The layout of a batch made of these rows of the batch."""
        return Layout(self.source.rows(indices), self.target.rows(indices), self.window)

    def check(self, batch: int, sides: Sequence[str]) -> None:
        """Raise `UserError` for a mask of other rows than `batch`, or on no side that the model has."""
        masks = {"source": self.source, "target": self.target}
        for name, mask in masks.items():
            if mask.batch not in (None, batch):
                raise UserError(f"layout: its {name} mask is made for {mask.batch} rows, but the batch has {batch}.")
        told = [name for name, mask in masks.items() if parts_of(mask)]
        if told and not set(told) & set(sides):
            raise UserError(f"layout: a {told[0]} mask found, a {sides[0]} mask wanted; the model has no {told[0]}.")

    def _crossing_documents(self, source: Documents) -> Documents:
        targets = [part for part in parts_of(self.target) if isinstance(part, Documents)]
        if not targets:
            raise UserError("layout: the source is packed, the target is not; give Documents for target too.")
        return Documents(targets[0].queries, source.queries)


def split_heads(x: mx.array, n_heads: int) -> mx.array:
    """Give each head its slice of the features: [B, T, H * dh] to [B, H, T, dh]."""
    B, T, _ = x.shape
    return x.reshape(B, T, n_heads, -1).swapaxes(1, 2)


def merge_heads(x: mx.array) -> mx.array:
    """Put the heads side by side again: [B, H, T, dh] to [B, T, H * dh]."""
    B, _, T, _ = x.shape
    return x.swapaxes(1, 2).reshape(B, T, -1)


def share_heads(x: mx.array, n_heads: int) -> mx.array:
    """Repeat each key or value head for its group of query heads, k0 k0 k1 k1: [B, Hkv, S, dh] to [B, H, S, dh].

    Grouped-query attention, Ainslie et al. 2023, https://arxiv.org/abs/2305.13245.
    """
    n_kv_heads = x.shape[1]
    return x if n_kv_heads == n_heads else mx.repeat(x, n_heads // n_kv_heads, axis=1)


def scale(head_width: int) -> float:
    """1 / sqrt(dh), Vaswani et al. 2017, section 3.2.1, https://arxiv.org/abs/1706.03762."""
    return float(head_width**-0.5)


def apply_mask(scores: mx.array, allowed: mx.array) -> mx.array:
    """Take what may not be seen out of the softmax: -inf where `allowed` is False."""
    return mx.where(allowed, scores, mx.array(-mx.inf, scores.dtype))


def normalise(masked: mx.array, allowed: mx.array | None) -> mx.array:
    """Softmax over the keys, the last axis; rows that see nothing give zeros."""
    return softmax(masked) if allowed is None else masked_softmax(masked)


def encoder_mask(layout: Layout) -> Mask:
    return layout.source & layout.window


def decoder_mask(layout: Layout) -> Mask:
    return Causal() & layout.target & layout.window


def cross_mask(layout: Layout) -> Mask:
    return layout.crossing


def start_at_offset(offset: int) -> int:
    """New tokens stand behind the `offset` tokens that the cache has seen."""
    return offset


def positions(found: np.ndarray) -> np.ndarray:
    """Each token is told its own position: [T], or [B, T] where the rows differ."""
    return found


def cross_cache(layer: int, make: Callable[[], Any]) -> Any:
    """Each decoding has a new cache for the keys of its source."""
    return make()


def same_source(cached: object, current: object) -> bool:
    """Cached keys of a source may be used again for that very source only."""
    return cached is current


def frame_target(ids: Sequence[int], begin: int, end: int) -> list[int]:
    """What the decoder is trained on: the sentence between its marks."""
    return [begin, *ids, end]


def shift_targets(framed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Teacher forcing on rows [B, T + 1]: position t reads token t and is to say token t + 1; gives two [B, T]."""
    return framed[:, :-1], framed[:, 1:]


def loss_weights(labels: np.ndarray, pad: int) -> np.ndarray:
    """What counts in the loss [B, T]: every label but padding."""
    return (labels != pad).astype(np.float32)


@dataclass(frozen=True, repr=False)
class Recipe:
    """One field for each choice; see the function of the same name for what is right and why.

    `position_start` and `mask_start` place new tokens behind a cache for the position scheme and for the mask;
    `positions` are what the scheme is told; `cross_cache` makes the cache of a layer for the keys of a source, and
    `keeps_cross_cache` says whether they still serve; `drops_while_generating` leaves dropout on.
    """

    split_heads: Callable[[mx.array, int], mx.array] = split_heads
    merge_heads: Callable[[mx.array], mx.array] = merge_heads
    share_heads: Callable[[mx.array, int], mx.array] = share_heads
    scale: Callable[[int], float] = scale
    apply_mask: Callable[[mx.array, mx.array], mx.array] = apply_mask
    normalise: Callable[[mx.array, mx.array | None], mx.array] = normalise
    encoder_mask: Callable[[Layout], Mask] = encoder_mask
    decoder_mask: Callable[[Layout], Mask] = decoder_mask
    cross_mask: Callable[[Layout], Mask] = cross_mask
    position_start: Callable[[int], int] = start_at_offset
    mask_start: Callable[[int], int] = start_at_offset
    positions: Callable[[np.ndarray], np.ndarray] = positions
    cross_cache: Callable[[int, Callable[[], Any]], Any] = cross_cache
    keeps_cross_cache: Callable[[object, object], bool] = same_source
    frame_target: Callable[[Sequence[int], int, int], list[int]] = frame_target
    shift_targets: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] = shift_targets
    loss_weights: Callable[[np.ndarray, int], np.ndarray] = loss_weights
    drops_while_generating: bool = False

    def __repr__(self) -> str:
        """Only what is not right."""
        changed = [choice.name for choice in fields(self) if getattr(self, choice.name) != choice.default]
        return f"Recipe({', '.join(f'{name}=...' for name in changed)})"

    @cached_property
    def fuses(self) -> bool:
        """Whether a fused kernel computes what this recipe says, whatever the scale."""
        return all(getattr(self, name) is getattr(RIGHT, name) for name in ("share_heads", "apply_mask", "normalise"))


RIGHT = Recipe()
