"""The perplexity of references by its definition, one pair after the other, in NumPy from the logits on."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mlxdecoder.training.checkpoint import Checkpoint
from tests import reference
from tests.builders import numbers


def perplexity_of(checkpoint: Checkpoint, pairs: Iterable[tuple[str, str]]) -> float:
    """Of every token of the references and the mark that ends each; both sides of each pair hold text."""
    config, losses = checkpoint.model.config, list[float]()
    for source, wanted in pairs:
        ids, labels = checkpoint.tokenizer.encode(source), [*checkpoint.tokenizer.encode_target(wanted), config.end_id]
        logits = numbers(checkpoint.model([ids], [[config.begin_id, *labels[:-1]]]))[0]
        losses += [-float(row[label]) for row, label in zip(reference.log_softmax(logits), labels, strict=True)]
    return float(np.exp(np.mean(losses)))
