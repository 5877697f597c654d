"""Training and test pairs of the toy grammar that differ by something that has to be learnt, not remembered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, islice
from random import Random

from mlxdecoder.errors import UserError
from mlxdecoder.text.toy.lexicon import Lexicon, load_lexicon
from mlxdecoder.text.toy.pairs import ToyPair, distinct, generate

HELD_OUT_CONSTRUCTION = "negated_clitic"  # its parts are trained by `negation` and `clitic`
HELD_OUT_COMBINATION_SHARE = 0.1
LONGEST_TRAINING_SOURCE = 10  # words, the mark at the end included
DRAWS_PER_HELD_OUT_PAIR = 100


@dataclass(frozen=True)
class ToySplits:
    """Disjoint splits. Each word of a held-out pair occurs in `train`; each of the last three is new in one way only.

    `validation` is like `train`; `combinations` holds noun-adjective and verb-object pairs that `train` never joins;
    `constructions` is all of a construction that `train` lacks; `lengths` has more source words than `train` ever has.
    """

    train: list[ToyPair]
    validation: list[ToyPair]
    combinations: list[ToyPair]
    constructions: list[ToyPair]
    lengths: list[ToyPair]


def make_splits(train_count: int = 12000, held_out_count: int = 500, seed: int = 0) -> ToySplits:
    """`train_count` pairs to learn from and `held_out_count` pairs in each of the other splits.

    Raises UserError when a count is not positive, or when `train_count` is too small to hold the words of the others.
    """
    for name, count in (("train_count", train_count), ("held_out_count", held_out_count)):
        if count < 1:
            raise UserError(f"{name}={count}: a split needs at least one pair; give 1 or more")
    unseen = _held_out_combinations(load_lexicon(), seed)
    stream = distinct(generate(seed))
    train, others = _training_pairs(stream, train_count, unseen)
    candidates = chain(others, islice(stream, held_out_count * DRAWS_PER_HELD_OUT_PAIR))
    shelves = _held_out_pairs(candidates, train, held_out_count, unseen)
    if any(len(shelf) < held_out_count for shelf in shelves.values()):
        raise UserError(
            f"train_count={train_count}: too few pairs to hold the words of {held_out_count} held-out pairs "
            "of each kind; give a larger train_count or a smaller held_out_count"
        )
    return ToySplits(train, *shelves.values())


def _held_out_combinations(lexicon: Lexicon, seed: int) -> frozenset[tuple[str, str]]:
    described = [
        (noun.english[0], adjective.english)
        for noun in lexicon.nouns
        for adjective in lexicon.adjectives
        if noun.kind in adjective.kinds
    ]
    acted_on = [
        (verb.name, noun.english[0]) for verb in lexicon.verbs for noun in lexicon.nouns if noun.kind in verb.objects
    ]
    random = Random(seed)
    return frozenset(
        combination
        for pool in (described, acted_on)
        for combination in random.sample(pool, round(len(pool) * HELD_OUT_COMBINATION_SHARE))
    )


def _split_of(pair: ToyPair, unseen: frozenset[tuple[str, str]]) -> str:
    """The split that the pair belongs to: "familiar" when nothing in it is new, "" when more than one thing is."""
    novelties = {
        "combinations": not unseen.isdisjoint(pair.combinations),
        "constructions": pair.construction == HELD_OUT_CONSTRUCTION,
        "lengths": len(pair.source_words) > LONGEST_TRAINING_SOURCE,
    }
    names = [name for name, is_new in novelties.items() if is_new] or ["familiar"]
    return names[0] if len(names) == 1 else ""


def _training_pairs(
    stream: Iterable[ToyPair], count: int, unseen: frozenset[tuple[str, str]]
) -> tuple[list[ToyPair], list[ToyPair]]:
    """The first `count` familiar pairs, and the pairs passed over on the way."""
    train: list[ToyPair] = []
    others: list[ToyPair] = []
    for pair in stream:
        (train if _split_of(pair, unseen) == "familiar" else others).append(pair)
        if len(train) == count:
            break
    return train, others


def _held_out_pairs(
    candidates: Iterable[ToyPair], train: list[ToyPair], count: int, unseen: frozenset[tuple[str, str]]
) -> dict[str, list[ToyPair]]:
    """Up to `count` pairs of each kind, all of words that `train` has, none with a translation that `train` has."""
    source_words = {word for pair in train for word in pair.source_words}
    target_words = {word for pair in train for word in pair.target_words}
    targets = {pair.target for pair in train}
    shelves: dict[str, list[ToyPair]] = {name: [] for name in ("familiar", "combinations", "constructions", "lengths")}
    for pair in candidates:
        known = source_words.issuperset(pair.source_words) and target_words.issuperset(pair.target_words)
        shelf = shelves.get(_split_of(pair, unseen))
        if shelf is not None and len(shelf) < count and known and pair.target not in targets:
            shelf.append(pair)
            if all(len(each) == count for each in shelves.values()):
                break
    return shelves
