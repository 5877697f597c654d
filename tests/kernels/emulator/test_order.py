"""When two schedules of one launch count as giving the same."""

from __future__ import annotations

import numpy as np
import pytest

from mlxdecoder.kernels.emulator import Buffer
from mlxdecoder.kernels.emulator.order import disagreements


def disagree(one: np.ndarray, other: np.ndarray, bfloat16: bool = False) -> bool:
    buffer = Buffer("o", one, output=True, bfloat16=bfloat16)
    return bool(list(disagreements([None, buffer], {"o": one}, {"o": other})))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64])
def test_rounding_is_no_difference_and_more_is(dtype: type) -> None:
    numbers = np.array([1.0, -100.0, 0.001], dtype)
    last_place = np.finfo(dtype).eps * 100
    assert not disagree(numbers, numbers + dtype(8 * last_place))
    assert disagree(numbers, numbers + dtype(1000 * last_place))


def test_nan_and_infinity_must_be_in_the_same_places() -> None:
    numbers = np.array([np.nan, np.inf, -np.inf, 1], np.float32)
    assert not disagree(numbers, numbers.copy())
    for place, other in [(0, 0.0), (1, -np.inf), (2, 3.0), (3, np.nan)]:
        changed = numbers.copy()
        changed[place] = other
        assert disagree(numbers, changed)


def test_whole_numbers_must_be_equal() -> None:
    assert not disagree(np.array([1, 2]), np.array([1, 2]))
    assert disagree(np.array([1, 2]), np.array([1, 3]))
    assert disagree(np.array([True]), np.array([False]))


def test_bits_of_bfloat16_are_compared_as_the_numbers_they_are() -> None:
    one = np.array([0x3F80, 0x4000], np.uint16)  # 1 and 2
    assert not disagree(one, one + np.uint16(1), bfloat16=True)
    assert disagree(one, one + np.uint16(0x100), bfloat16=True)
    assert disagree(one, one + np.uint16(1))


def test_inputs_are_not_compared() -> None:
    assert not list(disagreements([Buffer("a", np.zeros(2))], {}, {}))
