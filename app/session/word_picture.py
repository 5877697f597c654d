"""A picture whose rows and columns are words instead of the pieces of a vocabulary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlxdecoder.app.session.recording import ALL, Picture
from mlxdecoder.words import merge, merge_mask, word_labels, words_of, worst

MERGED_STAGES = ("weights", "norms")  # parts of a sum; scores cannot be added


@dataclass(frozen=True, eq=False)
class WordPicture(Picture):
    """What was merged from `pieces`, whose queries belong to the words `query_words` [T].

    What is wrong with a row is what is wrong with the worst of its pieces.
    """

    pieces: Picture
    query_words: np.ndarray

    @property
    def outside(self) -> np.ndarray:
        return worst(self.pieces.outside, self.query_words)

    @property
    def sum_errors(self) -> np.ndarray:
        return worst(self.pieces.sum_errors, self.query_words)

    def cut(self, layers: slice = ALL, heads: slice = ALL, rows: slice = ALL) -> Picture:
        ends = np.searchsorted(self.query_words, rows.indices(len(self.queries))[:2])
        return merged(self.pieces.cut(layers, heads, slice(*ends)))


def merged(pieces: Picture) -> WordPicture:
    """The same picture in words: rows averaged, columns summed, inside the mask where one of the pieces is."""
    queries, keys = words_of(pieces.queries), words_of(pieces.keys)
    return WordPicture(
        pieces.kind,
        pieces.stage,
        merge(pieces.values, queries, keys),
        merge_mask(pieces.intended, queries, keys),
        tuple(word_labels(pieces.queries)),
        tuple(word_labels(pieces.keys)),
        pieces,
        queries,
    )
