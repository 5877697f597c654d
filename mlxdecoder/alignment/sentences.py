"""The two sentences of a pair as pieces and words, cut in the same way for every model that reads them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from mlxdecoder.errors import UserError
from mlxdecoder.text.protocol import TextTokenizer
from mlxdecoder.text.tokenizer import Tokenizer
from mlxdecoder.words import words_of


@dataclass(frozen=True, eq=False)
class Sentence:
    """A text, where its words begin (bytes of UTF-8), its pieces as ids [T] and the word of each piece [T]."""

    text: str
    begins: tuple[int, ...]
    ids: list[int]
    words: np.ndarray

    def spelled(self, tokenizer: TextTokenizer) -> list[str]:
        """The words as text."""
        words: list[list[int]] = [[] for _ in self.begins]
        for index, word in zip(self.ids, self.words, strict=True):
            words[word].append(index)
        return [tokenizer.decode(ids).strip(" ") for ids in words]


SentencePair = tuple[Sentence, Sentence]


def read_sentence(tokenizer: TextTokenizer, text: str, begins: Sequence[int] | None = None) -> Sentence:
    """Cut a text into pieces and words; the words begin at `begins`, by default where the pieces say.

    A piece belongs to the word in which its first letter stands. Raises `UserError` for a tokenizer that does not say
    which letters each piece has.
    """
    if not isinstance(tokenizer, Tokenizer):
        raise UserError(f"model: its tokenizer is of the kind {tokenizer.kind!r}; words are aligned with our own only.")
    ids = tokenizer.encode(text)
    letters = _first_letters(tokenizer.spelling(ids))
    if begins is None:
        words = words_of(tokenizer.pieces(ids))
        begins = [letters[place] for place in np.flatnonzero(np.diff(words, prepend=-1))]
    return Sentence(text, tuple(begins), ids, np.array([bisect_right(begins, at) - 1 for at in letters], int))


def read_pair(tokenizer: TextTokenizer, source: str, target: str) -> SentencePair:
    """Two texts cut into pieces and words."""
    return read_sentence(tokenizer, source), read_sentence(tokenizer, target)


def turned(tokenizer: TextTokenizer, pair: SentencePair) -> SentencePair:
    """A pair with its sides exchanged, in the pieces of another tokenizer but with the same words."""
    source, target = pair
    return read_sentence(tokenizer, target.text, target.begins), read_sentence(tokenizer, source.text, source.begins)


def locate(words: Sequence[str], text: str) -> list[int]:
    """Where each of the words begins in a text that holds them in this order, whatever their case: bytes of UTF-8."""
    begins, at, lower = [], 0, text.lower()
    for word in words:
        at = lower.find(word.lower(), at)
        if at < 0:
            raise UserError(f"words: {word!r} is not found in {text!r}, or not in this order.")
        begins.append(len(text[:at].encode()))
        at += len(word)
    return begins


def _first_letters(spelling: Sequence[bytes]) -> list[int]:
    """The byte of the text at which each piece begins, the space before it left out."""
    ends = [0, *accumulate(map(len, spelling))]
    return [at + piece.startswith(b" ") - 1 for at, piece in zip(ends, spelling, strict=False)]
