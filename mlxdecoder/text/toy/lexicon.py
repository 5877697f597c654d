"""The words of the toy grammar, read from `assets/toy/lexicon.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeVar

Gender = Literal["masculine", "feminine"]
Kind = Literal["person", "animal", "thing"]
Entry = TypeVar("Entry")

# Where a subject stands in a list of six verb forms: I, (thou), he or she, we, you, they.
HE_SLOT, THEY_SLOT = 2, 5
_VOWELS = frozenset("aeiouyâàéèêëîïôûœ")


@dataclass(frozen=True)
class Noun:
    """`english` and `french` hold the singular and the plural."""

    english: tuple[str, str]
    french: tuple[str, str]
    gender: Gender
    kind: Kind


@dataclass(frozen=True)
class Adjective:
    """The French forms are (singular, plural); `before_vowel` is the masculine singular in front of a vowel (vieil)."""

    english: str
    masculine: tuple[str, str]
    feminine: tuple[str, str]
    before_noun: bool
    kinds: tuple[Kind, ...]
    before_vowel: str = ""
    predicative: bool = True

    def form(self, gender: Gender, plural: bool) -> str:
        """The French form that agrees with a noun."""
        return (self.masculine if gender == "masculine" else self.feminine)[plural]


@dataclass(frozen=True)
class Determiner:
    """`english` holds the singular and the plural."""

    english: tuple[str, str]
    masculine: str
    feminine: str
    plural: str
    definite: bool

    def form(self, gender: Gender, plural: bool) -> str:
        """The French form that agrees with a noun."""
        if plural:
            return self.plural
        return self.masculine if gender == "masculine" else self.feminine


@dataclass(frozen=True)
class Verb:
    """`english` holds the base and the third person, `french` six forms; `objects` is empty without an object."""

    english: tuple[str, str]
    french: tuple[str, ...]
    objects: tuple[Kind, ...] = ()
    definite_object: bool = False

    @property
    def name(self) -> str:
        """The English base, by which combinations name the verb."""
        return self.english[0]


@dataclass(frozen=True)
class Copula:
    """`be` and `être`: six forms each."""

    english: tuple[str, ...]
    french: tuple[str, ...]


@dataclass(frozen=True)
class Pronoun:
    """`subject` and `object` hold (English, French); `slot` is the verb form that it takes."""

    subject: tuple[str, str]
    object: tuple[str, str]
    slot: int
    gender: Gender

    def clashes_with(self, other: Pronoun) -> bool:
        """Whether the two as subject and object would need a reflexive (I see me, we see me, you see you)."""
        return self.slot % 3 == other.slot % 3 != HE_SLOT


@dataclass(frozen=True)
class Adverb:
    """`before_verb` speaks of English; in French every adverb here stands behind the verb."""

    english: str
    french: str
    before_verb: bool


@dataclass(frozen=True)
class Preposition:
    """`kinds` are the nouns that may follow."""

    english: str
    french: str
    kinds: tuple[Kind, ...]


@dataclass(frozen=True)
class QuestionWord:
    """why, when, where."""

    english: str
    french: str


@dataclass(frozen=True)
class Lexicon:
    """Every word; adjectives stand in their English order (a small black cat), which French need not share.

    `before_vowel` maps a word to what it becomes in front of a vowel (je to j', ma to mon), `aspirated` lists the words
    whose h counts as a consonant (le hibou).
    """

    nouns: tuple[Noun, ...]
    adjectives: tuple[Adjective, ...]
    determiners: tuple[Determiner, ...]
    verbs: tuple[Verb, ...]
    copula: Copula
    pronouns: tuple[Pronoun, ...]
    adverbs: tuple[Adverb, ...]
    prepositions: tuple[Preposition, ...]
    question_words: tuple[QuestionWord, ...]
    before_vowel: dict[str, str]
    aspirated: tuple[str, ...]

    def starts_with_vowel(self, word: str) -> bool:
        """Whether the French `word` makes the word in front of it elide."""
        return (word[0] in _VOWELS or word[0] == "h") and word not in self.aspirated


def read_toy_json(name: str) -> Any:
    """The content of a JSON file of `assets/toy`."""
    return json.loads((files("mlxdecoder.assets") / "toy" / name).read_text(encoding="utf-8"))


@cache
def load_lexicon() -> Lexicon:
    """The whole lexicon, read once."""
    data = read_toy_json("lexicon.json")
    return Lexicon(
        nouns=_entries(Noun, data["nouns"]),
        adjectives=_entries(Adjective, data["adjectives"]),
        determiners=_entries(Determiner, data["determiners"]),
        verbs=_entries(Verb, data["verbs"]),
        copula=_entry(Copula, data["copula"]),
        pronouns=_entries(Pronoun, data["pronouns"]),
        adverbs=_entries(Adverb, data["adverbs"]),
        prepositions=_entries(Preposition, data["prepositions"]),
        question_words=_entries(QuestionWord, data["question_words"]),
        before_vowel=data["before_vowel"],
        aspirated=tuple(data["aspirated"]),
    )


def _entries(kind: type[Entry], rows: list[dict[str, Any]]) -> tuple[Entry, ...]:
    return tuple(_entry(kind, row) for row in rows)


def _entry(kind: type[Entry], row: dict[str, Any]) -> Entry:
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in row.items()})
