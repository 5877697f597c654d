"""A corpus as a table of numbers, a row for each of its rows: some 50 bytes, however long the sentences are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from mlxdecoder.text.corpus import clean
from mlxdecoder.text.inspection.characters import MARKS, marks, script
from mlxdecoder.text.readers import Row
from mlxdecoder.text.splits import sentence_key

SIDES = ("source", "target")
_SIDE = {"marks": "u4", "characters": "u4", "words": "u4", "script": "u1", "key": "i8"}
_FIELDS = {f"{side}_{name}": kind for side in SIDES for name, kind in _SIDE.items()}
_FIELDS |= {"pair_key": "i8", "copy": "?", "numbers_differ": "?", "wide": "?"}
_ROW = np.dtype([*_FIELDS.items()])
_CHARACTERS = [[*_FIELDS].index(f"{side}_characters") for side in SIDES]  # their places
_PAIR = [*_FIELDS].index("pair_key")
_DIGIT = re.compile(r"\d")  # of any script
_BITS = {mark: 1 << place for place, mark in enumerate(MARKS)}


@dataclass(frozen=True)
class Measures:
    """What is known of every row [n], and the names of the scripts that `script` numbers."""

    table: np.ndarray
    scripts: list[str]

    def of(self, side: str, name: str) -> np.ndarray:
        """The marks, characters, words, script or key [n] of a side."""
        return self.table[f"{side}_{name}"]

    def bears(self, side: str, mark: str) -> np.ndarray:
        """Whether the text of a side bears a mark [n]."""
        return self.of(side, "marks") & _BITS[mark] > 0


def measure(rows: Iterable[Row], limit: int | None = None) -> Measures:
    """Measure every row, or those up to the one with which there are `limit` different pairs.

    Lengths, scripts and keys are those of the text that training would see.
    """
    scripts = {"none": 0}
    measured = _up_to(limit, (_measured(row, scripts) for row in rows))
    return Measures(np.fromiter(measured, dtype=_ROW), list(scripts))


def _measured(row: Row, scripts: dict[str, int]) -> tuple[int, ...]:
    """The numbers of a row; `scripts` are those met so far, and their numbers."""
    source, target = clean(row.source), clean(row.target)
    sides = *_side(row.source, source, scripts), *_side(row.target, target, scripts)
    return *sides, hash((source, target)), source == target, _numbers_differ(source, target), row.wide


def _side(text: str, cleaned: str, scripts: dict[str, int]) -> tuple[int, ...]:
    bits = sum(_BITS[mark] for mark in marks(text))
    number = scripts.setdefault(script(cleaned), len(scripts))
    return bits, len(cleaned), len(cleaned.split()), number, sentence_key(cleaned)


def _up_to(limit: int | None, measured: Iterable[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """All of it, or what comes up to the row with which there are `limit` different pairs."""
    pairs = set[int]()
    for one in measured:
        yield one
        if limit is not None and all(one[place] for place in _CHARACTERS):
            pairs.add(one[_PAIR])
        if len(pairs) == limit:
            return


def _numbers_differ(source: str, target: str) -> bool:
    """Whether both sides hold digits, in whatever script and order, and not the same ones."""
    digits = [sorted(map(int, _DIGIT.findall(text))) for text in (source, target)]
    return all(digits) and digits[0] != digits[1]
