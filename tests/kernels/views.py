"""Who sees whom: every kind of mask that the kernels take, each with the same thing said by plain rules or in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import mlx.core as mx
import numpy as np

from mlxdecoder.cache import RotatingKVCache
from mlxdecoder.kernels.fused import AnyMask
from mlxdecoder.kernels.structure import structure_of
from mlxdecoder.masks import Causal, Documents, Mask, Padding, Window
from tests import reference
from tests.reference import Rule

FAR = 100
"""Tokens that a rotating cache has seen before the queries, more than it remembers."""


@dataclass(frozen=True)
class View:
    """A mask as the kernels are given it, and what it allows and adds, both broadcast to [B, H, T, S]."""

    mask: AnyMask = None
    allowed: np.ndarray | None = None
    bias: np.ndarray | None = None


class Sizes(Protocol):
    @property
    def B(self) -> int: ...
    @property
    def H(self) -> int: ...
    @property
    def T(self) -> int: ...
    @property
    def S(self) -> int: ...


def ruled(sizes: Sizes, mask: Mask, *rules: Rule) -> View:
    """A mask value and the rules that say the same; the last query stands at the last key."""
    T, S = sizes.T, sizes.S
    return View(mask, reference.grid(reference.every(rules), sizes.B, range(S - T, S), range(S)))


def placed(
    sizes: Sizes, mask: Mask, rule: Rule, queries: np.ndarray, keys: np.ndarray, bias: np.ndarray | None = None
) -> View:
    """The same for queries and keys in any slots, with what is added to the scores."""
    added = None if bias is None else mx.array(bias)
    allowed = reference.grid(rule, sizes.B, queries.tolist(), keys.tolist())
    return View(structure_of(mask, queries, keys, added), allowed, bias)


def windowed_to(sizes: Sizes, key: int) -> View:
    """The first query sees this key, the last of a tile or of several, at the very end of its window."""
    size = max(sizes.S - sizes.T - key + 1, 1)
    return ruled(sizes, Window(size), reference.window(size))


def lengths_of(sizes: Sizes) -> list[int]:
    """One a row of the batch, all different, the first of them full."""
    return [max(sizes.S - 7 * b, 1) for b in range(sizes.B)]


def rows_of_documents(sizes: Sizes, width: int, n_documents: int = 3) -> list[list[int]]:
    """Ids that grow along each row, and change in other slots in each."""
    return [[(slot + 5 * b) * n_documents // width for slot in range(width)] for b in range(sizes.B)]


def packed(sizes: Sizes) -> View:
    table = rows_of_documents(sizes, sizes.S)
    mask = Documents(tuple(map(tuple, table))) & Causal()
    return ruled(sizes, mask, reference.documents(table), reference.causal)


def shuffled_documents(sizes: Sizes) -> View:
    """Ids in no order, so that no tile is of one document."""
    table = np.random.default_rng(3).integers(-2, 3, (sizes.B, sizes.S)).tolist()
    return ruled(sizes, Documents(tuple(map(tuple, table))), reference.documents(table))


def falling_documents(sizes: Sizes) -> View:
    """Ids that fall along each row: the lowest is the last."""
    table = [[-id for id in row] for row in rows_of_documents(sizes, sizes.S)]
    return ruled(sizes, Documents(tuple(map(tuple, table))), reference.documents(table))


def crossing_documents(sizes: Sizes) -> View:
    queries, keys = rows_of_documents(sizes, sizes.T), rows_of_documents(sizes, sizes.S, 4)
    mask = Documents(tuple(map(tuple, queries)), tuple(map(tuple, keys)))
    rule = reference.documents(queries, keys)
    return View(mask, reference.grid(rule, sizes.B, range(sizes.T), range(sizes.S)))


def padded_on_both_sides(sizes: Sizes) -> View:
    lengths, width = lengths_of(sizes), sizes.S
    left, right = [max(length - 3, 0) for length in lengths], lengths[::-1]
    mask = Padding.left(left, width) & Padding.right(right, width)
    return ruled(sizes, mask, reference.left_padding(left, width), reference.right_padding(right, width))


def padded_three_times(sizes: Sizes) -> View:
    """One more than the kernels have numbers for."""
    hole = Padding((sizes.S // 2,) * sizes.B, (sizes.S // 2 + 2,) * sizes.B)
    both = padded_on_both_sides(sizes)
    assert isinstance(both.mask, Mask) and both.allowed is not None
    return View(both.mask & hole, both.allowed & ~np.isin(np.arange(sizes.S) - sizes.S // 2, (0, 1)))


def all_at_once(sizes: Sizes) -> View:
    table, lengths = rows_of_documents(sizes, sizes.S, 2), lengths_of(sizes)
    mask = Causal() & Window(19, 2) & Padding.left(lengths, sizes.S) & Documents(tuple(map(tuple, table)))
    rules = (reference.causal, reference.window(19, 2), reference.left_padding(lengths, sizes.S))
    return ruled(sizes, mask, *rules, reference.documents(table))


def rotating(sizes: Sizes, padding: int = 0, bias: np.ndarray | None = None) -> View:
    """A cache that keeps three tokens and the newest, and has forgotten those between."""
    cache = RotatingKVCache(max_size=sizes.S - sizes.T + 1, keep=min(3, sizes.S - sizes.T))
    cache.offset = FAR + sizes.S
    mask, rule = Causal() & cache.reach, reference.window(cache.max_size - cache.keep, cache.keep)
    rules = [reference.causal, rule]
    if padding:
        lengths = [padding + 6 * b for b in range(sizes.B)]
        stop = cache.offset - 5
        mask = mask & Padding.left(lengths, stop)
        rules.append(reference.left_padding(lengths, stop))
    queries = cache.offset + np.arange(sizes.T)
    return placed(sizes, mask, reference.every(rules), queries, cache.key_slots(sizes.T), bias)


def early(sizes: Sizes) -> View:
    """Causal, with queries that stand at the third key and behind."""
    return placed(sizes, Causal(), reference.causal, 3 + np.arange(sizes.T), np.arange(sizes.S))


def boolean(sizes: Sizes, *axes: int) -> View:
    """A random array that has these axes of [B, H, T, S], with some rows that see nothing."""
    shape = [size if axis in axes else 1 for axis, size in enumerate((sizes.B, sizes.H, sizes.T, sizes.S))]
    seen = np.random.default_rng(5).random(shape) < 0.6
    if 2 in axes:
        seen[:, -1:, ::5] = False
    return View(mx.array(seen), seen)


def additive(sizes: Sizes, *axes: int, blocked: float = 0, dtype: mx.Dtype = mx.float32) -> View:
    """The same with numbers that are added, a share of them -inf and every fifth row altogether."""
    random = np.random.default_rng(6)
    shape = [size if axis in axes else 1 for axis, size in enumerate((sizes.B, sizes.H, sizes.T, sizes.S))]
    given = mx.array(2 * random.standard_normal(shape)).astype(dtype)
    bias = np.array(given.astype(mx.float32))
    if blocked:
        bias[random.random(shape) < blocked] = -np.inf
        bias[:, :, 1::5] = -np.inf
        given = mx.array(bias).astype(dtype)
    return View(given, bias=bias)


def distances(sizes: Sizes) -> np.ndarray:
    """As ALiBi adds them: [1, H, T, S]."""
    away = np.abs(np.arange(sizes.S) - np.arange(sizes.S - sizes.T, sizes.S)[:, None])
    return (-0.1 * (1 + np.arange(sizes.H))[None, :, None, None] * away).astype(np.float32)


def biased(sizes: Sizes) -> View:
    lengths = lengths_of(sizes)
    rule = reference.every([reference.causal, reference.left_padding(lengths, sizes.S)])
    mask, slots = Causal() & Padding.left(lengths, sizes.S), np.arange(sizes.S)
    return placed(sizes, mask, rule, slots[0] + sizes.S - sizes.T + np.arange(sizes.T), slots, distances(sizes))


VIEWS: dict[str, Callable[[Sizes], View]] = {
    "everything": lambda s: View(),
    "causal": lambda s: ruled(s, Causal(), reference.causal),
    "causal, early": early,
    "window": lambda s: ruled(s, Window(9), reference.window(9)),
    "window, causal": lambda s: ruled(s, Window(6) & Causal(), reference.window(6), reference.causal),
    "window to a tile": lambda s: windowed_to(s, 31),
    "window to a block": lambda s: windowed_to(s, 63),
    "sinks": lambda s: ruled(s, Window(5, 3) & Causal(), reference.window(5, 3), reference.causal),
    "two windows": lambda s: ruled(s, Window(5, 3) & Window(9), reference.window(5, 3), reference.window(9)),
    "padding right": lambda s: ruled(s, Padding.right(lengths_of(s), s.S), reference.right_padding(lengths_of(s), s.S)),
    "padding left": lambda s: ruled(
        s, Padding.left(lengths_of(s), s.S) & Causal(), reference.left_padding(lengths_of(s), s.S), reference.causal
    ),
    "padding on both sides": padded_on_both_sides,
    "padding three times": padded_three_times,
    "documents": packed,
    "documents, shuffled": shuffled_documents,
    "documents, falling": falling_documents,
    "documents, crossing": crossing_documents,
    "all at once": all_at_once,
    "rotating cache": rotating,
    "rotating cache, padding": lambda s: rotating(s, padding=20),
    "boolean a key": lambda s: boolean(s, 0, 3),
    "boolean a query": lambda s: boolean(s, 0, 2),
    "boolean a head": lambda s: boolean(s, 1, 2, 3),
    "boolean": lambda s: boolean(s, 0, 1, 2, 3),
    "nobody sees": lambda s: View(mx.zeros((1, 1, s.T, s.S), mx.bool_), np.zeros((1, 1, s.T, s.S), bool)),
    "additive a key": lambda s: additive(s, 0, 3),
    "additive a query": lambda s: additive(s, 1, 2),
    "additive": lambda s: additive(s, 0, 1, 2, 3),
    "additive, half": lambda s: additive(s, 1, 2, 3, dtype=mx.float16),
    "additive, blocked": lambda s: additive(s, 0, 1, 2, 3, blocked=0.4),
    "causal, padding, additive": biased,
    "rotating cache, additive": lambda s: rotating(s, bias=distances(s)),
}
