"""Rows of attention under one another: held against stacking them all anew."""

from __future__ import annotations

import numpy as np
import pytest

from mlxdecoder.app.session.stack import Stack, reach_of

FILL = {"weights": 0.0, "norms": 0.0, "masked": -np.inf, "scores": np.nan}


def rows_of(count: int, stage: str = "weights") -> list[tuple[dict[str, np.ndarray], list[int]]]:
    """Steps of a generation whose keys wander, as a rotating cache's do."""
    rng = np.random.default_rng(1)
    steps = []
    for step in range(count):
        slots = list(range(max(0, step - 30), step + 1))
        values = rng.random((2, 3, 1, len(slots))).astype(np.float32)
        allowed = rng.random((1, len(slots))) < 0.5
        steps.append(({f"decoder.{stage}": values, "decoder.intended": allowed}, slots))
    return steps


@pytest.mark.parametrize("stage", FILL)
def test_each_key_is_in_the_column_of_its_slot(stage: str) -> None:
    stack, steps = Stack("decoder", stage), rows_of(40, stage)
    expected = np.full((2, 3, 40, 40), FILL[stage], np.float32)
    intended = np.zeros((40, 40), bool)
    for row, (arrays, slots) in enumerate(steps):
        stack.add(arrays, slots)
        expected[:, :, row, slots] = arrays[f"decoder.{stage}"][:, :, 0]
        intended[row, slots] = arrays["decoder.intended"][0]
    values, allowed = stack.rows(40)
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(allowed, intended)


def test_earlier_rows_are_as_wide_as_their_keys() -> None:
    stack = Stack("decoder", "weights")
    for arrays, slots in rows_of(20):
        stack.add(arrays, slots)
    assert [stack.rows(count)[0].shape[2:] for count in (1, 7, 20)] == [(1, 1), (7, 7), (20, 20)]


def test_what_was_handed_out_stays_as_it_was() -> None:
    stack = Stack("decoder", "weights")
    given = []
    for arrays, slots in rows_of(50):
        stack.add(arrays, slots)
        values, allowed = stack.rows(len(stack))
        given.append((values, values.copy(), allowed, allowed.copy()))
    for values, before, allowed, allowed_before in given:
        np.testing.assert_array_equal(values, before)
        np.testing.assert_array_equal(allowed, allowed_before)


def test_a_step_without_this_kind_adds_no_row() -> None:
    stack = Stack("cross", "weights")
    stack.add({"decoder.weights": np.zeros((1, 1, 1, 1))}, [0])
    assert len(stack) == 0


def test_the_reach_is_the_largest_finite_size() -> None:
    assert reach_of(np.array([1.0, -3.0, np.nan, -np.inf, np.inf])) == 3.0
    assert reach_of(np.array([np.nan])) == 0.0 and reach_of(np.zeros((0,))) == 0.0
