"""What is said of heads: who shares keys and values with whom, and which keys are sinks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxdecoder.errors import UserError
from mlxdecoder.heads import FEWEST_ROWS, SINK, Grouping, find_sinks, is_mark

KEYS = ["<s>", "▁the", "▁cat", ".", "▁sings", "▁on"]


@given(st.integers(1, 8), st.integers(1, 8))
def test_heads_share_as_repeated_keys_are_shared(key_heads: int, size: int) -> None:
    """As k0 k0 k1 k1: Ainslie et al. 2023."""
    grouping = Grouping(key_heads * size, key_heads)
    used = np.repeat(np.arange(key_heads), size).tolist()
    assert [grouping.key_head(head) for head in range(grouping.heads)] == used
    assert grouping.shares == (size > 1)
    for head, key_head in enumerate(used):
        first, last = used.index(key_head), len(used) - 1 - used[::-1].index(key_head)
        assert grouping.describe(head) == f"key/value head {key_head} of {key_heads}, shared by heads {first}–{last}"


def test_groups_are_told_once_each_and_only_those_that_are_shown() -> None:
    assert Grouping(8, 2).describe_all([0, 1, 5]) == "2 key/value heads are shared: 0 by heads 0–3, 1 by heads 4–7."
    assert Grouping(8, 2).describe_all([6]) == "2 key/value heads are shared: 1 by heads 4–7."


@pytest.mark.parametrize(("heads", "key_heads"), [(4, 3), (4, 8), (4, 0)])
def test_what_is_no_divisor_is_refused(heads: int, key_heads: int) -> None:
    with pytest.raises(UserError, match=f"{heads} heads and {key_heads} key/value heads"):
        Grouping(heads, key_heads)


def columns(share: float, key: int, T: int = 6) -> np.ndarray:
    """Two layers of three heads that look everywhere; in layer 1, head 2, each row gives so much to one key."""
    weights = np.full((2, 3, T, len(KEYS)), 1 / len(KEYS))
    weights[1, 2] = (1 - share) / (len(KEYS) - 1)
    weights[1, 2, :, key] = share
    return weights


@pytest.mark.parametrize(("key", "mark"), [(0, True), (3, True), (2, False)])
@pytest.mark.parametrize("share", [SINK + 0.01, SINK - 0.01, 0.9])
def test_a_sink_is_the_first_key_or_a_mark_with_over_half_of_the_weight(share: float, key: int, mark: bool) -> None:
    found = find_sinks(columns(share, key), None, KEYS)
    assert found == ({(1, 2): [(key, pytest.approx(share))]} if mark and share > 0.5 else {})


def test_rows_that_see_one_key_alone_do_not_count() -> None:
    weights = np.zeros((1, 1, 6, 6))
    weights[..., 0], weights[..., 1] = 0.48, 0.52
    weights[0, 0, 0] = [1, 0, 0, 0, 0, 0]  # all that it can do; with it the mean would be above a half
    assert find_sinks(weights, np.tri(6, dtype=bool), KEYS) == {}
    assert find_sinks(weights, None, KEYS) == {(0, 0): [(0, pytest.approx((1 + 5 * 0.48) / 6))]}


def test_a_few_rows_make_no_sink() -> None:
    assert find_sinks(columns(0.9, 0, FEWEST_ROWS - 1), None, KEYS) == {}
    assert find_sinks(columns(0.9, 0, FEWEST_ROWS), None, KEYS)


def test_what_is_no_number_is_no_sink() -> None:
    for values in (np.nan, [np.inf, -np.inf] * 3):
        assert find_sinks(np.full((1, 1, 6, 6), values).swapaxes(2, 3), None, KEYS) == {}


@pytest.mark.parametrize(
    ("token", "mark"),
    [(".", True), ("▁,", True), ("</s>", True), ("[SEP]", True), ("<|end|>", True), ("▁a", False), ("<7>", False)],
)
def test_marks_are_punctuation_and_what_models_add(token: str, mark: bool) -> None:
    assert is_mark(token) == mark


def test_a_byte_is_no_mark() -> None:
    assert not is_mark("<0xC3>")
