"""An encoder-decoder in MLX in the style of the Annotated Transformer, with a decoding loop that keeps caches.

Layers are normalised first. `stepwise` gives the logits one target token at a time; keys and values of the source are
made once for a sentence.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import mlx.core as mx
import mlx.nn as nn

VOCABULARY, D_MODEL, H, PAD = 24, 32, 4, 0
Memory = tuple[mx.array, mx.array]  # keys and values


def subsequent_mask(size: int) -> mx.array:
    return mx.triu(mx.ones((1, size, size)), k=1) == 0


def attention(query: mx.array, key: mx.array, value: mx.array, mask: mx.array, dropout: nn.Dropout) -> mx.array:
    scores = query @ key.swapaxes(-2, -1) / math.sqrt(query.shape[-1])
    return dropout(mx.softmax(mx.where(mask, scores, -1e9), axis=-1)) @ value


class MultiHeadedAttention(nn.Module):
    def __init__(self, attend: Callable[..., mx.array]) -> None:
        super().__init__()
        self.linears = [nn.Linear(D_MODEL, D_MODEL) for _ in range(4)]
        self.dropout = nn.Dropout(0.1)
        self.attend = attend

    def heads(self, index: int, x: mx.array) -> mx.array:
        return self.linears[index](x).reshape(x.shape[0], -1, H, D_MODEL // H).swapaxes(1, 2)

    def memory(self, x: mx.array) -> Memory:
        return self.heads(1, x), self.heads(2, x)

    def __call__(self, query: mx.array, memory: Memory, mask: mx.array) -> mx.array:
        x = self.attend(self.heads(0, query), *memory, mask[:, None], self.dropout)
        return self.linears[3](x.swapaxes(1, 2).reshape(query.shape[0], -1, D_MODEL))


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w_1, self.w_2, self.dropout = nn.Linear(D_MODEL, 64), nn.Linear(64, D_MODEL), nn.Dropout(0.1)

    def __call__(self, x: mx.array) -> mx.array:
        return self.w_2(self.dropout(nn.relu(self.w_1(x))))


class EncoderLayer(nn.Module):
    def __init__(self, attend: Callable[..., mx.array]) -> None:
        super().__init__()
        self.self_attn, self.feed_forward = MultiHeadedAttention(attend), FeedForward()
        self.norms = [nn.LayerNorm(D_MODEL) for _ in range(2)]

    def __call__(self, x: mx.array, mask: mx.array) -> mx.array:
        normed = self.norms[0](x)
        x = x + self.self_attn(normed, self.self_attn.memory(normed), mask)
        return x + self.feed_forward(self.norms[1](x))


class DecoderLayer(nn.Module):
    def __init__(self, attend: Callable[..., mx.array]) -> None:
        super().__init__()
        self.self_attn, self.src_attn = MultiHeadedAttention(attend), MultiHeadedAttention(attend)
        self.feed_forward = FeedForward()
        self.norms = [nn.LayerNorm(D_MODEL) for _ in range(3)]

    def __call__(
        self, x: mx.array, past: Memory | None, source: Memory, src_mask: mx.array, tgt_mask: mx.array
    ) -> tuple[mx.array, Memory]:
        normed = self.norms[0](x)
        k, v = self.self_attn.memory(normed)
        if past is not None:
            k, v = mx.concatenate([past[0], k], axis=2), mx.concatenate([past[1], v], axis=2)
        x = x + self.self_attn(normed, (k, v), tgt_mask)
        x = x + self.src_attn(self.norms[1](x), source, src_mask)
        return x + self.feed_forward(self.norms[2](x)), (k, v)


def sinusoids(positions: mx.array) -> mx.array:
    angles = positions[..., None] * mx.exp(mx.arange(0, D_MODEL, 2) * (-math.log(10000.0) / D_MODEL))
    return mx.concatenate([mx.sin(angles), mx.cos(angles)], axis=-1)


class EncoderDecoder(nn.Module):
    pad: int | None = PAD

    def __init__(self, seed: int, attend: Callable[..., mx.array] = attention) -> None:
        super().__init__()
        mx.random.seed(seed)
        self.src_embed, self.tgt_embed = nn.Embedding(VOCABULARY, D_MODEL), nn.Embedding(VOCABULARY, D_MODEL)
        self.encoder = [EncoderLayer(attend) for _ in range(2)]
        self.decoder = [DecoderLayer(attend) for _ in range(2)]
        self.norms = [nn.LayerNorm(D_MODEL) for _ in range(2)]
        self.generator = nn.Linear(D_MODEL, VOCABULARY)
        self.eval()

    def embed(self, ids: mx.array, table: nn.Embedding, start: int = 0) -> mx.array:
        return table(ids) * math.sqrt(D_MODEL) + sinusoids(mx.arange(start, start + ids.shape[1]))

    def src_mask(self, source: mx.array, queries: mx.array) -> mx.array:
        return (source != PAD)[:, None, :]

    def cross_mask(self, source: mx.array, queries: mx.array) -> mx.array:
        return self.src_mask(source, queries)

    def tgt_mask(self, target: mx.array) -> mx.array:
        return (target != PAD)[:, None, :] & subsequent_mask(target.shape[1])

    def encode(self, source: mx.array) -> mx.array:
        x, mask = self.embed(source, self.src_embed), self.src_mask(source, source)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.norms[0](x)

    def decode(self, target: mx.array, states: mx.array, cross_mask: mx.array | None = None) -> mx.array:
        mask = mx.ones((1, 1, states.shape[1]), dtype=mx.bool_) if cross_mask is None else cross_mask
        x, tgt_mask = self.embed(target, self.tgt_embed), self.tgt_mask(target)
        for layer in self.decoder:
            x, _ = layer(x, None, layer.src_attn.memory(states), mask, tgt_mask)
        return self.generator(self.norms[1](x))

    def __call__(self, source: mx.array, target: mx.array) -> mx.array:
        return self.decode(target, self.encode(source), self.cross_mask(source, target))

    def remember(self, source: mx.array) -> tuple[mx.array, list[Memory]]:
        states = self.encode(source)
        return source, [layer.src_attn.memory(states) for layer in self.decoder]

    def step_start(self, step: int) -> int:
        return step

    def step_mask(self, ys: mx.array) -> mx.array:
        return self.tgt_mask(ys)[:, -1:]

    def stepwise(self, source: mx.array, target: mx.array) -> mx.array:
        source, memories = self.remember(source)
        past, logits = [None] * len(self.decoder), []
        for step in range(target.shape[1]):
            token = target[:, step : step + 1]
            src_mask, tgt_mask = self.cross_mask(source, token), self.step_mask(target[:, : step + 1])
            x = self.embed(token, self.tgt_embed, self.step_start(step))
            for index, layer in enumerate(self.decoder):
                x, past[index] = layer(x, past[index], memories[index], src_mask, tgt_mask)
            logits.append(self.generator(self.norms[1](x)))
        return mx.concatenate(logits, axis=1)
