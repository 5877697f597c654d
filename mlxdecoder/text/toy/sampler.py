"""Random choices: which words a phrase of the toy grammar is made of."""

from __future__ import annotations

from random import Random

from mlxdecoder.text.toy.lexicon import Adjective, Adverb, Kind, Lexicon, Noun, QuestionWord, Verb
from mlxdecoder.text.toy.phrases import Phrase, Subject, Word, noun_phrase, pronoun_object, pronoun_subject

LIVING: tuple[Kind, ...] = ("person", "animal")
EVERY_KIND: tuple[Kind, ...] = ("person", "animal", "thing")

PLURAL_SHARE = 0.35
PRONOUN_SHARE = 0.45
BEFORE_NOUN_SHARE = 0.35
BEHIND_NOUN_SHARE = 0.45
TRANSITIVE_SHARE = 0.75


class Sampler:
    """Draws phrases from a lexicon; the same lexicon and the same state of `random` give the same phrases."""

    def __init__(self, lexicon: Lexicon, random: Random) -> None:
        self.lexicon = lexicon
        self.random = random
        self._transitive = [verb for verb in lexicon.verbs if verb.objects]
        self._intransitive = [verb for verb in lexicon.verbs if not verb.objects]
        self._determiners = {
            definite: [determiner for determiner in lexicon.determiners if definite in (None, determiner.definite)]
            for definite in (None, True, False)
        }
        self._english_order = {adjective.english: rank for rank, adjective in enumerate(lexicon.adjectives)}
        self._attributes: dict[tuple[Kind, bool], list[Adjective]] = {
            (kind, before): [each for each in lexicon.adjectives if kind in each.kinds and each.before_noun == before]
            for kind in EVERY_KIND
            for before in (True, False)
        }
        self._nouns: dict[tuple[Kind, ...], list[Noun]] = {}

    def happens(self, share: float) -> bool:
        """True in `share` of the cases."""
        return self.random.random() < share

    def noun_phrase(
        self, role: str, kinds: tuple[Kind, ...] = EVERY_KIND, definite: bool | None = None, negated: bool = False
    ) -> Subject:
        """A noun of one of `kinds` with a determiner (either sort when `definite` is None) and up to two adjectives."""
        noun = self.random.choice(self._nouns_of(kinds))
        determiner = self.random.choice(self._determiners[definite])
        adjectives = self._adjectives_for(noun)
        return noun_phrase(self.lexicon, role, noun, adjectives, determiner, self.happens(PLURAL_SHARE), negated)

    def _nouns_of(self, kinds: tuple[Kind, ...]) -> list[Noun]:
        if kinds not in self._nouns:
            self._nouns[kinds] = [noun for noun in self.lexicon.nouns if noun.kind in kinds]
        return self._nouns[kinds]

    def _adjectives_for(self, noun: Noun) -> list[Adjective]:
        # At most one on either side of the French noun, so that no French list of adjectives needs an order.
        adjectives = []
        if self.happens(BEFORE_NOUN_SHARE):
            adjectives.append(self.random.choice(self._attributes[noun.kind, True]))
        if self.happens(BEHIND_NOUN_SHARE):
            adjectives.append(self.random.choice(self._attributes[noun.kind, False]))
        return sorted(adjectives, key=lambda adjective: self._english_order[adjective.english])

    def subject(self, kinds: tuple[Kind, ...] = LIVING) -> Subject:
        """A pronoun, or a noun phrase of one of `kinds`."""
        if self.happens(PRONOUN_SHARE):
            return pronoun_subject(self.random.choice(self.lexicon.pronouns))
        return self.noun_phrase("subject ", kinds)

    def transitive(self) -> Verb:
        """A verb that takes an object."""
        return self.random.choice(self._transitive)

    def intransitive(self) -> Verb:
        """A verb that takes none."""
        return self.random.choice(self._intransitive)

    def object_of(self, verb: Verb, negated: bool = False) -> Phrase:
        """A noun phrase that suits a transitive verb, with the combination that the two make."""
        definite = True if verb.definite_object else None
        phrase = self.noun_phrase("object ", verb.objects, definite, negated)
        return Phrase(phrase.source, phrase.target, phrase.combinations | {(verb.name, phrase.noun_name)})

    def verb_with_object(self, negated: bool = False) -> tuple[Verb, Phrase]:
        """A verb and its object, or a verb that takes none and an empty phrase."""
        if self.happens(TRANSITIVE_SHARE):
            verb = self.transitive()
            return verb, self.object_of(verb, negated)
        return self.intransitive(), Phrase()

    def clitic(self, subject: Subject) -> Phrase:
        """An object pronoun that needs no reflexive with `subject`."""
        pronouns = self.lexicon.pronouns
        if subject.pronoun:
            pronouns = tuple(pronoun for pronoun in pronouns if not pronoun.clashes_with(subject.pronoun))
        return pronoun_object(self.random.choice(pronouns))

    def predicate_of(self, subject: Subject) -> Phrase:
        """An adjective that can be said of `subject` and is not said of it yet."""
        adjective = self.random.choice(
            [
                each
                for each in self.lexicon.adjectives
                if each.predicative and subject.kind in each.kinds and each not in subject.adjectives
            ]
        )
        return Phrase(
            [Word(adjective.english, "adjective")],
            [Word(adjective.form(subject.gender, subject.plural), "adjective")],
            frozenset({(subject.noun_name, adjective.english)} if subject.noun else ()),
        )

    def place(self) -> Phrase:
        """A preposition and its noun phrase."""
        preposition = self.random.choice(self.lexicon.prepositions)
        phrase = self.noun_phrase("place ", preposition.kinds)
        english = [Word(text, "preposition") for text in preposition.english.split()]
        french = Word(preposition.french, "preposition")
        return Phrase([*english, *phrase.source], [french, *phrase.target], phrase.combinations)

    def adverb(self) -> Adverb:
        """An adverb."""
        return self.random.choice(self.lexicon.adverbs)

    def question_word(self) -> QuestionWord:
        """why, when or where."""
        return self.random.choice(self.lexicon.question_words)
