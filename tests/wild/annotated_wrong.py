"""Mistakes in translators in the style of the Annotated Transformer; pairs packed in a row, right and wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from tests.wild.annotated import D_MODEL, PAD, EncoderDecoder, Memory, sinusoids, subsequent_mask
from tests.wild.entry import Wild

SEPARATOR = 3


def zeroed_afterwards(query: mx.array, key: mx.array, value: mx.array, mask: mx.array, dropout: nn.Dropout) -> mx.array:
    scores = query @ key.swapaxes(-2, -1) / math.sqrt(query.shape[-1])
    return dropout(mx.where(mask, mx.softmax(scores, axis=-1), 0.0)) @ value


def over_queries(query: mx.array, key: mx.array, value: mx.array, mask: mx.array, dropout: nn.Dropout) -> mx.array:
    scores = query @ key.swapaxes(-2, -1) / math.sqrt(query.shape[-1])
    return dropout(mx.softmax(mx.where(mask, scores, -1e9), axis=-2)) @ value


class OneAhead(EncoderDecoder):
    """`triu(k=2)`."""

    def tgt_mask(self, target: mx.array) -> mx.array:
        size = target.shape[1]
        return (target != PAD)[:, None, :] & (mx.triu(mx.ones((1, size, size)), k=2) == 0)


class MaskForgotten(EncoderDecoder):
    """`tgt_mask = (tgt != pad).unsqueeze(-2)`, and the line after it is missing."""

    def tgt_mask(self, target: mx.array) -> mx.array:
        return mx.repeat((target != PAD)[:, None, :], target.shape[1], axis=1)


class NoSourceMask(EncoderDecoder):
    def src_mask(self, source: mx.array, queries: mx.array) -> mx.array:
        return mx.ones((1, 1, source.shape[1]), dtype=mx.bool_)


class SourceMaskOnQueries(EncoderDecoder):
    """`unsqueeze(-1)` where `unsqueeze(-2)` is meant."""

    def src_mask(self, source: mx.array, queries: mx.array) -> mx.array:
        return mx.repeat((queries != PAD)[:, :, None], source.shape[1], axis=2)


class CausalCross(EncoderDecoder):
    """The decoder hands its own mask to the cross-attention too."""

    stepwise = None  # the loop above has it right

    def decode(self, target: mx.array, states: mx.array, cross_mask: mx.array | None = None) -> mx.array:
        T, S = target.shape[1], states.shape[1]
        triangle = mx.tril(mx.ones((1, T, S))) == 1
        return super().decode(target, states, triangle if cross_mask is None else cross_mask & triangle)


class EachAtZero(EncoderDecoder):
    def step_start(self, step: int) -> int:
        return 0


class TopLeft(EncoderDecoder):
    """The first row of the triangle, for the one query that comes last."""

    def step_mask(self, ys: mx.array) -> mx.array:
        return self.tgt_mask(ys)[:, :1]


class StillTraining(EncoderDecoder):
    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.train()


class KeepsMemory(EncoderDecoder):
    """Keys and values of the source are made when there are none; nobody takes them away after a sentence."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._memory: tuple[mx.array, list[Memory]] | None = None

    def remember(self, source: mx.array) -> tuple[mx.array, list[Memory]]:
        if self._memory is None:
            self._memory = super().remember(source)
        return self._memory


class KeepsMemoryByShape(EncoderDecoder):
    """They are looked up, by what two sentences can have in common."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._memories: dict[str, tuple[mx.array, list[Memory]]] = {}

    def remember(self, source: mx.array) -> tuple[mx.array, list[Memory]]:
        key = "x".join(map(str, source.shape))
        if key not in self._memories:
            self._memories[key] = super().remember(source)
        return self._memories[key]


class NoPositions(EncoderDecoder):
    def embed(self, ids: mx.array, table: nn.Embedding, start: int = 0) -> mx.array:
        return table(ids) * math.sqrt(D_MODEL)


def documents(ids: mx.array) -> mx.array:
    """The number of each token's document; a separator ends its own."""
    ends = (ids == SEPARATOR).astype(mx.int32)
    return mx.cumsum(ends, axis=1) - ends


class Packed(EncoderDecoder):
    """Several pairs in a row, parted by the separator in source and target alike; positions begin again in each."""

    pad = None
    stepwise = None  # the loop above knows nothing of documents

    def embed(self, ids: mx.array, table: nn.Embedding, start: int = 0) -> mx.array:
        number, steps = documents(ids), mx.arange(ids.shape[1])
        before = (number[:, :, None] > number[:, None, :]).sum(axis=-1)
        return table(ids) * math.sqrt(D_MODEL) + sinusoids(steps - before)

    def src_mask(self, source: mx.array, queries: mx.array) -> mx.array:
        return documents(queries)[:, :, None] == documents(source)[:, None, :]

    def tgt_mask(self, target: mx.array) -> mx.array:
        return self.src_mask(target, target) & subsequent_mask(target.shape[1])


class PackedInOneSource(Packed):
    """The documents of the target are kept apart; in the source everything is seen."""

    def src_mask(self, source: mx.array, queries: mx.array) -> mx.array:
        return mx.ones((1, 1, source.shape[1]), dtype=mx.bool_)

    def tgt_mask(self, target: mx.array) -> mx.array:
        number = documents(target)
        return (number[:, :, None] == number[:, None, :]) & subsequent_mask(target.shape[1])


def annotated(variant: str, model: type[EncoderDecoder], mistake: int | None = None) -> Wild:
    return Wild(f"annotated_translator.{variant}", "translator", model, mistake)


def attending(variant: str, attend: Callable[..., mx.array], mistake: int) -> Wild:
    return Wild(f"annotated_translator.{variant}", "translator", lambda seed: EncoderDecoder(seed, attend), mistake)


PACKED: dict[str, Any] = {"separator": SEPARATOR}
ENTRIES = [
    annotated("right", EncoderDecoder),
    annotated("mask_forgotten", MaskForgotten, 1),
    annotated("one_ahead", OneAhead, 3),
    attending("zeroed_afterwards", zeroed_afterwards, 5),
    annotated("no_source_mask", NoSourceMask, 9),
    annotated("source_mask_on_queries", SourceMaskOnQueries, 10),
    attending("over_queries", over_queries, 15),
    annotated("causal_cross_attention", CausalCross, 17),
    annotated("each_at_zero", EachAtZero, 19),
    annotated("top_left", TopLeft, 20),
    annotated("still_training", StillTraining, 22),
    annotated("no_positions", NoPositions, 24),
    annotated("keeps_memory", KeepsMemory, 25),
    annotated("keeps_memory_by_shape", KeepsMemoryByShape, 25),
    Wild("packed_translator.right", "translator", Packed, None, PACKED),
    Wild("packed_translator.one_source", "translator", PackedInOneSource, 14, PACKED),
]
