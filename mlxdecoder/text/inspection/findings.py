"""What is worth saying about a corpus: each finding counts rows, and names some of them as examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mlxdecoder.text.inspection.characters import MARKS
from mlxdecoder.text.inspection.measures import SIDES, Measures

SHOWN = 3
VERY_LONG = 1000  # characters

# Gale and Church (1993) call the length of a translation normal about a multiple of its source, with a variance that
# grows with the length. Pairs further off than this many standard deviations are suspicious.
_FAR = 5
_SMALLEST_DEVIATION = 0.5  # or a corpus of one mould would find its own small differences suspicious


@dataclass(frozen=True)
class Finding:
    """`count` rows of which something is said: of one side, or of both ("" as `side`); `rows` are examples, from 0.

    `mark` is the mark that a side bears there, or "".
    """

    id: str
    said: str
    side: str
    count: int
    rows: tuple[int, ...]
    mark: str = ""


@dataclass(frozen=True)
class Fates:
    """What training makes of each row [n]: exactly one of these is true of it."""

    blank: np.ndarray
    incomplete: np.ndarray
    duplicate: np.ndarray
    kept: np.ndarray


def fates(measures: Measures) -> Fates:
    """Sort the rows as reading a corpus does."""
    empty = [measures.of(side, "characters") == 0 for side in SIDES]
    blank, complete = empty[0] & empty[1], ~(empty[0] | empty[1])
    kept = _first_of(measures.table["pair_key"], complete)
    return Fates(blank, ~complete & ~blank, complete & ~kept, kept)


def dropped(found: Fates) -> list[Finding]:
    """What training drops, and why."""
    return [
        _finding("blank", "blank rows", found.blank),
        _finding("incomplete", "one side blank", found.incomplete),
        _finding("duplicate", "duplicates: both sides as in an earlier row", found.duplicate),
    ]


def suspicions(measures: Measures, kept: np.ndarray) -> Iterator[Finding]:
    """What may be wrong with the pairs that training keeps."""
    sources, targets = (measures.of(side, "key") for side in SIDES)
    distinct = _first_of(sources * 3 + targets, kept)
    yield _finding("near-duplicate", "the same as an earlier pair up to case and spaces", kept & ~distinct)
    yield _finding("several-targets", "pairs whose source has several targets", _repeated(sources, distinct))
    yield _finding("several-sources", "pairs whose target has several sources", _repeated(targets, distinct))
    said = "more cells than columns; a separator within a text may lack its quotes"
    yield _finding("wide", said, kept & measures.table["wide"])
    copy = measures.table["copy"]
    yield _finding("copy", "source and target the same", kept & copy)
    crossed = np.isin(sources, targets[kept]) | np.isin(targets, sources[kept])
    yield _finding("other-side", "a sentence that elsewhere stands on the other side", kept & crossed & ~copy)
    yield _extreme("ratio", "one side far longer than is usual here for the other", _oddity(measures, kept), _FAR)
    yield _finding("numbers", "different digits in source and target", kept & measures.table["numbers_differ"])
    longer = np.maximum(*(measures.of(side, "characters") for side in SIDES))
    yield _extreme("long", f"more than {VERY_LONG:,} characters on a side", np.where(kept, longer, 0), VERY_LONG)
    yield from _by_script(measures, kept)


def marked(measures: Measures) -> Iterator[Finding]:
    """The marks that the texts bear, in all rows."""
    for mark, said in MARKS.items():
        for side in SIDES:
            yield _finding(mark, said, measures.bears(side, mark), side, mark)


def script_pairs(measures: Measures, kept: np.ndarray) -> Counter[tuple[str, str]]:
    """How many pairs have which scripts."""
    names = measures.scripts
    source, target = (measures.of(side, "script")[kept].astype(int) for side in SIDES)
    kinds, counts = np.unique(source * len(names) + target, return_counts=True)
    scripts = (divmod(int(kind), len(names)) for kind in kinds)
    return Counter({(names[one], names[two]): int(n) for (one, two), n in zip(scripts, counts, strict=True)})


def _by_script(measures: Measures, kept: np.ndarray) -> Iterator[Finding]:
    """Pairs whose sides are in other scripts than most are; exchanged ones first."""
    scripts = [measures.of(side, "script") for side in SIDES]
    usual = [_usual(measures.scripts, numbers[kept]) for numbers in scripts]
    places = [measures.scripts.index(name) for name in usual]
    swapped = kept & (usual[0] != usual[1]) & (scripts[0] == places[1]) & (scripts[1] == places[0])
    yield _finding("swapped", f"probably exchanged: {usual[1]} to {usual[0]}", swapped)
    for side, numbers, script in zip(SIDES, scripts, usual, strict=True):
        fine = {script, "none", "Han" if script == "Kana" else ""}
        others = [number for number, name in enumerate(measures.scripts) if name not in fine]
        yield _finding("script", f"not in {script}, as most are", kept & ~swapped & np.isin(numbers, others), side)


def _usual(names: Sequence[str], numbers: np.ndarray) -> str:
    """The script of most texts that have letters."""
    counts = dict(zip(names, np.bincount(numbers, minlength=len(names)).tolist(), strict=True))
    return max(counts, key=lambda name: (name != "none", counts[name]))


def _oddity(measures: Measures, kept: np.ndarray) -> np.ndarray:
    """How many standard deviations the lengths of each pair [n] are off; 0 for rows that are not kept."""
    odd = np.zeros(len(kept))
    source, target = (measures.of(side, "characters")[kept].astype(float) for side in SIDES)
    if len(source):
        ratio = np.median(target / source)
        off = (target - ratio * source) / np.sqrt(ratio * source + target)
        deviation = 1.4826 * np.median(np.abs(off))  # of a normal distribution with this median
        odd[kept] = np.abs(off) / max(deviation, _SMALLEST_DEVIATION)
    return odd


def _first_of(keys: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Which rows [n] are the first with their key, among some."""
    places = np.flatnonzero(among)
    first = np.zeros(len(keys), dtype=bool)
    first[places[np.unique(keys[places], return_index=True)[1]]] = True
    return first


def _repeated(keys: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Which rows [n] share their key with another one, among some."""
    repeated = np.zeros(len(keys), dtype=bool)
    _, number, counts = np.unique(keys[among], return_inverse=True, return_counts=True)
    repeated[among] = counts[number] > 1
    return repeated


def _finding(id: str, said: str, rows: np.ndarray, side: str = "", mark: str = "") -> Finding:
    places = np.flatnonzero(rows)
    return Finding(id, said, side, len(places), tuple(places[:SHOWN].tolist()), mark)


def _extreme(id: str, said: str, values: np.ndarray, most: float) -> Finding:
    """A finding of the rows whose value is above `most`, with the most extreme ones as examples."""
    places = np.flatnonzero(values > most)
    worst = places[np.argsort(-values[places], kind="stable")]
    return Finding(id, said, "", len(places), tuple(worst[:SHOWN].tolist()))
