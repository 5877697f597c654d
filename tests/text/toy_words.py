"""The words of the toy grammar, as its files have them, and what can be read from them without the grammar."""

from __future__ import annotations

import json
from importlib.resources import files

from mlxdecoder.text.toy import ToyPair

TOY = files("mlxdecoder.assets") / "toy"
LEXICON = json.loads((TOY / "lexicon.json").read_text(encoding="utf-8"))
CONSTRUCTIONS = json.loads((TOY / "constructions.json").read_text(encoding="utf-8"))
ENGLISH_NOUNS = {form: noun["english"] for noun in LEXICON["nouns"] for form in noun["english"]}
ENGLISH_ADJECTIVES = {each["english"] for each in LEXICON["adjectives"]}


def combinations_read_from(pair: ToyPair) -> set[tuple[str, str]]:
    """The combinations as the English words show them, without the grammar's own record."""
    found, words = set(), pair.source_words
    nouns = [(place, ENGLISH_NOUNS[word][0]) for place, word in enumerate(words) if word in ENGLISH_NOUNS]
    for place, noun in nouns:
        while words[place - 1] in ENGLISH_ADJECTIVES:
            place -= 1
            found.add((noun, words[place]))
    if "copula" in pair.construction and nouns:
        found.add((nouns[0][1], words[-2]))
    if pair.construction in ("transitive", "negation", "question", "wh_question"):
        transitive = [verb["english"] for verb in LEXICON["verbs"] if "objects" in verb]
        verbs = [base for base, third in transitive if {base.split()[0], third.split()[0]} & set(words)]
        found |= {(verb, nouns[-1][1]) for verb in verbs}
    return found
