"""How good a translator is: told the right prefix (teacher-forced), and on its own (exact match)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import mlx.core as mx
import numpy as np

from mlxdecoder.decoding import generating
from mlxdecoder.generate import generate
from mlxdecoder.ids import in_batches
from mlxdecoder.models import Translator
from mlxdecoder.prepared import prepare
from mlxdecoder.training.batches import Example, make_batch, plan_epoch
from mlxdecoder.training.loss import cross_entropy
from mlxdecoder.training.options import TrainingOptions

TOKENS = 4096  # that are scored at once


def teacher_forced(model: Translator, examples: Sequence[Example], pad_multiple: int = 4) -> tuple[float, float]:
    """Loss a token (nats, no smoothing) and share of tokens that are right when all before them are given.

    NaN for both where there are no examples.
    """
    if not examples:
        return float("nan"), float("nan")
    loss = right = counted = 0.0
    options = TrainingOptions(pad_multiple=pad_multiple)
    options = replace(options, tokens_per_batch=max(TOKENS, _longest(examples) + pad_multiple))
    with generating(model):
        for indices in plan_epoch(examples, options, epoch=0):
            batch = make_batch([examples[i] for i in indices], model.config, model.recipe, options)
            logits = model(batch.source, batch.inputs, batch.layout)  # [B, T, V]
            labels, weights = mx.array(batch.labels.reshape(-1)), mx.array(batch.weights.reshape(-1))
            flat = logits.reshape(-1, logits.shape[-1])
            loss += cross_entropy(flat, labels, weights).item()
            right += ((flat.argmax(axis=-1) == labels) * weights).sum().item()
            counted += float(batch.weights.sum())
    return loss / counted, right / counted


def exact_match(model: Translator, examples: Sequence[Example], batch_size: int = 64) -> float:
    """Share of sources that greedy decoding, on its own, turns into exactly the target."""
    if not examples:
        return float("nan")
    sources = [example.source for example in examples]
    with generating(model):
        ready = prepare(model, batch_size)
        made = in_batches(sources, lambda batch: generate(ready, batch), batch_size)
    hits = [tuple(one.tokens) == example.target for one, example in zip(made, examples, strict=True)]
    return float(np.mean(hits))


def _longest(examples: Sequence[Example]) -> int:
    return 1 + max((max(len(example.source), len(example.target)) for example in examples), default=0)
