"""Noun phrases, pronouns and verbs in both languages: agreement, order and elision; nothing here is random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from mlxdecoder.text.toy.lexicon import (
    HE_SLOT,
    THEY_SLOT,
    Adjective,
    Determiner,
    Gender,
    Kind,
    Lexicon,
    Noun,
    Pronoun,
    Verb,
)


class Word(NamedTuple):
    """A word in its place; words of the two languages with the same link are aligned."""

    text: str
    link: str


@dataclass(slots=True)
class Phrase:
    """The same phrase in both languages, and the (noun, adjective) and (verb, object noun) pairs in it."""

    source: list[Word] = field(default_factory=list)
    target: list[Word] = field(default_factory=list)
    combinations: frozenset[tuple[str, str]] = frozenset()


@dataclass(slots=True)
class Subject(Phrase):
    """A phrase that a verb or an adjective can agree with: either `noun` or `pronoun` is there."""

    slot: int = HE_SLOT
    gender: Gender = "masculine"
    noun: Noun | None = None
    adjectives: tuple[Adjective, ...] = ()
    pronoun: Pronoun | None = None

    @property
    def plural(self) -> bool:
        """Whether it speaks of several."""
        return self.slot > HE_SLOT

    @property
    def kind(self) -> Kind:
        """What it speaks of; every pronoun stands for a person."""
        return self.noun.kind if self.noun else "person"

    @property
    def noun_name(self) -> str:
        """The English singular, by which combinations name the noun; empty for a pronoun."""
        return self.noun.english[0] if self.noun else ""


def noun_phrase(
    lexicon: Lexicon,
    role: str,
    noun: Noun,
    adjectives: Sequence[Adjective],
    determiner: Determiner,
    plural: bool,
    negated: bool = False,
) -> Subject:
    """A noun with its determiner and adjectives; `role` marks its links, `negated` makes it the object of `not`."""
    before: list[Word] = []
    behind: list[Word] = []
    for adjective in adjectives:
        word = Word(_french_adjective(lexicon, adjective, noun, plural), role + adjective.english)
        (before if adjective.before_noun else behind).append(word)
    names = [Word(adjective.english, role + adjective.english) for adjective in adjectives]
    names.append(Word(noun.english[plural], role + "noun"))
    english = _english_determiner(determiner, plural, negated, names[0].text)
    french = _french_determiner(determiner, noun, plural, negated, bool(before))
    link = role + "determiner"
    return Subject(
        source=[Word(english, link), *names],
        target=[Word(french, link), *before, Word(noun.french[plural], role + "noun"), *behind],
        combinations=frozenset((noun.english[0], adjective.english) for adjective in adjectives),
        slot=THEY_SLOT if plural else HE_SLOT,
        gender=noun.gender,
        noun=noun,
        adjectives=tuple(adjectives),
    )


def _english_determiner(determiner: Determiner, plural: bool, negated: bool, following: str) -> str:
    word = determiner.english[plural]
    if word == "a" and following[0] in "aeiou":
        return "an"
    return "any" if word == "some" and negated else word


def _french_determiner(determiner: Determiner, noun: Noun, plural: bool, negated: bool, adjective_follows: bool) -> str:
    if not determiner.definite and (negated or (plural and adjective_follows)):
        return "de"
    return determiner.form(noun.gender, plural)


def _french_adjective(lexicon: Lexicon, adjective: Adjective, noun: Noun, plural: bool) -> str:
    singular = noun.gender == "masculine" and not plural
    if adjective.before_vowel and singular and lexicon.starts_with_vowel(noun.french[0]):
        return adjective.before_vowel
    return adjective.form(noun.gender, plural)


def pronoun_subject(pronoun: Pronoun) -> Subject:
    """A pronoun as the subject."""
    english, french = (Word(text, "subject") for text in pronoun.subject)
    return Subject([english], [french], slot=pronoun.slot, gender=pronoun.gender, pronoun=pronoun)


def pronoun_object(pronoun: Pronoun) -> Phrase:
    """A pronoun as the object; the French one stands before the verb."""
    english, french = (Word(text, "object") for text in pronoun.object)
    return Phrase([english], [french])


def base(verb: Verb) -> list[Word]:
    """The English verb behind `do`."""
    return [Word(text, "verb") for text in verb.english[0].split()]


def finite(verb: Verb, subject: Subject) -> Phrase:
    """The verb in the present tense, as the subject wants it."""
    english = verb.english[subject.slot == HE_SLOT].split()
    return Phrase([Word(text, "verb") for text in english], [Word(verb.french[subject.slot], "verb")])


def do(subject: Subject, link: str = "verb") -> Word:
    """`do` or `does`, aligned with the French words of `link`."""
    return Word("does" if subject.slot == HE_SLOT else "do", link)


def negated(words: Sequence[Word]) -> list[Word]:
    """`ne ... pas` around a French verb and its clitic."""
    return [Word("ne", "not"), *words, Word("pas", "not")]


def inverted(subject: Subject, verb: Word) -> list[Word]:
    """The French verb with its pronoun behind it: `aimez-vous`, `voit-il`, and `aime-t-il` behind a vowel."""
    (pronoun,) = subject.target
    joint = "-t-" if subject.slot == HE_SLOT and verb.text[-1] not in "dt" else "-"
    return [verb, Word(joint + pronoun.text, pronoun.link)]


def elided(lexicon: Lexicon, words: Sequence[str]) -> list[str]:
    """The French words, with je, le, ne, ma ... before a vowel in the form that they take there."""
    result = list(words)
    for place, (word, following) in enumerate(pairwise(words)):
        if word in lexicon.before_vowel and lexicon.starts_with_vowel(following):
            result[place] = lexicon.before_vowel[word]
    return result
