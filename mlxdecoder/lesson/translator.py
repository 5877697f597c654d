"""The lesson's decoder block, its tiny translator and its decoding loop, all of them on the library's own block."""

from __future__ import annotations

from typing import Protocol

import mlx.core as mx
import mlx.nn as nn

from mlxdecoder.blocks import Block, Crossing
from mlxdecoder.checks import Ids, check_ids
from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.layers import Linear
from mlxdecoder.masks import build_causal_mask
from mlxdecoder.models import make_embedding
from mlxdecoder.recipe import RIGHT
from mlxdecoder.sight import Sight
from mlxdecoder.watch import Watch, within


class ReadsAndScores(Protocol):
    """What the decoding loop asks of a model."""

    def __call__(self, src: Ids, tokens: Ids, watch: Watch | None = None) -> mx.array: ...


class DecoderBlock(Block):
    """Masked self-attention, cross-attention, ReLU network: LayerNorm after each sum, biases, epsilon 1e-5."""

    def __init__(self, d_model: int, n_heads: int, d_ff: int) -> None:
        super().__init__(_config(d_model, n_heads, d_ff), crosses=True)
        self.d_model = d_model

    def __call__(  # type: ignore[override]  # the lesson calls its block so
        self, x: mx.array, z: mx.array, causal_mask: mx.array | None = None, watch: Watch | None = None
    ) -> mx.array:
        """Decoder states x [B, T, d] that look at encoder states z [B, S, d] to new states [B, T, d].

        `causal_mask` [T, T] is boolean and says True where a query may NOT look, as `build_causal_mask` draws it; None
        blocks nothing. Raises `UserError` for shapes and types that do not fit.
        """
        _check_states(x, z, self.d_model)
        return super().__call__(
            x, see(causal_mask, x.shape[1]), RIGHT, crossing=Crossing(z, Sight(), source=z), watch=watch
        )


class TinyTranslator(nn.Module):
    """One embedding for both sides, no positions, no encoder: the source's embeddings are what the blocks look at."""

    def __init__(self, vocab: int, d_model: int, n_heads: int, d_ff: int, n_layers: int) -> None:
        super().__init__()
        config = _config(d_model, n_heads, d_ff, vocab, n_layers)
        self.vocab = vocab
        self.embedding = make_embedding(vocab, d_model)
        self.blocks = [DecoderBlock(d_model, n_heads, d_ff) for _ in range(config.n_layers)]
        self.head = Linear(d_model, vocab)

    def __call__(self, src: Ids, tokens: Ids, watch: Watch | None = None) -> mx.array:
        """Source ids [B, S] and the target ids so far [B, T] to logits [B, T, V].

        `watch` is told the stages under the names of the library's translator, so a `Trace` can follow. Raises
        `UserError` for ids that are not of the vocabulary, and for shapes that do not fit.
        """
        memory = self.embedding(check_ids("src", src, self.vocab))  # [B, S, d]
        x = self.embedding(check_ids("tokens", tokens, self.vocab, batch=len(memory)))  # [B, T, d]
        T = x.shape[1]
        if watch:
            watch("decoder.key_slots", mx.arange(T))
        for i, block in enumerate(self.blocks):
            x = block(x, memory, build_causal_mask(T), within(watch, f"decoder.{i}"))
        logits = self.head(x)
        if watch:
            watch("logits", logits)
        return logits


def autoregressive_decode(
    model: ReadsAndScores, src: Ids, max_len: int, bos: int = 1, eos: int | None = None, watch: Watch | None = None
) -> list[int]:
    """Say the likeliest next token, read everything anew, and so on: greedy decoding of one source [1, S].

    Gives `bos` and at most `max_len` tokens behind it, up to and with `eos` where there is one. `watch` is handed to
    the model at every step. Raises `UserError` for a batch of several sources and for a negative `max_len`.
    """
    if max_len < 0:
        raise UserError(f"max_len = {max_len}: a number of tokens from 0 on is wanted.")
    if len(src) != 1:
        raise UserError(f"src: {len(src)} rows found, one is wanted; mlxdecoder.generate decodes batches.")
    tokens = [bos]
    for _ in range(max_len):
        logits = model(src, [tokens], watch)  # [1, T, V]
        tokens.append(int(logits[0, -1].argmax()))
        if tokens[-1] == eos:
            break
    return tokens


def see(causal_mask: mx.array | None, T: int) -> Sight:
    """What the queries see by the lesson's mask [T, T], True = blocked."""
    if causal_mask is None:
        return Sight()
    if not isinstance(causal_mask, mx.array):
        raise UserError("causal_mask: an array is wanted, True where a query may not look; build_causal_mask draws it.")
    if causal_mask.shape != (T, T) or causal_mask.dtype != mx.bool_:
        raise UserError(
            f"causal_mask: {causal_mask.dtype} of shape {causal_mask.shape} found, mlx.core.bool of shape {(T, T)} "
            "wanted, True where a query may not look; build_causal_mask draws it."
        )
    return Sight(~causal_mask[None, None])


def _config(d_model: int, n_heads: int, d_ff: int, vocab: int = 1, n_layers: int = 1) -> ModelConfig:
    return ModelConfig(
        target_vocab=vocab,
        d_model=d_model,
        n_heads=n_heads,
        d_ff=d_ff,
        n_layers=n_layers,
        norm="post",
        positions="none",
        begin_id=0,  # the lesson's marks are arguments of `autoregressive_decode`
        end_id=0,
    )


def _check_states(x: mx.array, z: mx.array, d_model: int) -> None:
    for name, states in (("x", x), ("z", z)):
        if states.ndim != 3 or states.shape[-1] != d_model or states.shape[1] == 0:
            raise UserError(f"{name}: shape {states.shape} found, [batch, length of at least 1, {d_model}] wanted.")
    if len(x) != len(z):
        raise UserError(f"z: batch {len(z)} found, {len(x)} wanted, as x has it.")
