"""A Llama in MLX as model files have it: rotary positions, grouped heads, RMSNorm, and a mask made from positions."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import mlx.nn as nn

from tests.wild.entry import Wild

VOCABULARY, WIDTH, HEADS, KV_HEADS, HEAD_DIM = 24, 32, 4, 2, 8
PAD, SEPARATOR, WINDOW = 0, 2, 4
Cache = list[Any]


def rotate_half(x: mx.array) -> mx.array:
    x1, x2 = mx.split(x, 2, axis=-1)
    return mx.concatenate([-x2, x1], axis=-1)


def apply_rotary_pos_emb(x: mx.array, positions: mx.array) -> mx.array:
    inv_freq = 10000.0 ** (-mx.arange(0, HEAD_DIM, 2) / HEAD_DIM)
    angles = positions.astype(mx.float32)[:, None] * mx.concatenate([inv_freq, inv_freq])
    return x * mx.cos(angles) + rotate_half(x) * mx.sin(angles)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q_proj = nn.Linear(WIDTH, HEADS * HEAD_DIM, bias=False)
        self.k_proj = nn.Linear(WIDTH, KV_HEADS * HEAD_DIM, bias=False)
        self.v_proj = nn.Linear(WIDTH, KV_HEADS * HEAD_DIM, bias=False)
        self.o_proj = nn.Linear(HEADS * HEAD_DIM, WIDTH, bias=False)

    def __call__(self, x: mx.array, positions: mx.array, mask: mx.array, cache: Cache, index: int) -> mx.array:
        B, T, _ = x.shape
        q = self.q_proj(x).reshape(B, T, HEADS, HEAD_DIM).transpose(0, 2, 1, 3)
        k = self.k_proj(x).reshape(B, T, KV_HEADS, HEAD_DIM).transpose(0, 2, 1, 3)
        v = self.v_proj(x).reshape(B, T, KV_HEADS, HEAD_DIM).transpose(0, 2, 1, 3)
        q, k = apply_rotary_pos_emb(q, positions), apply_rotary_pos_emb(k, positions)
        if cache[index] is not None:
            k, v = (mx.concatenate([old, new], axis=2) for old, new in zip(cache[index], (k, v), strict=True))
        cache[index] = (k, v)
        k, v = mx.repeat(k, HEADS // KV_HEADS, axis=1), mx.repeat(v, HEADS // KV_HEADS, axis=1)
        weights = mx.softmax(q @ k.swapaxes(-1, -2) * HEAD_DIM**-0.5 + mask, axis=-1)
        return self.o_proj((weights @ v).transpose(0, 2, 1, 3).reshape(B, T, -1))


class OverBatch(Attention):
    """Written for inputs [T, B, d] and given [B, T, d]: rows of the batch attend to each other."""

    def __call__(self, x: mx.array, positions: mx.array, mask: mx.array, cache: Cache, index: int) -> mx.array:
        B = x.shape[0]
        mask = mx.triu(mx.full((B, B), mx.finfo(mx.float32).min), k=1)
        return super().__call__(x.swapaxes(0, 1), mx.arange(B), mask, [None] * len(cache), index).swapaxes(0, 1)


class DecoderLayer(nn.Module):
    def __init__(self, attention: type[Attention]) -> None:
        super().__init__()
        self.self_attn = attention()
        self.input_layernorm, self.post_attention_layernorm = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.gate_proj, self.up_proj = nn.Linear(WIDTH, 48, bias=False), nn.Linear(WIDTH, 48, bias=False)
        self.down_proj = nn.Linear(48, WIDTH, bias=False)

    def __call__(self, x: mx.array, positions: mx.array, mask: mx.array, cache: Cache, index: int) -> mx.array:
        x = x + self.self_attn(self.input_layernorm(x), positions, mask, cache, index)
        y = self.post_attention_layernorm(x)
        return x + self.down_proj(nn.silu(self.gate_proj(y)) * self.up_proj(y))


class Llama(nn.Module):
    def __init__(self, seed: int, attention: type[Attention] = Attention) -> None:
        super().__init__()
        mx.random.seed(seed)
        self.embed_tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = [DecoderLayer(attention) for _ in range(2)]
        self.norm = nn.RMSNorm(WIDTH)
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def make_cache(self) -> Cache:
        return [None] * len(self.layers)

    def positions(self, past: int, T: int) -> mx.array:
        return mx.arange(past, past + T)

    def allowed(self, tokens: mx.array, past: int) -> mx.array:
        T = tokens.shape[1]
        return mx.arange(past + T) <= mx.arange(past, past + T)[:, None]

    def __call__(self, tokens: mx.array, cache: Cache | None = None) -> mx.array:
        cache = Llama.make_cache(self) if cache is None else cache
        past = 0 if cache[0] is None else cache[0][0].shape[2]
        mask = mx.where(self.allowed(tokens, past), 0.0, mx.finfo(mx.float32).min)
        x, positions = self.embed_tokens(tokens), self.positions(past, tokens.shape[1])
        for index, layer in enumerate(self.layers):
            x = layer(x, positions, mask, cache, index)
        return self.lm_head(self.norm(x))


class Inverted(Llama):
    def allowed(self, tokens: mx.array, past: int) -> mx.array:
        return ~super().allowed(tokens, past)


class TopLeft(Llama):
    def allowed(self, tokens: mx.array, past: int) -> mx.array:
        T = tokens.shape[1]
        return mx.arange(past + T) <= mx.arange(T)[:, None]


class EachAtZero(Llama):
    """Old keys keep the positions at which they were turned; new ones begin at 0 again."""

    def positions(self, past: int, T: int) -> mx.array:
        return mx.arange(T)


class Windowed(Llama):
    """Sees itself and the three tokens before."""

    ahead = 0

    def allowed(self, tokens: mx.array, past: int) -> mx.array:
        T = tokens.shape[1]
        i, j = mx.arange(past, past + T)[:, None], mx.arange(past + T)
        return (j <= i + self.ahead) & (j > i - WINDOW)


class WindowOneAhead(Windowed):
    ahead = 1


class Padded(Llama):
    """Prompts padded on the left; rotary positions need no shift, since only differences count."""

    make_cache = None  # the cache would have to keep which keys are padding

    def seen(self, tokens: mx.array) -> mx.array:
        return (tokens != PAD)[:, None, None, :]

    def allowed(self, tokens: mx.array, past: int) -> mx.array:
        return super().allowed(tokens, past) & self.seen(tokens)


class PaddingOnQueries(Padded):
    def seen(self, tokens: mx.array) -> mx.array:
        return (tokens != PAD)[:, None, :, None]


class Packed(Llama):
    """Documents in a row, each ended by the separator."""

    make_cache = None  # the cache would have to keep whose keys it holds

    def allowed(self, tokens: mx.array, past: int) -> mx.array:
        ends = (tokens == SEPARATOR).astype(mx.int32)
        document = mx.cumsum(ends, axis=1) - ends
        return super().allowed(tokens, past) & (document[:, None, :, None] == document[:, None, None, :])


def llama(name: str, model: type[Llama], mistake: int | None = None, **options: Any) -> Wild:
    return Wild(f"llama{name}", "decoder", model, mistake, options)


ENTRIES = [
    llama(".right", Llama),
    llama(".inverted", Inverted, 8),
    Wild("llama.batch_as_sequence", "decoder", lambda seed: Llama(seed, OverBatch), 18),
    llama(".each_at_zero", EachAtZero, 19),
    llama(".top_left", TopLeft, 20),
    llama("_window.right", Windowed),
    llama("_window.one_ahead", WindowOneAhead, 3),
    llama("_padded.right", Padded, pad=PAD),
    llama("_padded.no_padding_mask", Llama, 9, pad=PAD),
    llama("_padded.on_queries", PaddingOnQueries, 10, pad=PAD),
    llama("_packed.right", Packed, separator=SEPARATOR),
    llama("_packed.no_document_mask", Llama, 14, separator=SEPARATOR),
]
