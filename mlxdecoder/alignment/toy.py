"""The toy grammar as a test of alignments: each of its pairs knows which words translate which."""

from __future__ import annotations

from collections.abc import Sequence

from mlxdecoder.alignment.links import Gold
from mlxdecoder.alignment.sentences import SentencePair, locate, read_sentence
from mlxdecoder.text.protocol import TextTokenizer
from mlxdecoder.text.toy import ToyPair


def read_toy(tokenizer: TextTokenizer, pairs: Sequence[ToyPair]) -> tuple[list[SentencePair], list[Gold]]:
    """Toy pairs with their links, in the words of the grammar: full stops, elided words and inverted pronouns too."""
    read = [
        (
            read_sentence(tokenizer, pair.source, locate(pair.source_words, pair.source)),
            read_sentence(tokenizer, pair.target, locate(pair.target_words, pair.target), target=True),
        )
        for pair in pairs
    ]
    links = [frozenset(pair.alignment) for pair in pairs]
    return read, [Gold(one, one) for one in links]
