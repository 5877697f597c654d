"""An encoder-decoder in MLX in the style of hyunwoongko/transformer and bentrevett/pytorch-seq2seq.

Masks are made from the padding ids inside the model, layers are normalised afterwards, and hidden scores are filled.
"""

from __future__ import annotations

import math
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from tests.wild.entry import Wild

SRC_VOCABULARY, TRG_VOCABULARY, D_MODEL, N_HEAD, PAD = 26, 24, 32, 4, 1


class MultiHeadAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w_q, self.w_k = nn.Linear(D_MODEL, D_MODEL), nn.Linear(D_MODEL, D_MODEL)
        self.w_v, self.w_concat = nn.Linear(D_MODEL, D_MODEL), nn.Linear(D_MODEL, D_MODEL)

    def split(self, tensor: mx.array) -> mx.array:
        batch_size, length, d_model = tensor.shape
        return tensor.reshape(batch_size, length, N_HEAD, d_model // N_HEAD).transpose(0, 2, 1, 3)

    def concat(self, tensor: mx.array) -> mx.array:
        batch_size, _, length, _ = tensor.shape
        return tensor.transpose(0, 2, 1, 3).reshape(batch_size, length, D_MODEL)

    def fill(self, score: mx.array, mask: mx.array) -> mx.array:
        return mx.where(mask == 0, -1e10, score)

    def __call__(self, q: mx.array, k: mx.array, v: mx.array, mask: mx.array | None = None) -> mx.array:
        q, k, v = self.split(self.w_q(q)), self.split(self.w_k(k)), self.split(self.w_v(v))
        score = q @ k.swapaxes(2, 3) / math.sqrt(q.shape[-1])
        if mask is not None:
            score = self.fill(score, mask)
        return self.w_concat(self.concat(mx.softmax(score, axis=-1) @ v))


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(D_MODEL, 64), nn.Linear(64, D_MODEL)

    def __call__(self, x: mx.array) -> mx.array:
        return self.linear2(nn.relu(self.linear1(x)))


class EncoderLayer(nn.Module):
    def __init__(self, attention: type[MultiHeadAttention]) -> None:
        super().__init__()
        self.attention, self.ffn = attention(), FeedForward()
        self.norm1, self.norm2 = nn.LayerNorm(D_MODEL), nn.LayerNorm(D_MODEL)

    def __call__(self, x: mx.array, src_mask: mx.array | None) -> mx.array:
        x = self.norm1(x + self.attention(x, x, x, src_mask))
        return self.norm2(x + self.ffn(x))


class DecoderLayer(nn.Module):
    def __init__(self, attention: type[MultiHeadAttention]) -> None:
        super().__init__()
        self.self_attention, self.enc_dec_attention, self.ffn = attention(), attention(), FeedForward()
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(D_MODEL), nn.LayerNorm(D_MODEL), nn.LayerNorm(D_MODEL)

    def __call__(
        self, dec: mx.array, enc: mx.array, trg_mask: mx.array | None, cross_mask: mx.array | None
    ) -> mx.array:
        x = self.norm1(dec + self.self_attention(dec, dec, dec, trg_mask))
        x = self.norm2(x + self.enc_dec_attention(x, enc, enc, cross_mask))
        return self.norm3(x + self.ffn(x))


class Transformer(nn.Module):
    pad = PAD

    def __init__(self, seed: int, attention: type[MultiHeadAttention] = MultiHeadAttention) -> None:
        super().__init__()
        mx.random.seed(seed)
        self.src_embedding, self.trg_embedding = (
            nn.Embedding(SRC_VOCABULARY, D_MODEL),
            nn.Embedding(TRG_VOCABULARY, D_MODEL),
        )
        self.encoder = [EncoderLayer(attention) for _ in range(2)]
        self.decoder = [DecoderLayer(attention) for _ in range(2)]
        self.linear = nn.Linear(D_MODEL, TRG_VOCABULARY)

    def positions(self, length: int) -> mx.array:
        angles = mx.arange(length)[:, None] / 10000 ** (mx.arange(0, D_MODEL, 2) / D_MODEL)
        return mx.stack([mx.sin(angles), mx.cos(angles)], axis=-1).reshape(length, D_MODEL)

    def embed(self, ids: mx.array, embedding: nn.Embedding) -> mx.array:
        return embedding(ids) * math.sqrt(D_MODEL) + self.positions(ids.shape[1])

    def make_pad_mask(self, q: mx.array, k: mx.array) -> mx.array | None:
        return (k != PAD)[:, None, None, :]

    def make_no_peak_mask(self, length: int) -> mx.array:
        return mx.tril(mx.ones((length, length))).astype(mx.bool_)

    def make_trg_mask(self, trg: mx.array) -> mx.array | None:
        return (trg != PAD)[:, None, None, :] & self.make_no_peak_mask(trg.shape[1])

    def make_cross_mask(self, trg: mx.array, src: mx.array) -> mx.array | None:
        return self.make_pad_mask(trg, src)

    def encode(self, src: mx.array) -> mx.array:
        x = self.embed(src, self.src_embedding)
        for layer in self.encoder:
            x = layer(x, self.make_pad_mask(src, src))
        return x

    def decode(self, trg: mx.array, enc: mx.array, cross_mask: mx.array | None = None) -> mx.array:
        x = self.embed(trg, self.trg_embedding)
        for layer in self.decoder:
            x = layer(x, enc, self.make_trg_mask(trg), cross_mask)
        return self.linear(x)

    def __call__(self, src: mx.array, trg: mx.array) -> mx.array:
        return self.decode(trg, self.encode(src), self.make_cross_mask(trg, src))


class NoTargetMask(Transformer):
    def make_trg_mask(self, trg: mx.array) -> mx.array | None:
        return (trg != PAD)[:, None, None, :]


class OneAhead(Transformer):
    """Given the whole target, where `trg[:, :-1]` is meant, someone moved the diagonal."""

    def make_no_peak_mask(self, length: int) -> mx.array:
        return mx.tril(mx.ones((length, length)), k=1).astype(mx.bool_)


class Upper(Transformer):
    def make_no_peak_mask(self, length: int) -> mx.array:
        return mx.triu(mx.ones((length, length))).astype(mx.bool_)


class TinyFill(MultiHeadAttention):
    def fill(self, score: mx.array, mask: mx.array) -> mx.array:
        return mx.where(mask == 0, -1e-10, score)


class FillsTheSeen(MultiHeadAttention):
    def fill(self, score: mx.array, mask: mx.array) -> mx.array:
        return mx.where(mask, -1e10, score)


class NoPadMask(Transformer):
    def make_pad_mask(self, q: mx.array, k: mx.array) -> mx.array | None:
        return None


class NoCrossPadMask(Transformer):
    """The encoder hides the padding; the decoder looks at it."""

    def make_cross_mask(self, trg: mx.array, src: mx.array) -> mx.array | None:
        return None


class PadMaskOnQueries(Transformer):
    """`unsqueeze(3)` where `unsqueeze(2)` is meant."""

    def make_pad_mask(self, q: mx.array, k: mx.array) -> mx.array | None:
        return (q != PAD)[:, None, :, None]


class SplitWithoutTranspose(MultiHeadAttention):
    def split(self, tensor: mx.array) -> mx.array:
        batch_size, length, d_model = tensor.shape
        return tensor.reshape(batch_size, N_HEAD, length, d_model // N_HEAD)

    def concat(self, tensor: mx.array) -> mx.array:
        return tensor.reshape(tensor.shape[0], tensor.shape[2], D_MODEL)


class CausalCrossAttention(Transformer):
    """A triangle also over the source; it is in the layer, so that decode() has it too."""

    def decode(self, trg: mx.array, enc: mx.array, cross_mask: mx.array | None = None) -> mx.array:
        triangle = mx.tril(mx.ones((trg.shape[1], enc.shape[1]))).astype(mx.bool_)
        return super().decode(trg, enc, triangle if cross_mask is None else cross_mask & triangle)


class EncoderOverBatch(Transformer):
    """The encoder was written for [S, B, d] and is given [B, S, d]."""

    def encode(self, src: mx.array) -> mx.array:
        x = self.embed(src, self.src_embedding).swapaxes(0, 1)
        for layer in self.encoder:
            x = layer(x, None)
        return x.swapaxes(0, 1)


class NoPositions(Transformer):
    def positions(self, length: int) -> mx.array:
        return mx.zeros((length, D_MODEL))


def seq2seq(variant: str, model: type[Transformer], mistake: int | None = None, **options: Any) -> Wild:
    return Wild(f"seq2seq.{variant}", "translator", model, mistake, options)


def with_attention(variant: str, attention: type[MultiHeadAttention], mistake: int) -> Wild:
    return Wild(f"seq2seq.{variant}", "translator", lambda seed: Transformer(seed, attention), mistake)


ENTRIES = [
    seq2seq("right", Transformer),
    seq2seq("no_target_mask", NoTargetMask, 1),
    seq2seq("upper_triangle", Upper, 2),
    seq2seq("one_ahead", OneAhead, 3),
    with_attention("tiny_fill", TinyFill, 7),
    with_attention("fills_the_seen", FillsTheSeen, 8),
    seq2seq("no_padding_mask", NoPadMask, 9),
    seq2seq("no_padding_mask_in_cross_attention", NoCrossPadMask, 9),
    seq2seq("padding_mask_on_queries", PadMaskOnQueries, 10),
    with_attention("split_without_transpose", SplitWithoutTranspose, 31),
    seq2seq("causal_cross_attention", CausalCrossAttention, 17),
    seq2seq("encoder_over_batch", EncoderOverBatch, 18),
    seq2seq("no_positions", NoPositions, 24),
]
