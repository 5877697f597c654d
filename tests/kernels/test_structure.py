"""Masks as numbers for the kernels: read back by the rule that mask.metal states, they are the masks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxdecoder.cache import RotatingKVCache
from mlxdecoder.kernels.structure import Structure, structure_of
from mlxdecoder.masks import Causal, Documents, Full, Mask, Padding, Window
from tests import builders

B, WIDTH = 2, 14


class Striped(Mask):
    """A rule of one's own."""

    def allowed(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        return ((queries[:, None] + keys[None, :]) % 3 != 0)[None, None]


class Strict(Causal):
    """Not even itself: a subclass that means something else."""

    def allowed(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        return (keys[None, :] < queries[:, None])[None, None]


@dataclass(frozen=True)
class Dilated(Window):
    """Every other slot of a window."""

    def allowed(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        return super().allowed(queries, keys) & ((keys[None, :] - queries[:, None]) % 2 == 0)


class OfHeads(Mask):
    """Another rule for each of two heads."""

    def allowed(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        causal = keys[None, :] <= queries[:, None]
        return np.stack([causal, ~causal])[None]


OWN = (Striped(), Strict(), Dilated(4), Dilated(3, 2), OfHeads())


@st.composite
def any_masks(draw: Callable[..., Any]) -> Mask:
    """Masks of the library combined with each other and with those of one's own."""
    mask, _ = draw(builders.masks(B, WIDTH))
    for own in draw(st.lists(st.sampled_from(OWN), max_size=2)):
        mask = mask & own if draw(st.booleans()) else own & mask
    return mask


@st.composite
def slots(draw: Callable[..., Any]) -> tuple[np.ndarray, np.ndarray]:
    """Slots of queries and keys: in a row, those of a rotating cache, and any at all."""
    T, S = draw(st.integers(1, 6)), draw(st.integers(1, 10))
    kind = draw(st.sampled_from(["row", "row", "rotating", "any"]))
    if kind == "rotating":
        cache = RotatingKVCache(draw(st.integers(4, 9)), draw(st.integers(0, 3)))
        cache.offset = draw(st.integers(0, 30))
        return cache.offset + np.arange(T), cache.key_slots(T)
    if kind == "row":
        return draw(st.integers(-4, 20)) + np.arange(T), draw(st.integers(0, 3)) + np.arange(S)
    some = [draw(st.lists(st.integers(0, 20), min_size=n, max_size=n)) for n in (T, S)]
    return np.array(some[0]), np.array(some[1])


def read_back(structure: Structure, T: int, S: int) -> np.ndarray:
    """The words at the head of mask.metal, in NumPy."""
    first, kept, gap, ahead, reach, always_seen, *unused = structure.numbers.tolist()
    assert not any(unused)
    key = np.arange(S)
    slot = np.where(key < kept, key, key + gap)[None, None, None, :]
    distance = slot - (first + np.arange(T))[:, None]
    seen = (distance <= ahead) & ((np.abs(distance) <= reach) | (slot < always_seen))
    for span in range(2):
        begin, end = (structure.hidden[:, span, side].reshape(-1, 1, 1, 1) for side in (0, 1))
        seen = seen & ~((slot >= begin) & (slot < end))
    if structure.documents is not None:
        queries, keys = structure.documents
        seen = seen & (queries[:, None, :, None] == keys[:, None, None, :])
    return seen if structure.allowed is None else seen & np.array(structure.allowed)


def same(structure: Structure, drawn: np.ndarray, T: int, S: int) -> bool:
    found = read_back(structure, T, S)
    shape = np.broadcast_shapes(found.shape, drawn.shape)
    return np.array_equal(np.broadcast_to(found, shape), np.broadcast_to(drawn, shape))


@given(any_masks(), slots())
def test_numbers_and_array_together_say_what_the_mask_says(mask: Mask, places: tuple[np.ndarray, np.ndarray]) -> None:
    queries, keys = places
    assert same(structure_of(mask, queries, keys), mask.allowed(queries, keys), len(queries), len(keys))


LIBRARY = (
    Full(),
    Causal(),
    Window(4),
    Window(3, 2),
    Padding.left([3, 5], 7),
    Padding.right([3, 5], 7),
    Documents(((0, 0, 1, 1, 1, 2, 2), (0, 1, 1, 1, 1, 1, 5))),
)


@pytest.mark.parametrize("mask", LIBRARY, ids=repr)
def test_no_array_is_drawn_for_a_mask_of_the_library(mask: Mask) -> None:
    for queries, keys in ((np.arange(7), np.arange(7)), (9 + np.arange(2), np.array([0, 1, 6, 7, 8, 9, 10]))):
        structure = structure_of(mask & Causal(), queries, keys)
        assert structure.allowed is None
        assert same(structure, (mask & Causal()).allowed(queries, keys), len(queries), len(keys))


def test_all_kinds_together_need_no_array_and_what_is_too_much_does() -> None:
    row = np.arange(7)
    most = Causal() & Window(3, 2) & Window(5, 4) & LIBRARY[4] & LIBRARY[5] & LIBRARY[6]
    assert structure_of(most, row, row).allowed is None
    for more in (Padding.left([1, 2], 7), Documents(((0,) * 7, (1,) * 7)), Window(1, 3), Striped()):
        assert structure_of(most & more, row, row).allowed is not None


def test_the_names_of_what_limits_the_view() -> None:
    row = np.arange(7)
    assert structure_of(Full(), row, row).kinds == ()
    assert structure_of(Causal() & Window(3) & LIBRARY[4] & LIBRARY[6], row, row).kinds == (
        "causal",
        "window",
        "padding",
        "documents",
    )
    assert structure_of(Striped(), row, row, mx.zeros((1, 1, 7, 7))).kinds == ("boolean array", "additive array")
