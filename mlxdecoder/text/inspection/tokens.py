"""How many pairs will be too long for training: about, from the characters that a token holds in a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlxdecoder.errors import UserError
from mlxdecoder.text.corpus import clean
from mlxdecoder.text.inspection.findings import SHOWN
from mlxdecoder.text.inspection.measures import SIDES, Measures
from mlxdecoder.text.readers import Row
from mlxdecoder.text.tokenizer import Tokenizer

_SAMPLE = 5000  # pairs
_CUT = 1000  # characters of a text of the sample


@dataclass(frozen=True)
class TooLong:
    """About `count` pairs have more than `longest` tokens on a side.

    It follows from the characters in a token of source and target, `per_token`, with a vocabulary of `pieces` that was
    learnt from `sample` pairs. None is learnt when no side has more characters than `longest`. `refusal` is what the
    training of the vocabulary has against this corpus.
    """

    longest: int
    count: int = 0
    sample: int = 0
    pieces: int = 0
    per_token: tuple[float, float] = (1.0, 1.0)
    refusal: str = ""


@dataclass(frozen=True)
class Candidates:
    """Places, from 0, of the pairs to learn a vocabulary from, and of the longest ones; none where none is too long."""

    sample: list[int]
    longest: list[int]


def candidates(measures: Measures, kept: np.ndarray, longest: int) -> Candidates:
    """Draw the sample evenly from the kept pairs [n], if any has more than `longest` characters on a side."""
    characters = np.where(kept, np.maximum(*(measures.of(side, "characters") for side in SIDES)), 0)
    if not (characters > longest).any():
        return Candidates([], [])
    drawn = np.random.default_rng(0).permutation(np.flatnonzero(kept))[:_SAMPLE]
    return Candidates(sorted(drawn.tolist()), np.argsort(-characters.astype(int), kind="stable")[:SHOWN].tolist())


def estimate(measures: Measures, kept: np.ndarray, sample: Sequence[Row], longest: int, vocab_size: int) -> TooLong:
    """Estimate how many kept pairs [n] have more than `longest` tokens on a side, from a sample of them."""
    if not sample:
        return TooLong(longest)
    texts = [[clean(row.source)[:_CUT] for row in sample], [clean(row.target)[:_CUT] for row in sample]]
    try:
        tokenizer = Tokenizer.train([*texts[0], *texts[1]], vocab_size, kind="bpe")
    except UserError as error:
        return TooLong(longest, refusal=str(error))
    per_token = [sum(map(len, side)) / sum(len(tokenizer.encode(text)) for text in side) for side in texts]
    tokens = [measures.of(side, "characters") / held for side, held in zip(SIDES, per_token, strict=True)]
    count = int((kept & (np.maximum(*tokens) > longest)).sum())
    return TooLong(longest, count, len(sample), tokenizer.vocab_size, (per_token[0], per_token[1]))
