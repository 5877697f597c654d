"""Links between words: drawn from a matrix of weights, written in Pharaoh's format, and scored. NumPy only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers import read_lines

Links = frozenset[tuple[int, int]]  # (source word, target word), counted from 0

# A pair of words is linked from this share of the best on; on the toy grammar 0.76 to 0.82 are about as good.
SHARE = 0.8
LINK = re.compile(r"(\d{1,6})([-?p])(\d{1,6})", re.ASCII)


def links_of(weights: np.ndarray) -> np.ndarray:
    """Which target word [J] belongs to which source word [I], from the weights of the first on the second: bool [J, I].

    A full stop or a question mark takes weight from many words. So the columns are made to sum to 1, then the rows
    again: what counts is what a source word gives to one target word rather than to others. Linked is what then has at
    least `SHARE` of the best in its row and the best in its column (of their geometric mean); a word may stay alone.
    """
    weights = np.asarray(weights, np.float64)
    shares = weights / np.maximum(weights.sum(axis=0), np.finfo(float).tiny)
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    best = np.sqrt(shares.max(axis=1, keepdims=True) * shares.max(axis=0))
    return (shares >= SHARE * best) & (shares > 0)


def as_links(linked: np.ndarray) -> Links:
    """The links of a matrix, bool [J, I]."""
    return frozenset((int(source), int(target)) for target, source in np.argwhere(linked))


def to_pharaoh(links: Iterable[tuple[int, int]]) -> str:
    """Links as Pharaoh and Moses write them: `0-0 1-2`, source word and target word, counted from 0."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


@dataclass(frozen=True)
class Gold:
    """What people have aligned: links that are sure, and all that are possible, the sure ones included."""

    sure: Links
    possible: Links

    @classmethod
    def parse(cls, line: str, place: str) -> Gold:
        """Read `0-0 1?2`, where `?` or `p` instead of `-` says that a link is possible but not sure.

        Raises `UserError` that names `place`.
        """
        links: dict[str, set[tuple[int, int]]] = {"-": set(), "?": set(), "p": set()}
        for item in line.split():
            found = LINK.fullmatch(item)
            if found is None:
                raise UserError(
                    f"{place}: {item[:40]!r} found; links such as 0-0, or 1?2 for a possible one, are wanted."
                )
            links[found[2]].add((int(found[1]), int(found[3])))
        return cls(frozenset(links["-"]), frozenset().union(*links.values()))

    @property
    def turned(self) -> Gold:
        """The same for the other direction."""
        return Gold(*(frozenset((target, source) for source, target in links) for links in (self.sure, self.possible)))


def read_gold(path: Path | str) -> list[Gold]:
    """The gold alignment of each line of a file; raises `UserError`, naming the line, for what is none."""
    return [Gold.parse(line, f"{path}, line {number}") for number, line in enumerate(read_lines(path), 1)]


@dataclass(frozen=True)
class Score:
    """How good alignments are (Och and Ney 2003, https://aclanthology.org/J03-1002).

    `precision` is the share of the links that are possible, `recall` the share of the sure ones that were found, and
    `error_rate` 1 - (|A and S| + |A and P|) / (|A| + |S|). What has nothing to be counted in is NaN.
    """

    precision: float
    recall: float
    error_rate: float


def score(found: Sequence[Links], gold: Sequence[Gold]) -> Score:
    """Score the alignments of sentence pairs, counted together."""
    pairs = list(zip(found, gold, strict=True))
    sure = sum(len(links & one.sure) for links, one in pairs)
    possible = sum(len(links & one.possible) for links, one in pairs)
    links, wanted = sum(map(len, found)), sum(len(one.sure) for one in gold)
    return Score(_share(possible, links), _share(sure, wanted), 1 - _share(sure + possible, links + wanted))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
