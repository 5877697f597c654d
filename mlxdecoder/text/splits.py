"""Training, validation and test parts that share no sentence, on either side."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from mlxdecoder.errors import UserError
from mlxdecoder.text.corpus import Pair


@dataclass(frozen=True)
class Splits:
    """The three parts: together they hold every pair once, each in the order of the corpus."""

    train: list[Pair]
    validation: list[Pair]
    test: list[Pair]


def split_without_leaks(pairs: Sequence[Pair], validation: int, test: int, seed: int = 0) -> Splits:
    """Hold out `validation` and `test` pairs whose sentences stand in no other part, neither as source nor as target.

    Pairs that share a sentence (up to case and the kind of spaces) form a group, together with the pairs that share one
    with those, and so on; a group stays whole. The smallest groups are held out first, mostly single pairs, drawn by
    `seed`. Raises UserError for negative sizes, for sizes that leave nothing to train on, and when no whole groups add
    up to what was asked for.
    """
    if min(validation, test) < 0 or validation + test >= len(pairs):
        raise UserError(
            f"validation={validation}, test={test}: wanted 0 or more each, and together fewer than the {len(pairs)} "
            "pairs of the corpus"
        )
    groups = _groups(pairs)
    random.Random(seed).shuffle(groups)
    groups.sort(key=len, reverse=True)  # the smallest at the end, to be popped
    parts = {name: _pop(groups, size, name) for name, size in (("test", test), ("validation", validation))}
    chosen = {name: [pairs[place] for place in sorted(places)] for name, places in parts.items()}
    return Splits([pairs[place] for place in sorted(chain.from_iterable(groups))], **chosen)


def find_leaks(train: Iterable[Pair], test: Iterable[Pair]) -> list[Pair]:
    """Give the pairs of `test` whose source or target stands in `train` on the same side, up to case and spaces."""
    known = {key for pair in train for key in _keys(pair)}
    return [pair for pair in test if not known.isdisjoint(_keys(pair))]


def _keys(pair: Pair) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("source", _fold(pair.source)), ("target", _fold(pair.target))


def _fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text.casefold()).split())


def _groups(pairs: Sequence[Pair]) -> list[list[int]]:
    """Give the connected components, as places in `pairs`, of the graph that joins pairs with an equal key."""
    parents = list(range(len(pairs)))
    first_with: dict[tuple[str, str], int] = {}
    for place, pair in enumerate(pairs):
        for key in _keys(pair):
            parents[_root(parents, place)] = _root(parents, first_with.setdefault(key, place))
    groups: dict[int, list[int]] = {}
    for place in range(len(pairs)):
        groups.setdefault(_root(parents, place), []).append(place)
    return list(groups.values())


def _root(parents: list[int], place: int) -> int:
    while parents[place] != place:
        parents[place] = parents[parents[place]]
        place = parents[place]
    return place


def _pop(groups: list[list[int]], size: int, name: str) -> list[int]:
    taken: list[int] = []
    while groups and len(taken) + len(groups[-1]) <= size:
        taken += groups.pop()
    if len(taken) < size:
        raise UserError(
            f"{name}={size}: only {len(taken)} pairs can be held out without a leak, the others hang together by "
            f"sentences that they share; ask for {len(taken)} or fewer"
        )
    return taken
