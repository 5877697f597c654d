"""The splits of the toy grammar are fair: each is new in its own way, and none leaks into another."""

from __future__ import annotations

import pytest

from mlxdecoder.errors import UserError
from mlxdecoder.text.toy import ToyPair, ToySplits, make_splits
from tests.text.toy_words import CONSTRUCTIONS, ENGLISH_ADJECTIVES, combinations_read_from


@pytest.fixture(scope="module")
def splits() -> ToySplits:
    return make_splits()


def held_out(splits: ToySplits) -> dict[str, list[ToyPair]]:
    return {name: getattr(splits, name) for name in ("validation", "combinations", "constructions", "lengths")}


def test_splits_have_the_sizes_asked_for(splits: ToySplits) -> None:
    assert len(splits.train) == 12000
    assert {name: len(split) for name, split in held_out(splits).items()} == dict.fromkeys(held_out(splits), 500)


def test_splits_share_no_sentence(splits: ToySplits) -> None:
    everything = [pair.source for split in (splits.train, *held_out(splits).values()) for pair in split]
    assert len(set(everything)) == len(everything)
    targets = {pair.target for pair in splits.train}
    assert all(pair.target not in targets for split in held_out(splits).values() for pair in split)


def test_a_translation_that_two_sentences_share_does_not_leak() -> None:
    """`They like him` and `They like her` are both `Ils l'aiment`; with this seed such a twin is drawn."""
    made = make_splits(2000, 200, seed=1)
    targets = {pair.target for pair in made.train}
    assert all(pair.target not in targets for split in held_out(made).values() for pair in split)


def test_every_single_word_was_seen(splits: ToySplits) -> None:
    source = {word for pair in splits.train for word in pair.source_words}
    target = {word for pair in splits.train for word in pair.target_words}
    for pair in (pair for split in held_out(splits).values() for pair in split):
        assert set(pair.source_words) <= source
        assert set(pair.target_words) <= target


def test_each_split_is_new_in_its_own_way_only(splits: ToySplits) -> None:
    trained = set().union(*map(combinations_read_from, splits.train))
    constructions = {pair.construction for pair in splits.train}
    longest = max(len(pair.source.split()) for pair in splits.train)
    for name, split in held_out(splits).items():
        for pair in split:
            assert (not combinations_read_from(pair) <= trained) == (name == "combinations"), pair
            assert (pair.construction not in constructions) == (name == "constructions"), pair
            assert (len(pair.source.split()) > longest) == (name == "lengths"), pair


def test_the_held_out_construction_is_whole_and_the_others_are_trained(splits: ToySplits) -> None:
    (missing,) = {pair.construction for pair in splits.constructions}
    assert {pair.construction for pair in splits.train} == {entry["name"] for entry in CONSTRUCTIONS} - {missing}


def test_held_out_combinations_are_of_both_sorts(splits: ToySplits) -> None:
    trained = set().union(*(pair.combinations for pair in splits.train))
    unseen = set().union(*(pair.combinations for pair in splits.combinations)) - trained
    assert {second in ENGLISH_ADJECTIVES for _, second in unseen} == {True, False}


def test_splits_depend_on_the_seed_alone() -> None:
    assert make_splits(400, 20, seed=3) == make_splits(400, 20, seed=3)
    assert make_splits(400, 20, seed=3) != make_splits(400, 20, seed=4)


@pytest.mark.parametrize(
    ("train_count", "held_out_count", "message"),
    [(0, 10, "train_count=0"), (500, 0, "held_out_count=0"), (-5, 10, "train_count=-5"), (1, 5, "train_count=1:")],
)
def test_impossible_splits_are_refused(train_count: int, held_out_count: int, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make_splits(train_count, held_out_count)
