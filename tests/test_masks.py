"""Masks against the same rules applied cell by cell."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder.errors import UserError
from mlxdecoder.masks import Causal, Documents, Full, Mask, Padding, Window, build_causal_mask
from tests import reference
from tests.builders import masks


def drawn(mask: Mask, B: int, T: int, S: int, offset: int) -> np.ndarray:
    return np.broadcast_to(np.array(mask.array(T, S, offset)), (B, 1, T, S))


@settings(max_examples=60)
@given(st.data(), st.integers(1, 3), st.integers(1, 7), st.integers(0, 6), st.integers(0, 9), st.integers(0, 6))
def test_masks_and_their_combinations_equal_the_rule(
    data: st.DataObject, B: int, width: int, T: int, S: int, offset: int
) -> None:
    mask, rule = data.draw(masks(B, width))
    wanted = reference.grid(rule, B, range(offset, offset + T), range(S))
    np.testing.assert_array_equal(drawn(mask, B, T, S, offset), wanted)


@settings(max_examples=40)
@given(st.data(), st.integers(1, 6), st.integers(1, 9))
def test_the_last_query_stands_at_the_last_key_by_default(data: st.DataObject, T: int, S: int) -> None:
    mask, rule = data.draw(masks(2, S))
    wanted = reference.grid(rule, 2, range(S - T, S), range(S))
    np.testing.assert_array_equal(np.broadcast_to(np.array(mask.array(T, S)), wanted.shape), wanted)
    square = reference.grid(rule, 2, range(S), range(S))
    np.testing.assert_array_equal(np.broadcast_to(np.array(mask.array(S)), square.shape), square)


@settings(max_examples=40)
@given(st.data(), st.integers(1, 4), st.integers(1, 6))
def test_rows_pick_repeat_and_drop_rows(data: st.DataObject, B: int, width: int) -> None:
    mask, rule = data.draw(masks(B, width))
    chosen = data.draw(st.lists(st.integers(0, B - 1), min_size=1, max_size=5))
    slots = range(width + 2)
    wanted = reference.grid(rule, B, slots, slots)[chosen]
    found = np.array(mask.rows(chosen).array(width + 2))
    np.testing.assert_array_equal(np.broadcast_to(found, wanted.shape), wanted)


@settings(max_examples=40)
@given(st.data(), st.integers(1, 6))
def test_any_slots_in_any_order(data: st.DataObject, width: int) -> None:
    mask, rule = data.draw(masks(2, width))
    queries, keys = (data.draw(st.lists(st.integers(0, width + 3), min_size=1, max_size=5)) for _ in range(2))
    found = mask.allowed(np.array(queries), np.array(keys))
    wanted = reference.grid(rule, 2, queries, keys)
    np.testing.assert_array_equal(np.broadcast_to(found, wanted.shape), wanted)
    assert wanted.all() or not mask.shows_all(np.array(queries), np.array(keys))


def test_the_newest_token_is_known_to_see_everything_without_a_drawing() -> None:
    newest, keys = np.array([5]), np.arange(6)
    assert (Causal() & Full()).shows_all(newest, keys)
    assert not Causal().shows_all(newest, np.arange(7))
    assert not (Causal() & Window(9)).shows_all(newest, keys)  # seen, but not plainly


@settings(max_examples=40)
@given(st.data(), st.integers(1, 7), st.booleans())
def test_padding_does_not_count_as_a_position(data: st.DataObject, width: int, left: bool) -> None:
    lengths = data.draw(st.lists(st.integers(0, width), min_size=1, max_size=3))
    mask = (Padding.left if left else Padding.right)(lengths, width)
    slots = np.arange(width + 3)
    found = np.broadcast_to(mask.positions(slots), (len(lengths), len(slots)))
    for row, length in zip(found, lengths, strict=True):
        padded = range(width - length) if left else range(length, width)
        real = [slot for slot in slots if slot not in padded]
        np.testing.assert_array_equal(row[real], np.arange(len(real)))
        assert row.min() >= 0


@settings(max_examples=40)
@given(st.data(), st.integers(1, 8))
def test_each_document_counts_from_zero(data: st.DataObject, width: int) -> None:
    row = st.lists(st.integers(0, 2), min_size=width, max_size=width).map(lambda row: tuple(sorted(row)))
    table = tuple(data.draw(st.lists(row, min_size=1, max_size=3)))
    found = np.broadcast_to(Documents(table).positions(np.arange(width + 2)), (len(table), width + 2))
    for ids, positions in zip(table, found, strict=True):
        extended = [*ids, ids[-1], ids[-1]]
        wanted = [sum(other == extended[slot] for other in extended[:slot]) for slot in range(width + 2)]
        np.testing.assert_array_equal(positions, wanted)


@pytest.mark.parametrize("mask", [Full(), Causal(), Window(3), Causal() & Window(2)])
def test_other_masks_leave_positions_alone(mask: Mask) -> None:
    np.testing.assert_array_equal(mask.positions(np.arange(2, 6)), [2, 3, 4, 5])


def test_combinations_take_positions_from_padding_and_from_packing_first() -> None:
    padding, packed = Padding.left([2], 4), Documents(((0, 0, 1, 1),))
    slots = np.arange(4)
    np.testing.assert_array_equal((Causal() & padding).positions(slots), padding.positions(slots))
    np.testing.assert_array_equal((padding & Causal() & packed).positions(slots), packed.positions(slots))


def test_full_is_neutral() -> None:
    assert Full() & Causal() == Causal() & Full() == Causal()
    assert Full() & Full() == Full()


@settings(max_examples=40)
@given(st.data(), st.integers(1, 6), st.booleans())
def test_padding_is_found_in_ids(data: st.DataObject, width: int, left: bool) -> None:
    lengths = data.draw(st.lists(st.integers(0, width), min_size=1, max_size=4))
    rows = [[0] * (width - n) + [7] * n if left else [7] * n + [0] * (width - n) for n in lengths]
    side = (Padding.left if left else Padding.right)(lengths, width)
    for form in (rows, np.array(rows), mx.array(rows)):
        found = np.array(Padding.of(form, pad=0).array(width))
        np.testing.assert_array_equal(found, np.array(side.array(width)))


@pytest.mark.parametrize(
    ("row", "words"), [([5, 0, 6], "inside"), ([0, 5, 0], "both sides"), ([0, 5, 0, 6, 0], "inside")]
)
def test_other_padding_is_refused(row: list[int], words: str) -> None:
    with pytest.raises(UserError, match=f"ids: .*{words}"):
        Padding.of([row], pad=0)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Padding.of([5, 6], pad=0), "ids"),
        (lambda: Padding.of([[5, 6], [7]], pad=0), "ids"),
        (lambda: Padding.right([3, 5], 4), "lengths"),
        (lambda: Padding.left([-1], 4), "lengths"),
        (lambda: Padding.left([], 4), "lengths"),
        (lambda: Window(0), "size"),
        (lambda: Documents(((0, 1), (0,))).array(2), "queries"),
    ],
)
def test_wrong_values_are_named(make: Any, name: str) -> None:
    with pytest.raises(UserError, match=name):
        make()


def test_the_lessons_mask_says_what_is_blocked() -> None:
    np.testing.assert_array_equal(np.array(build_causal_mask(5)), ~np.array(Causal().array(5))[0, 0])
