"""A corpus as a table of numbers, a row for each of its rows: some 50 bytes, however long the sentences are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mlxdecoder.text.corpus import clean
from mlxdecoder.text.inspection.characters import MARKS, marks, script
from mlxdecoder.text.readers import Row
from mlxdecoder.text.splits import sentence_key

SIDES = ("source", "target")
_SIDE = {"marks": "u4", "characters": "u4", "words": "u4", "script": "u1", "key": "i8"}
_ROW = np.dtype(
    [(f"{side}_{name}", kind) for side in SIDES for name, kind in _SIDE.items()]
    + [("pair_key", "i8"), ("copy", "?"), ("numbers_differ", "?")]
)
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

    def first(self, rows: int) -> Measures:
        """Those of the first rows alone."""
        return Measures(self.table[:rows], self.scripts)


def measure(rows: Iterable[Row]) -> Measures:
    """Measure every row; lengths, scripts and keys are those of the text that training would see."""
    scripts = {"none": 0}

    def side(text: str, cleaned: str) -> tuple[int, ...]:
        bits = sum(_BITS[mark] for mark in marks(text))
        number = scripts.setdefault(script(cleaned), len(scripts))
        return bits, len(cleaned), len(cleaned.split()), number, sentence_key(cleaned)

    def row(row: Row) -> tuple[int, ...]:
        source, target = clean(row.source), clean(row.target)
        pair = hash((source, target)), source == target, _numbers_differ(source, target)
        return *side(row.source, source), *side(row.target, target), *pair

    return Measures(np.fromiter(map(row, rows), dtype=_ROW), list(scripts))


def _numbers_differ(source: str, target: str) -> bool:
    """Whether both sides hold digits, in whatever script and order, and not the same ones."""
    digits = [sorted(map(int, _DIGIT.findall(text))) for text in (source, target)]
    return all(digits) and digits[0] != digits[1]
