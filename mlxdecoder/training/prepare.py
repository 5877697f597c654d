"""From pairs of sentences to a tokenizer, a model and examples, ready to be trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import mlx.core as mx

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.models import Translator
from mlxdecoder.text.corpus import Pair
from mlxdecoder.text.protocol import TextTokenizer
from mlxdecoder.text.tokenizer import Tokenizer
from mlxdecoder.training.batches import Example

BETWEEN = 20_000  # pairs from one word about the progress to the next
LONGEST = 100  # tokens a side; longer sentences are left out of training


@dataclass(frozen=True)
class Prepared:
    """Examples to train on and to be measured on, and how many pairs were too long or blank for the tokenizer."""

    tokenizer: TextTokenizer
    train: list[Example]
    validation: list[Example]
    left_out: int


def prepare(
    train: Sequence[Pair],
    validation: Sequence[Pair],
    vocab_size: int,
    tokenizer: TextTokenizer | None = None,
    progress: Callable[[str], None] | None = None,
) -> Prepared:
    """Train a tokenizer on both sides of the training pairs, unless one is given, and encode all pairs."""
    if tokenizer is None:
        lines = [text for pair in train for text in (pair.source, pair.target)]
        tokenizer = Tokenizer.train(lines, vocab_size, kind="bpe", progress=progress)
    kept = encode_pairs(tokenizer, train, progress)
    held_out = encode_pairs(tokenizer, validation)
    if not kept:
        raise UserError(f"corpus: no pair is left to train on; each side must have 1 to {LONGEST} tokens.")
    if not held_out:
        raise UserError(f"corpus: no held-out pair is left to measure by; each side must have 1 to {LONGEST} tokens.")
    return Prepared(tokenizer, kept, held_out, len(train) - len(kept))


def encode_pairs(
    tokenizer: TextTokenizer, pairs: Sequence[Pair], progress: Callable[[str], None] | None = None
) -> list[Example]:
    """Pairs as examples, without those that are empty or longer than `LONGEST` tokens on a side."""
    examples = []
    for number, pair in enumerate(pairs, 1):
        example = Example(tuple(tokenizer.encode(pair.source)), tuple(tokenizer.encode_target(pair.target)))
        if 0 < len(example.source) <= LONGEST and 0 < len(example.target) <= LONGEST:
            examples.append(example)
        if progress and number % BETWEEN == 0:
            progress(f"Encoding: {number:,} of {len(pairs):,} pairs ...")
    return examples


def fresh_model(config: ModelConfig, tokenizer: TextTokenizer, seed: int) -> Translator:
    """A translator for the vocabulary of a tokenizer, with weights that a seed decides."""
    mx.random.seed(seed)
    model = Translator(replace(config, target_vocab=tokenizer.vocab_size))
    mx.eval(model.parameters())
    return model
