"""The contracts on code as people write it: every mistake is found and named, and right code raises no alarm."""

from __future__ import annotations

import pytest

from tests.contracts.judging import assert_found, assert_right, judge
from tests.wild import WILD, Wild

RIGHT = [entry for entry in WILD if entry.mistake is None]
WRONG = [entry for entry in WILD if entry.mistake is not None]


@pytest.mark.parametrize("entry", RIGHT, ids=lambda entry: entry.name)
def test_right_code_raises_no_alarm(entry: Wild) -> None:
    assert_right(entry, judge(entry))


@pytest.mark.parametrize("entry", WRONG, ids=lambda entry: entry.name)
def test_the_mistake_is_found_and_named(entry: Wild) -> None:
    assert_found(entry, judge(entry))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 20))
def test_the_same_for_other_seeds(seed: int) -> None:
    for entry in RIGHT:
        assert_right(entry, judge(entry, seed))
    found = [judge(entry, seed) for entry in WRONG]
    missed = [entry.name for entry, one in zip(WRONG, found, strict=True) if one.holds]
    unnamed = [
        entry.name
        for entry, one in zip(WRONG, found, strict=True)
        if entry.mistake not in [suspect.mistake.number for suspect in one.suspects]
    ]
    assert (missed, unnamed) == ([], [])
