"""A GPT in the style of nanoGPT, in MLX: a stored triangle, learned positions, and a cache of (k, v) for each layer."""

from __future__ import annotations

import math
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from tests.wild.entry import Wild

VOCABULARY, BLOCK, WIDTH, HEADS = 24, 64, 32, 4
Past = tuple[mx.array, mx.array] | None


class CausalSelfAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c_attn = nn.Linear(WIDTH, 3 * WIDTH)
        self.c_proj = nn.Linear(WIDTH, WIDTH)
        self.attn_dropout = nn.Dropout(0.2)
        self._bias = self.triangle(BLOCK)

    def triangle(self, size: int) -> mx.array:
        return mx.tril(mx.ones((size, size)))

    def visible(self, T: int, S: int) -> mx.array:
        return self._bias[S - T : S, :S]

    def split(self, x: mx.array) -> mx.array:
        B, T, C = x.shape
        return x.reshape(B, T, HEADS, C // HEADS).transpose(0, 2, 1, 3)

    def join(self, y: mx.array) -> mx.array:
        B, _, T, _ = y.shape
        return y.transpose(0, 2, 1, 3).reshape(B, T, WIDTH)

    def weights(self, att: mx.array) -> mx.array:
        hidden = self.visible(*att.shape[-2:]) == 0
        return mx.softmax(mx.where(hidden, -math.inf, att), axis=-1)

    def __call__(self, x: mx.array, past: Past) -> tuple[mx.array, Past]:
        q, k, v = (self.split(part) for part in mx.split(self.c_attn(x), 3, axis=-1))
        if past is not None:
            k, v = mx.concatenate([past[0], k], axis=2), mx.concatenate([past[1], v], axis=2)
        att = self.weights(q @ k.swapaxes(-2, -1) * (1.0 / math.sqrt(k.shape[-1])))
        return self.c_proj(self.join(self.attn_dropout(att) @ v)), (k, v)


class Block(nn.Module):
    def __init__(self, attention: type[CausalSelfAttention]) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attn = attention()
        self.c_fc, self.c_proj = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def __call__(self, x: mx.array, past: Past) -> tuple[mx.array, Past]:
        y, present = self.attn(self.ln_1(x), past)
        x = x + y
        return x + self.c_proj(nn.gelu_approx(self.c_fc(self.ln_2(x)))), present


class GPT(nn.Module):
    def __init__(
        self,
        seed: int,
        attention: type[CausalSelfAttention] = CausalSelfAttention,
        layers: int = 2,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        mx.random.seed(seed)
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.blocks = [Block(attention) for _ in range(layers)]
        self.ln_f = nn.LayerNorm(WIDTH)
        self.apply(lambda weight: mx.random.normal(weight.shape, scale=0.02) if weight.ndim == 2 else weight)
        self.eval()

    def make_cache(self) -> list[Past]:
        return [None] * len(self.blocks)

    def positions(self, tokens: mx.array, past_length: int) -> mx.array:
        return self.wpe(mx.arange(past_length, past_length + tokens.shape[1]))

    def __call__(self, tokens: mx.array, cache: list[Past] | None = None) -> mx.array:
        cache = self.make_cache() if cache is None else cache
        x = self.wte(tokens) + self.positions(tokens, 0 if cache[0] is None else cache[0][0].shape[2])
        for index, block in enumerate(self.blocks):
            x, cache[index] = block(x, cache[index])
        return self.wte.as_linear(self.ln_f(x))


class NoMask(CausalSelfAttention):
    def weights(self, att: mx.array) -> mx.array:
        return mx.softmax(att, axis=-1)


class Upper(CausalSelfAttention):
    def triangle(self, size: int) -> mx.array:
        return mx.triu(mx.ones((size, size)))


class OneAhead(CausalSelfAttention):
    def triangle(self, size: int) -> mx.array:
        return mx.tril(mx.ones((size, size)), k=1)


class Strict(CausalSelfAttention):
    """The first row sees nothing: NaN."""

    def triangle(self, size: int) -> mx.array:
        return mx.tril(mx.ones((size, size)), k=-1)


class ZeroedAfterwards(CausalSelfAttention):
    def weights(self, att: mx.array) -> mx.array:
        return mx.softmax(att, axis=-1) * self.visible(*att.shape[-2:])


class InfiniteAfterwards(CausalSelfAttention):
    def weights(self, att: mx.array) -> mx.array:
        return mx.where(self.visible(*att.shape[-2:]) == 0, -math.inf, mx.softmax(att, axis=-1))


class TinyFill(CausalSelfAttention):
    def weights(self, att: mx.array) -> mx.array:
        return mx.softmax(mx.where(self.visible(*att.shape[-2:]) == 0, -1e-9, att), axis=-1)


class Inverted(CausalSelfAttention):
    """`masked_fill(self.bias, -1e9)` where `self.bias == 0` is meant."""

    def weights(self, att: mx.array) -> mx.array:
        return mx.softmax(mx.where(self.visible(*att.shape[-2:]) == 1, -1e9, att), axis=-1)


class OverQueries(CausalSelfAttention):
    def weights(self, att: mx.array) -> mx.array:
        return mx.softmax(mx.where(self.visible(*att.shape[-2:]) == 0, -1e9, att), axis=-2)


class SplitNotTransposed(CausalSelfAttention):
    def split(self, x: mx.array) -> mx.array:
        B, T, C = x.shape
        return x.reshape(B, HEADS, T, C // HEADS)


class NotTransposed(SplitNotTransposed):
    def join(self, y: mx.array) -> mx.array:
        return y.reshape(y.shape[0], y.shape[2], WIDTH)


class TopLeft(CausalSelfAttention):
    """The upper left corner of the triangle, also for queries that come after cached keys."""

    def visible(self, T: int, S: int) -> mx.array:
        return self._bias[:T, :S]


class NoPositions(GPT):
    def positions(self, tokens: mx.array, past_length: int) -> mx.array:
        return mx.zeros((tokens.shape[1], WIDTH))


class EachAtZero(GPT):
    """Positions are counted within the tokens that are handed in."""

    def positions(self, tokens: mx.array, past_length: int) -> mx.array:
        return super().positions(tokens, 0)


class StillTraining(GPT):
    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.train()


def nano(variant: str, mistake: int | None = None, model: type[GPT] = GPT, **how: Any) -> Wild:
    return Wild(f"nano.{variant}", "decoder", lambda seed: model(seed, **how), mistake)


ENTRIES = [
    nano("right"),
    nano("no_mask", 1, attention=NoMask),
    nano("upper_triangle", 2, attention=Upper),
    nano("one_ahead", 3, attention=OneAhead),
    nano("strict", 4, attention=Strict),
    nano("zeroed_afterwards", 5, attention=ZeroedAfterwards),
    nano("infinite_afterwards", 6, attention=InfiniteAfterwards),
    nano("tiny_fill", 7, attention=TinyFill),
    nano("inverted", 8, attention=Inverted),
    nano("over_queries", 15, attention=OverQueries),
    nano("split_not_transposed", 16, attention=SplitNotTransposed),
    nano("not_transposed", 31, attention=NotTransposed),
    nano("each_at_zero", 19, EachAtZero),
    nano("top_left", 20, attention=TopLeft),
    nano("still_training", 22, StillTraining),
    Wild("nano_shallow.right", "decoder", lambda seed: GPT(seed, layers=1)),
    # Of one layer, since a causal mask tells deeper ones the order.
    Wild("nano_shallow.no_positions", "decoder", lambda seed: NoPositions(seed, layers=1), 24),
]
