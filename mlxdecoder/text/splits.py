"""Training, validation and test parts that share no sentence on the same side."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mlxdecoder.errors import UserError
from mlxdecoder.text.corpus import Pair


@dataclass(frozen=True)
class Splits:
    """The three parts: together they hold every pair once, each in the order of the corpus.

    `groups` counts the sets of pairs that hang together by shared sentences, `largest` the pairs of the largest.
    """

    train: list[Pair]
    validation: list[Pair]
    test: list[Pair]
    groups: int
    largest: int


def split_without_leaks(pairs: Sequence[Pair], validation: int, test: int, seed: int = 0) -> Splits:
    """Hold out `validation` and `test` pairs whose source is no source, and whose target no target, of another part.

    Pairs that share a sentence (up to case and the kind of spaces) on the same side form a group, together with the
    pairs that share one with those, and so on; a group stays whole. The smallest groups are held out first, mostly
    single pairs, drawn by `seed`. Raises UserError for negative sizes, for sizes that leave nothing to train on, and
    when no whole groups add up to what was asked for.
    """
    if min(validation, test) < 0 or validation + test >= len(pairs):
        raise UserError(
            f"validation={validation}, test={test}: wanted 0 or more each, and together fewer than the {len(pairs)} "
            "pairs of the corpus"
        )
    groups = group_pairs(pairs)  # [n]
    sizes = np.bincount(groups)
    order = _drawn(sizes, seed)
    parts = np.full(len(sizes), "train", dtype=object)  # of the groups
    parts[_taken(order, sizes, test, "test")] = "test"
    parts[_taken(order, sizes, validation, "validation")] = "validation"
    chosen: dict[str, list[Pair]] = {"train": [], "validation": [], "test": []}
    for pair, part in zip(pairs, parts[groups], strict=True):
        chosen[part].append(pair)
    return Splits(**chosen, groups=len(sizes), largest=int(sizes.max()))


def find_leaks(train: Iterable[Pair], test: Iterable[Pair]) -> list[Pair]:
    """Give the pairs of `test` whose source or target stands in `train` on the same side, up to case and spaces."""
    sources, targets = set[int](), set[int]()
    for pair in train:
        sources.add(sentence_key(pair.source))
        targets.add(sentence_key(pair.target))
    return [pair for pair in test if sentence_key(pair.source) in sources or sentence_key(pair.target) in targets]


def sentence_key(text: str) -> int:
    """64 bits that sentences share when they are the same up to case and spaces: less than the sentence to keep.

    Among ten million different sentences, two share them in one of 300,000 processes; then two groups become one.
    """
    return hash(" ".join(unicodedata.normalize("NFC", text.casefold()).split()))


def group_pairs(pairs: Sequence[Pair]) -> np.ndarray:
    """Give the number of the group [n] of each pair: the connected components when a shared sentence joins two pairs.

    Groups are numbered from 0, in the order of their first pairs.
    """
    parents = list(range(len(pairs)))
    for sentences in ((pair.source for pair in pairs), (pair.target for pair in pairs)):
        keys = np.fromiter(map(sentence_key, sentences), dtype=np.int64, count=len(pairs))
        for one, other in _equal(keys):
            _join(parents, one, other)
    roots = [_root(parents, place) for place in range(len(pairs))]
    return np.unique(roots, return_inverse=True)[1]


def _equal(keys: np.ndarray) -> Iterable[tuple[int, int]]:
    """Places with the same key, each with the next one."""
    order = np.argsort(keys, kind="stable")
    same = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    return zip(order[same].tolist(), order[same + 1].tolist(), strict=True)


def _join(parents: list[int], one: int, other: int) -> None:
    """Let the first pair of both groups be the root of all."""
    low, high = sorted((_root(parents, one), _root(parents, other)))
    parents[high] = low


def _root(parents: list[int], place: int) -> int:
    while parents[place] != place:
        parents[place] = parents[parents[place]]
        place = parents[place]
    return place


def _drawn(sizes: np.ndarray, seed: int) -> list[int]:
    """The groups in the order in which they are held out: from the end."""
    order = list(range(len(sizes)))
    random.Random(seed).shuffle(order)
    return sorted(order, key=(-sizes).tolist().__getitem__)


def _taken(order: list[int], sizes: np.ndarray, size: int, name: str) -> list[int]:
    taken: list[int] = []
    missing = size
    while order and sizes[order[-1]] <= missing:
        missing -= int(sizes[order[-1]])
        taken.append(order.pop())
    if missing:
        held = size - missing
        advice = f"{held} or fewer" if held else f"{sizes[order[-1]]} or more, or for 0" if order else "0"
        raise UserError(
            f"{name}={size}: {f'only {held} pairs' if held else 'no pair'} can be held out without a leak, the others "
            f"hang together by sentences that they share; ask for {advice}"
        )
    return taken
