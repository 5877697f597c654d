"""The eleven constructions of the toy grammar: how a sentence is put together in English and in French."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlxdecoder.text.toy.lexicon import read_toy_json
from mlxdecoder.text.toy.phrases import Phrase, Subject, Word, base, do, finite, inverted, negated
from mlxdecoder.text.toy.sampler import EVERY_KIND, Sampler

ADVERB_SHARE = 0.6
PLACE_SHARE = 0.4


def transitive(sampler: Sampler) -> Phrase:
    """The black cat sees a bird. Le chat noir voit un oiseau."""
    subject, verb = sampler.subject(), sampler.transitive()
    return _sentence([subject, finite(verb, subject), sampler.object_of(verb)])


def intransitive(sampler: Sampler) -> Phrase:
    """The girl often sings. La fille chante souvent."""
    subject, verb = sampler.subject(), sampler.intransitive()
    predicate = finite(verb, subject)
    if not sampler.happens(ADVERB_SHARE):
        return _sentence([subject, predicate])
    adverb = sampler.adverb()
    english, french = Word(adverb.english, "adverb"), Word(adverb.french, "adverb")
    source = [english, *predicate.source] if adverb.before_verb else [*predicate.source, english]
    return _sentence([subject, Phrase(source, [*predicate.target, french])])


def negation(sampler: Sampler) -> Phrase:
    """He does not see any birds. Il ne voit pas d'oiseaux."""
    subject = sampler.subject()
    verb, complement = sampler.verb_with_object(negated=True)
    source = [do(subject), Word("not", "not"), *base(verb)]
    return _sentence([subject, Phrase(source, negated(finite(verb, subject).target)), complement])


def question(sampler: Sampler) -> Phrase:
    """Does he like this dog? Aime-t-il ce chien ?"""
    return _sentence([_asked(sampler)], mark="?")


def wh_question(sampler: Sampler) -> Phrase:
    """Why does the child run? Pourquoi est-ce que l'enfant court ?"""
    word = sampler.question_word()
    opening = Phrase([Word(word.english, "question")], [Word(word.french, "question")])
    return _sentence([opening, _asked(sampler)], mark="?")


def copula(sampler: Sampler) -> Phrase:
    """These apples are red. Ces pommes sont rouges."""
    subject = sampler.subject(EVERY_KIND)
    return _sentence([subject, _be(sampler, subject), sampler.predicate_of(subject)])


def negated_copula(sampler: Sampler) -> Phrase:
    """She is not old. Elle n'est pas vieille."""
    subject = sampler.subject(EVERY_KIND)
    be = _be(sampler, subject)
    denied = Phrase([*be.source, Word("not", "not")], negated(be.target))
    return _sentence([subject, denied, sampler.predicate_of(subject)])


def clitic(sampler: Sampler) -> Phrase:
    """We like them. Nous les aimons."""
    subject = sampler.subject()
    verb, complement = finite(sampler.transitive(), subject), sampler.clitic(subject)
    return _sentence([subject, Phrase(verb.source + complement.source, complement.target + verb.target)])


def negated_clitic(sampler: Sampler) -> Phrase:
    """I do not see her. Je ne la vois pas."""
    subject, verb = sampler.subject(), sampler.transitive()
    complement = sampler.clitic(subject)
    source = [do(subject), Word("not", "not"), *base(verb), *complement.source]
    return _sentence([subject, Phrase(source, negated(complement.target + finite(verb, subject).target))])


def prepositional(sampler: Sampler) -> Phrase:
    """The dog sleeps under a tree. Le chien dort sous un arbre."""
    subject = sampler.subject()
    return _sentence([subject, finite(sampler.intransitive(), subject), sampler.place()])


def there_is(sampler: Sampler) -> Phrase:
    """There are some new flowers. Il y a de nouvelles fleurs."""
    thing = sampler.noun_phrase("subject ", definite=False)
    be = Word("are" if thing.plural else "is", "is")
    opening = Phrase([Word("there", "there"), be], [Word("il", "there"), Word("y", "there"), Word("a", "is")])
    return _sentence([opening, thing, *([sampler.place()] if sampler.happens(PLACE_SHARE) else [])])


def _sentence(phrases: Sequence[Phrase], mark: str = ".") -> Phrase:
    end = Word(mark, "end")
    return Phrase(
        [word for phrase in phrases for word in phrase.source] + [end],
        [word for phrase in phrases for word in phrase.target] + [end],
        frozenset().union(*(phrase.combinations for phrase in phrases)),
    )


def _be(sampler: Sampler, subject: Subject) -> Phrase:
    forms = sampler.lexicon.copula
    return Phrase([Word(forms.english[subject.slot], "be")], [Word(forms.french[subject.slot], "be")])


def _asked(sampler: Sampler) -> Phrase:
    # Formal French: a pronoun moves behind the verb; je and nouns stay, behind `est-ce que`.
    subject = sampler.subject()
    verb, complement = sampler.verb_with_object()
    (french,) = finite(verb, subject).target
    inverts = subject.pronoun is not None and subject.slot > 0
    opening = [] if inverts else [Word("est-ce", "do"), Word("que", "do")]
    clause = inverted(subject, french) if inverts else [*subject.target, french]
    source = [do(subject, "verb" if inverts else "do"), *subject.source, *base(verb), *complement.source]
    return Phrase(source, [*opening, *clause, *complement.target], subject.combinations | complement.combinations)


CONSTRUCTIONS: dict[str, Callable[[Sampler], Phrase]] = {
    build.__name__: build
    for build in (
        transitive,
        intransitive,
        negation,
        question,
        wh_question,
        copula,
        negated_copula,
        clitic,
        negated_clitic,
        prepositional,
        there_is,
    )
}


def construction_weights() -> dict[str, float]:
    """How often each construction is drawn, from `assets/toy/constructions.json`."""
    return {entry["name"]: entry["weight"] for entry in read_toy_json("constructions.json")}
