"""Endless English-French pairs of the toy grammar with their word alignment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

from mlxdecoder.errors import UserError
from mlxdecoder.text.toy.constructions import CONSTRUCTIONS, construction_weights
from mlxdecoder.text.toy.lexicon import load_lexicon
from mlxdecoder.text.toy.phrases import Phrase, elided
from mlxdecoder.text.toy.sampler import Sampler


@dataclass(frozen=True)
class ToyPair:
    """An English sentence, its one French translation, and which words translate which.

    Words are in lower case (except I), and the full stop or question mark is the last word on both sides;
    `join_english` and `join_french` make the sentences of them. A link is (source word index, target word index).
    `combinations` holds (noun, adjective) and (verb, object noun) pairs by their English dictionary forms.
    """

    source: str
    target: str
    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    alignment: tuple[tuple[int, int], ...]
    construction: str
    combinations: frozenset[tuple[str, str]]


def generate(seed: int = 0) -> Iterator[ToyPair]:
    """Pairs without end, the same for the same `seed`; a pair may come more than once."""
    random = Random(seed)
    sampler = Sampler(load_lexicon(), random)
    weights = construction_weights()
    names, shares = list(weights), list(weights.values())
    while True:
        (construction,) = random.choices(names, shares)
        yield make_pair(construction, sampler)


def make_pairs(count: int, seed: int = 0) -> list[ToyPair]:
    """The first `count` pairs of `generate(seed)` with different sources. Raises UserError for a negative count."""
    if count < 0:
        raise UserError(f"count={count}: a number of pairs cannot be negative; give 0 or more")
    return list(islice(distinct(generate(seed)), count))


def distinct(pairs: Iterable[ToyPair]) -> Iterator[ToyPair]:
    """The pairs whose source did not come before."""
    seen = set()
    for pair in pairs:
        if pair.source not in seen:
            seen.add(pair.source)
            yield pair


def make_pair(construction: str, sampler: Sampler) -> ToyPair:
    """One pair of the named construction, with words as `sampler` chooses them."""
    phrase = CONSTRUCTIONS[construction](sampler)
    source_words = tuple(word.text for word in phrase.source)
    target_words = tuple(elided(sampler.lexicon, [word.text for word in phrase.target]))
    return ToyPair(
        source=join_english(source_words),
        target=join_french(target_words),
        source_words=source_words,
        target_words=target_words,
        alignment=_alignment(phrase),
        construction=construction,
        combinations=phrase.combinations,
    )


def join_english(words: Sequence[str]) -> str:
    """The sentence that the English words make: `the cat sleeps .` is `The cat sleeps.`"""
    return _capitalised(" ".join(words).replace(" .", ".").replace(" ?", "?"))


def join_french(words: Sequence[str]) -> str:
    """The sentence that the French words make: `aime -t-il l' arbre ?` is `Aime-t-il l'arbre ?`

    The apostrophe is U+0027 and the space before a question mark U+0020, as on a keyboard.
    """
    return _capitalised(" ".join(words).replace("' ", "'").replace(" -", "-").replace(" .", "."))


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _alignment(phrase: Phrase) -> tuple[tuple[int, int], ...]:
    places: dict[str, list[int]] = {}
    for place, word in enumerate(phrase.target):
        places.setdefault(word.link, []).append(place)
    return tuple((i, j) for i, word in enumerate(phrase.source) for j in places[word.link])
