"""A decoder in the manner of Keras, in MLX: einsum kernels, heads in the third axis, layers normalised afterwards."""

from __future__ import annotations

import math

import mlx.core as mx
import mlx.nn as nn

from tests.wild.entry import Wild

VOCABULARY, EMBED_DIM, NUM_HEADS, KEY_DIM = 22, 32, 4, 8


def glorot(fan_in: int, fan_out: int, shape: tuple[int, ...]) -> mx.array:
    limit = math.sqrt(6 / (fan_in + fan_out))
    return mx.random.uniform(-limit, limit, shape)


class MultiHeadAttention(nn.Module):
    """`attention_mask`: 1 = may attend, [B or 1, T, S]."""

    def __init__(self) -> None:
        super().__init__()
        kernel = (EMBED_DIM, NUM_HEADS, KEY_DIM)
        self.query, self.key, self.value = (glorot(EMBED_DIM, EMBED_DIM, kernel) for _ in range(3))
        self.output = glorot(EMBED_DIM, EMBED_DIM, (NUM_HEADS, KEY_DIM, EMBED_DIM))

    def project(self, x: mx.array, kernel: mx.array) -> mx.array:
        return mx.einsum("bte,ehd->bthd", x, kernel)

    def masked_softmax(self, scores: mx.array, attention_mask: mx.array) -> mx.array:
        return mx.softmax(scores + (1.0 - attention_mask[:, None]) * -1e9, axis=-1)

    def __call__(self, query: mx.array, value: mx.array, attention_mask: mx.array) -> mx.array:
        q, k, v = self.project(query, self.query), self.project(value, self.key), self.project(value, self.value)
        scores = mx.einsum("aecd,abcd->acbe", k, q * (1.0 / math.sqrt(KEY_DIM)))
        weights = self.masked_softmax(scores, attention_mask)
        return mx.einsum("bthd,hde->bte", mx.einsum("acbe,aecd->abcd", weights, v), self.output)


class TransformerBlock(nn.Module):
    def __init__(self, attention: type[MultiHeadAttention]) -> None:
        super().__init__()
        self.att = attention()
        self.dense_1, self.dense_2 = nn.Linear(EMBED_DIM, 64), nn.Linear(64, EMBED_DIM)
        self.layernorm_1, self.layernorm_2 = nn.LayerNorm(EMBED_DIM), nn.LayerNorm(EMBED_DIM)

    def __call__(self, inputs: mx.array, causal_mask: mx.array) -> mx.array:
        out_1 = self.layernorm_1(inputs + self.att(inputs, inputs, causal_mask))
        return self.layernorm_2(out_1 + self.dense_2(nn.relu(self.dense_1(out_1))))


def position_encoding(length: int, depth: int) -> mx.array:
    angles = mx.arange(length)[:, None] / 10000 ** (mx.arange(depth // 2)[None] / (depth // 2))
    return mx.concatenate([mx.sin(angles), mx.cos(angles)], axis=-1)


class MiniatureGPT(nn.Module):
    def __init__(self, seed: int, attention: type[MultiHeadAttention] = MultiHeadAttention) -> None:
        super().__init__()
        mx.random.seed(seed)
        self.embedding = mx.random.uniform(-0.05, 0.05, (VOCABULARY, EMBED_DIM))
        self.transformer_blocks = [TransformerBlock(attention) for _ in range(2)]
        self.outputs = nn.Linear(EMBED_DIM, VOCABULARY)

    def causal_attention_mask(self, n_dest: int, n_src: int) -> mx.array:
        i, j = mx.arange(n_dest)[:, None], mx.arange(n_src)
        return (i >= j - n_src + n_dest).astype(mx.float32)[None]

    def __call__(self, inputs: mx.array) -> mx.array:
        length = inputs.shape[1]
        x = self.embedding[inputs] * math.sqrt(EMBED_DIM) + position_encoding(length, EMBED_DIM)
        mask = self.causal_attention_mask(length, length)
        for transformer_block in self.transformer_blocks:
            x = transformer_block(x, mask)
        return self.outputs(x)


class NoCausalMask(MiniatureGPT):
    """`use_causal_mask=True` was not said."""

    def causal_attention_mask(self, n_dest: int, n_src: int) -> mx.array:
        return mx.ones((1, n_dest, n_src))


class Reversed(MiniatureGPT):
    def causal_attention_mask(self, n_dest: int, n_src: int) -> mx.array:
        return (mx.arange(n_dest)[:, None] <= mx.arange(n_src)).astype(mx.float32)[None]


class OneAhead(MiniatureGPT):
    """Shifted once more, although the labels are shifted already."""

    def causal_attention_mask(self, n_dest: int, n_src: int) -> mx.array:
        return (mx.arange(n_dest)[:, None] >= mx.arange(n_src) - 1).astype(mx.float32)[None]


class Strict(MiniatureGPT):
    def causal_attention_mask(self, n_dest: int, n_src: int) -> mx.array:
        return (mx.arange(n_dest)[:, None] > mx.arange(n_src)).astype(mx.float32)[None]


class MultipliedByMask(MultiHeadAttention):
    def masked_softmax(self, scores: mx.array, attention_mask: mx.array) -> mx.array:
        return mx.softmax(scores * attention_mask[:, None], axis=-1)


class ZeroedAfterwards(MultiHeadAttention):
    def masked_softmax(self, scores: mx.array, attention_mask: mx.array) -> mx.array:
        return mx.softmax(scores, axis=-1) * attention_mask[:, None]


class InvertedAdder(MultiHeadAttention):
    """Keras' mask of ones in code that expects ones where it is blocked."""

    def masked_softmax(self, scores: mx.array, attention_mask: mx.array) -> mx.array:
        return mx.softmax(scores + attention_mask[:, None] * -1e9, axis=-1)


class OverQueries(MultiHeadAttention):
    """The axis was right for scores in the order "acbe" turned round."""

    def masked_softmax(self, scores: mx.array, attention_mask: mx.array) -> mx.array:
        return mx.softmax(scores + (1.0 - attention_mask[:, None]) * -1e9, axis=2)


class WrongReshape(MultiHeadAttention):
    """[B, T, e] cut into [B, H, T, d] at once, then turned to where the heads should be."""

    def project(self, x: mx.array, kernel: mx.array) -> mx.array:
        B, T, _ = x.shape
        y = x @ kernel.reshape(EMBED_DIM, NUM_HEADS * KEY_DIM)
        return y.reshape(B, NUM_HEADS, T, KEY_DIM).transpose(0, 2, 1, 3)


def keras(variant: str, model: type[MiniatureGPT], mistake: int | None = None) -> Wild:
    return Wild(f"keras.{variant}", "decoder", model, mistake)


def keras_attention(variant: str, attention: type[MultiHeadAttention], mistake: int) -> Wild:
    return Wild(f"keras.{variant}", "decoder", lambda seed: MiniatureGPT(seed, attention), mistake)


ENTRIES = [
    keras("right", MiniatureGPT),
    keras("no_causal_mask", NoCausalMask, 1),
    keras("reversed", Reversed, 2),
    keras("one_ahead", OneAhead, 3),
    keras("strict", Strict, 4),
    keras_attention("zeroed_afterwards", ZeroedAfterwards, 5),
    keras_attention("multiplied_by_mask", MultipliedByMask, 7),
    keras_attention("inverted", InvertedAdder, 8),
    keras_attention("over_queries", OverQueries, 15),
    keras_attention("wrong_reshape", WrongReshape, 16),
]
