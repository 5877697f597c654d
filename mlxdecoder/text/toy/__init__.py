"""The toy grammar: small English sentences, their one right French translation, and the gold word alignment.

24 nouns, 16 adjectives, 5 determiners, 14 verbs and 11 constructions (`assets/toy/`), with agreement, elision, negation
around the verb, clitic pronouns before it, and adjectives on either side of the noun.
A translation depends on the English sentence alone: `you` is always the plural `vous`, `they` is `ils`, `I` and `we`
are masculine, and so are `friend`, `child` and `teacher`. About three pairs in four have links that cross.
"""

from mlxdecoder.text.toy.pairs import ToyPair, generate, join_english, join_french, make_pairs
from mlxdecoder.text.toy.splits import ToySplits, make_splits

__all__ = ["ToyPair", "ToySplits", "generate", "join_english", "join_french", "make_pairs", "make_splits"]
