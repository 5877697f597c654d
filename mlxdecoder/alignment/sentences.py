"""The two sentences of a pair as pieces and words, cut in the same way for every model that reads them."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mlxdecoder.errors import UserError
from mlxdecoder.text.protocol import Cut, TextTokenizer
from mlxdecoder.words import is_unspaced

MARK = -1


@dataclass(frozen=True, eq=False)
class Sentence:
    """A text, where its words begin (bytes of UTF-8), its pieces as ids [T] and the word of each [T], -1 for a mark."""

    text: str
    begins: tuple[int, ...]
    ids: list[int]
    words: np.ndarray

    @property
    def real(self) -> np.ndarray:
        """Which pieces are no marks [T]."""
        return self.words != MARK

    def spelled(self) -> list[str]:
        """The words as text."""
        text = self.text.encode()
        return [text[begin:end].decode(errors="replace").strip(" ") for begin, end in pairwise([*self.begins, None])]


SentencePair = tuple[Sentence, Sentence]


def read_sentence(
    tokenizer: TextTokenizer, text: str, begins: Sequence[int] | None = None, *, target: bool = False
) -> Sentence:
    """Cut a text into pieces and words; the words begin at `begins`, by default as `mlxdecoder.words` says.

    A piece belongs to the word in which its first letter stands. `target` is what a decoder writes, for which some
    models have other pieces. Raises `UserError` for a text that the tokenizer does not take.
    """
    text = unicodedata.normalize("NFC", text).strip()
    cut = tokenizer.cut(text, target=target)
    begins = sorted({*_after_spaces(text), *_by_pieces(cut)}) if begins is None else begins
    words = [MARK if place is None else bisect_right(begins, place) - 1 for place in _letters_at(cut)]
    return Sentence(text, tuple(begins), cut.ids, np.array(words, int))


def read_pair(tokenizer: TextTokenizer, source: str, target: str) -> SentencePair:
    """Two texts cut into pieces and words."""
    return read_sentence(tokenizer, source), read_sentence(tokenizer, target, target=True)


def turned(tokenizer: TextTokenizer, pair: SentencePair) -> SentencePair:
    """A pair with its sides exchanged, in the pieces of another tokenizer but with the same words."""
    source, target = pair
    return (
        read_sentence(tokenizer, target.text, target.begins),
        read_sentence(tokenizer, source.text, source.begins, target=True),
    )


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


def _letters_at(cut: Cut) -> list[int | None]:
    """Where the letters of each piece begin; a space alone goes with those that follow."""
    places = list(cut.places)
    for at in reversed(range(len(places) - 1)):
        if not cut.letters[at] and places[at] is not None and places[at + 1] is not None:
            places[at] = places[at + 1]
    return places


def _after_spaces(text: str) -> Iterator[int]:
    """Where a letter stands at the beginning or behind a space."""
    for at, (before, letter) in enumerate(pairwise(f" {text}".encode())):
        if before == ord(" ") != letter:
            yield at


def _by_pieces(cut: Cut) -> Iterator[int]:
    """Where a piece is a word, or the one before it was: in writing without spaces."""
    pieces = [(place, letters) for place, letters in zip(cut.places, cut.letters, strict=True) if letters]
    for (_, before), (place, letters) in pairwise([(0, ""), *pieces]):
        if place is not None and (is_unspaced(before) or is_unspaced(letters)):
            yield place
