"""Decoders on nn.TransformerEncoder and on F.scaled_dot_product_attention.

The blemish "nan" is that of nn.TransformerEncoder without gradients, where rows that see nothing are NaN; with
gradients they are zeros.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.third_party.torch_masks import (
    MakeMask,
    compared_with_zero,
    future,
    no_mask,
    one_ahead,
    ones_and_zeros,
    seen_is_true,
    strict,
    transposed,
)
from tests.wild.entry import Wild

VOCABULARY, WIDTH, HEADS, CONTEXT, PAD = 24, 16, 2, 64, 0


class TorchGPT(nn.Module):
    """nn.TransformerEncoder with a causal mask, which is how a decoder without a source is mostly put together."""

    def __init__(self, seed: int, mask: MakeMask = nn.Transformer.generate_square_subsequent_mask, **how: Any) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.embedding, self.position = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 32, **{"batch_first": True, "norm_first": True, **how})
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, VOCABULARY)
        self.make_mask = mask
        self.eval()

    def embed(self, tokens: Tensor) -> Tensor:
        return self.embedding(tokens) + self.position(torch.arange(tokens.shape[1]))

    def forward(self, tokens: Tensor) -> Tensor:
        length = tokens.shape[1] if self.encoder.layers[0].self_attn.batch_first else tokens.shape[0]
        return self.head(self.encoder(self.embed(tokens), mask=self.make_mask(length)))


class PaddedTorchGPT(TorchGPT):
    """Padding on the left; positions are counted from the first token."""

    def embed(self, tokens: Tensor) -> Tensor:
        return self.embedding(tokens) + self.position(((tokens != PAD).cumsum(1) - 1).clamp(min=0))

    def padding(self, tokens: Tensor) -> Tensor:
        return tokens == PAD

    def forward(self, tokens: Tensor) -> Tensor:
        # Padding sees itself: rows that see nothing are NaN on PyTorch's fast path, and NaN spreads through the values.
        itself = torch.eye(tokens.shape[1]).bool()
        blocked = future(tokens.shape[1]) | (self.padding(tokens)[:, None, :] & ~itself)
        return self.head(self.encoder(self.embed(tokens), mask=blocked.repeat_interleave(HEADS, dim=0)))


class PaddingForgotten(PaddedTorchGPT):
    def padding(self, tokens: Tensor) -> Tensor:
        return torch.zeros_like(tokens).bool()


class PaddingSeesNothing(PaddedTorchGPT):
    """The two masks of the manual: right with gradients, NaN without, where nn.TransformerEncoder goes another way."""

    def forward(self, tokens: Tensor) -> Tensor:
        mask, padding = future(tokens.shape[1]), self.padding(tokens)
        return self.head(self.encoder(self.embed(tokens), mask=mask, src_key_padding_mask=padding))


Past = tuple[Tensor, Tensor] | None


class CachedSDPA(nn.Module):
    """A decoder on F.scaled_dot_product_attention with a cache of (k, v)."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.embedding, self.position = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.qkv = nn.ModuleList(nn.Linear(WIDTH, 3 * WIDTH) for _ in range(2))
        self.proj = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))

    def make_cache(self) -> list[Past]:
        return [None, None]

    def start(self, cache: list[Past]) -> int:
        return 0 if cache[0] is None else cache[0][0].shape[2]

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        T, S = q.shape[2], k.shape[2]
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=torch.ones(T, S).tril(S - T).bool())

    def forward(self, tokens: Tensor, cache: list[Past] | None = None) -> Tensor:
        cache = self.make_cache() if cache is None else cache
        start = self.start(cache)
        x = self.embedding(tokens) + self.position(torch.arange(start, start + tokens.shape[1]))
        for index in range(2):
            parts = self.qkv[index](self.norms[index](x)).chunk(3, dim=-1)
            q, k, v = (part.unflatten(2, (HEADS, -1)).transpose(1, 2) for part in parts)
            if (past := cache[index]) is not None:
                k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
            cache[index] = (k, v)
            x = x + self.proj[index](self.attend(q, k, v).transpose(1, 2).flatten(2))
        return self.norms[2](x) @ self.embedding.weight.T


class AlwaysCausal(CachedSDPA):
    """`is_causal` puts the diagonal into the upper left corner, also when keys are cached."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


class CausalIfSeveral(CachedSDPA):
    """Right for one token and for the first chunk, wrong for several tokens on a cache."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(q, k, v, is_causal=q.shape[2] > 1)


class EachAtZero(CachedSDPA):
    def start(self, cache: list[Past]) -> int:
        return 0


def gpt(variant: str, mistake: int | None, mask: MakeMask, *blemishes: str) -> Wild:
    return Wild(f"torch_gpt.{variant}", "decoder", lambda seed: TorchGPT(seed, mask), mistake, {}, frozenset(blemishes))


def cached(variant: str, model: type[CachedSDPA], mistake: int | None = None) -> Wild:
    return Wild(f"torch_cached.{variant}", "decoder", model, mistake)


ENTRIES = [
    gpt("right", None, nn.Transformer.generate_square_subsequent_mask),
    gpt("no_mask", 1, no_mask),
    gpt("transposed", 2, transposed),
    gpt("one_ahead", 3, one_ahead),
    gpt("strict", 4, strict, "nan"),
    gpt("ones_and_zeros", 7, ones_and_zeros, "nan"),
    gpt("seen_is_true", 8, seen_is_true, "nan"),
    gpt("compared_with_zero", 8, compared_with_zero, "nan"),
    Wild("torch_gpt.batch_first_forgotten", "decoder", lambda seed: TorchGPT(seed, batch_first=False), 18),
    Wild("torch_gpt.still_training", "decoder", lambda seed: TorchGPT(seed).train(), 22),
    Wild("torch_padded.right", "decoder", PaddedTorchGPT, None, {"pad": PAD}),
    Wild("torch_padded.padding_sees_nothing", "decoder", PaddingSeesNothing, 0, {"pad": PAD}),
    Wild("torch_padded.padding_forgotten", "decoder", PaddingForgotten, 9, {"pad": PAD}),
    cached("right", CachedSDPA),
    cached("each_at_zero", EachAtZero, 19),
    cached("always_causal", AlwaysCausal, 20),
    cached("causal_if_several", CausalIfSeveral, 20),
]
