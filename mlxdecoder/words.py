"""Pieces of a vocabulary as the words that they make up, and weights of pieces as weights of words. NumPy only.

A word is what stands between two spaces; punctuation without a space before it, and other white space (NBSP, a tab),
belong to it. Scripts that are written without spaces leave no other mark than the pieces: in Chinese, Japanese, Thai,
Lao, Tibetan, Burmese and Khmer each piece is a word, also where somebody has put spaces between words. Marks such as
<s>, [CLS] and <|endoftext|> are words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from mlxdecoder.labels import WORD_BEGIN
from mlxdecoder.maps import AttentionMap

MERGED = (
    "Pieces are merged into words: rows averaged, columns summed. A cell is inside the mask if one of its pieces is; "
    "a row is flagged if one of its pieces is."
)
MARK = re.compile(r"<(pad|s|/s|bos|eos)>|<\|[^|]+\|>|\[(CLS|SEP|PAD|MASK)\]|>>[^<>]+<<")
BYTE = re.compile("<0x([0-9A-F]{2})>")
# Thai to Burmese; Khmer; radicals, kana and ideographs to Yi; compatible ideographs; wide forms; kana and ideographs.
UNSPACED = re.compile(
    "[\u0e00-\u109f\u1780-\u17ff\u2e80-\ua4cf\uf900-\ufaff\uff00-\uffef\U0001b000-\U0001b16f\U00020000-\U0003ffff]"
)


def words_of(pieces: Sequence[str]) -> np.ndarray:
    """The word that each piece belongs to, counted from 0: [T]; `pieces` are as `Tokenizer.pieces` labels them."""
    starts = np.zeros(len(pieces), int)
    blank = False  # whether the word so far is nothing but spaces
    for place, piece in enumerate(pieces[1:], 1):
        before = pieces[place - 1]
        blank = (blank or bool(starts[place - 1]) or place == 1) and not before.strip(WORD_BEGIN)
        starts[place] = not blank and (piece.startswith(WORD_BEGIN) or _alone(piece) or _alone(before))
    return starts.cumsum()


def is_unspaced(letters: str) -> bool:
    """Whether there is something in it of a script that is written without spaces."""
    return UNSPACED.search(letters) is not None


def word_labels(pieces: Sequence[str]) -> list[str]:
    """The words that the pieces make up, as text; bytes are put together to characters."""
    numbered = zip(words_of(pieces).tolist(), pieces, strict=True)
    return [_text([piece for _, piece in word]) for _, word in groupby(numbered, key=lambda one: one[0])]


def merge(weights: np.ndarray, query_words: np.ndarray, key_words: np.ndarray) -> np.ndarray:
    """Weights of pieces [..., T, S] as weights of words [..., J, I], given the word of each piece, [T] and [S].

    A word looks as its pieces do on average, and is looked at as its pieces are together: rows that sum to 1 still do
    (the rule of Clark et al. 2019, https://aclanthology.org/W19-4828).
    """
    counts = np.unique(query_words, return_counts=True)[1]
    rows = np.add.reduceat(weights, _starts(query_words), axis=-2, dtype=np.result_type(weights, np.float32))
    return np.asarray(np.add.reduceat(rows / counts[:, None].astype(rows.dtype), _starts(key_words), axis=-1))


def merge_mask(allowed: np.ndarray, query_words: np.ndarray, key_words: np.ndarray) -> np.ndarray:
    """Which word may attend to which [J, I]: a piece of one to a piece of the other, by `allowed` [T, S]."""
    rows = np.logical_or.reduceat(allowed, _starts(query_words), axis=0)
    return np.asarray(np.logical_or.reduceat(rows, _starts(key_words), axis=1))


def worst(numbers: np.ndarray, words: np.ndarray) -> np.ndarray:
    """The largest number of the pieces of each word, [..., T] to [..., J]; a NaN counts as the largest."""
    return np.asarray(np.maximum.reduceat(numbers, _starts(words), axis=-1))


class WordMap(AttentionMap):
    """The map of `pieces` with words in the place of pieces, and with what is wrong in the worst piece of each word."""

    note = MERGED
    pieces: AttentionMap

    def __init__(self, pieces: AttentionMap) -> None:
        queries, keys = words_of(pieces.queries), words_of(pieces.keys)
        super().__init__(
            pieces.kind,
            merge(pieces.weights, queries, keys),
            None if pieces.intended is None else merge_mask(pieces.intended, queries, keys),
            word_labels(pieces.queries),
            word_labels(pieces.keys),
            pieces.layers,
            pieces.heads,
            pieces.grouping,
        )
        object.__setattr__(self, "pieces", pieces)

    def row_sum_errors(self) -> np.ndarray:
        return worst(self.pieces.row_sum_errors(), words_of(self.pieces.queries))

    def mass_outside(self) -> np.ndarray:
        return worst(self.pieces.mass_outside(), words_of(self.pieces.queries))

    def select(self, layers: Sequence[int] | None = None, heads: Sequence[int] | None = None) -> WordMap:
        return WordMap(self.pieces.select(layers, heads))


def _alone(piece: str) -> bool:
    return MARK.fullmatch(piece) is not None or is_unspaced(piece)


def _starts(words: np.ndarray) -> np.ndarray:
    return np.flatnonzero(np.diff(words, prepend=-1))


def _text(pieces: Sequence[str]) -> str:
    return b"".join(map(_bytes, pieces)).decode("utf-8", "replace").lstrip(WORD_BEGIN)


def _bytes(piece: str) -> bytes:
    byte = BYTE.fullmatch(piece)
    return bytes.fromhex(byte[1]) if byte else piece.encode("utf-8", "surrogatepass")
