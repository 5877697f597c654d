"""Splitting: parts that share no sentence, of exactly the sizes asked for."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxdecoder.errors import UserError
from mlxdecoder.text.corpus import Pair
from mlxdecoder.text.splits import find_leaks, group_pairs, split_without_leaks

words = st.sampled_from(["a", "A", "b", "c c", "c\u00a0c", "d", "é", "e\u0301", "f", "g", "h", "i", "j", "k"])
corpora = st.lists(st.builds(Pair, words, words), min_size=1, max_size=25)


def alike(text: str) -> str:
    return text.replace("e\u0301", "é").replace("\u00a0", " ").lower()


def sides(pairs: list[Pair]) -> tuple[set[str], set[str]]:
    return {alike(pair.source) for pair in pairs}, {alike(pair.target) for pair in pairs}


def singles(count: int) -> list[Pair]:
    return [Pair(f"source {n}", f"target {n}") for n in range(count)]


def chain(count: int) -> list[Pair]:
    """Give pairs of which each shares its source with the one before or its target with the one behind."""
    return [Pair(f"left {n // 2}", f"right {(n + 1) // 2}") for n in range(count)]


@given(corpora, st.integers(0, 6), st.integers(0, 6), st.integers(0, 3))
def test_parts_share_no_sentence_and_hold_every_pair_once(
    pairs: list[Pair], validation: int, test: int, seed: int
) -> None:
    try:
        splits = split_without_leaks(pairs, validation, test, seed)
    except UserError:
        return
    parts = [splits.train, splits.validation, splits.test]
    assert Counter(pair for part in parts for pair in part) == Counter(pairs)
    assert (len(splits.validation), len(splits.test)) == (validation, test)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        for mine, yours in zip(sides(parts[one]), sides(parts[other]), strict=True):
            assert not mine & yours


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 30))
def test_sizes_are_met_exactly_when_single_pairs_suffice(validation: int, test: int, shared: int) -> None:
    splits = split_without_leaks([*chain(shared), *singles(validation + test + 1)], validation, test)
    assert (len(splits.train), len(splits.validation), len(splits.test)) == (shared + 1, validation, test)


def test_a_long_chain_of_shared_sentences_stays_in_one_part() -> None:
    pairs = [*chain(2000), *singles(5)]
    assert split_without_leaks(pairs, 2, 2).train[:2000] == pairs[:2000]


def test_parts_keep_the_order_of_the_corpus() -> None:
    pairs = singles(50)
    splits = split_without_leaks(pairs, 10, 10)
    for part in (splits.train, splits.validation, splits.test):
        assert part == sorted(part, key=pairs.index)


def test_the_seed_alone_decides() -> None:
    pairs = singles(200)
    assert split_without_leaks(pairs, 20, 20, seed=1) == split_without_leaks(pairs, 20, 20, seed=1)
    assert split_without_leaks(pairs, 20, 20, seed=1).test != split_without_leaks(pairs, 20, 20, seed=2).test
    assert split_without_leaks(pairs, 20, 20).test != pairs[:20]


def test_nothing_held_out_leaves_everything_to_train_on() -> None:
    pairs = chain(7)
    splits = split_without_leaks(pairs, 0, 0)
    assert (splits.train, splits.validation, splits.test) == (pairs, [], [])


def connected(pairs: list[Pair]) -> set[frozenset[int]]:
    """The groups, by the definition: join any two that share a sentence until nothing changes."""
    groups = [frozenset([place]) for place in range(len(pairs))]
    joined = True
    while joined:
        joined = False
        for one, other in combinations(groups, 2):
            mine, yours = sides([pairs[place] for place in one]), sides([pairs[place] for place in other])
            if mine[0] & yours[0] or mine[1] & yours[1]:
                groups = [group for group in groups if group not in (one, other)] + [one | other]
                joined = True
                break
    return set(groups)


@given(corpora)
def test_groups_are_the_connected_components_numbered_by_their_first_pairs(pairs: list[Pair]) -> None:
    numbers = group_pairs(pairs).tolist()
    found = {frozenset(place for place, one in enumerate(numbers) if one == number) for number in numbers}
    assert found == connected(pairs)
    assert list(dict.fromkeys(numbers)) == list(range(len(found)))


@given(corpora)
def test_groups_and_the_largest_are_counted(pairs: list[Pair]) -> None:
    splits, groups = split_without_leaks(pairs, 0, 0), connected(pairs)
    assert (splits.groups, splits.largest) == (len(groups), max(map(len, groups)))


def test_a_sentence_may_be_a_source_in_one_part_and_a_target_in_another() -> None:
    pairs = [Pair("one", "two"), Pair("two", "one"), Pair("one", "three")]
    assert group_pairs(pairs).tolist() == [0, 1, 0]
    assert find_leaks(pairs[:1], pairs[1:2]) == []


@pytest.mark.parametrize(("validation", "test"), [(-1, 1), (1, -1), (5, 5), (0, 11), (10, 0)])
def test_sizes_that_leave_nothing_to_train_on_are_refused(validation: int, test: int) -> None:
    with pytest.raises(UserError, match=f"validation={validation}, test={test}: .* 10 pairs"):
        split_without_leaks(singles(10), validation, test)


def test_sizes_that_need_a_leak_are_refused_with_what_is_possible() -> None:
    pairs = [*chain(100), *singles(3)]
    with pytest.raises(UserError, match="test=5: only 3"):
        split_without_leaks(pairs, 0, 5)
    with pytest.raises(UserError, match="validation=2: only 1 .* ask for 1 or fewer"):
        split_without_leaks(pairs, 2, 2)
    twins = [Pair(f"source {n // 2}", f"target {n}") for n in range(20)]
    with pytest.raises(UserError, match="test=1: no pair .* ask for 2 or more, or for 0"):
        split_without_leaks(twins, 2, 1)
    assert len(split_without_leaks(twins, 2, 2).train) == 16


def test_leaks_are_the_test_pairs_with_a_side_in_training() -> None:
    train = [Pair("Go.", "Va !"), Pair("Stop.", "Arrête.")]
    same_source, same_target = Pair("go.", "Partez."), Pair("Away!", "Va\u202f!")
    clean, joined, other_side = Pair("Run.", "Cours."), Pair("Gone.", "Va!"), Pair("Arrête.", "Stop.")
    assert find_leaks(train, [same_source, clean, joined, same_target, other_side]) == [same_source, same_target]
