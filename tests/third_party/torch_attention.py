"""Attention by PyTorch's function and by its module, which understand a boolean mask in opposite ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.wild.entry import Wild


def sdpa(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, **how: float) -> Tensor:
    """True = may attend, or a float mask that is added."""
    n_rep = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(n_rep, dim=1), v.repeat_interleave(n_rep, dim=1)
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, **how)


def sdpa_enable_gqa(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)


def sdpa_mask_forgotten(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    return sdpa(q, k, v)


def sdpa_transposed(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    return sdpa(q, k, v, mask if mask is None else mask.mT)


def sdpa_ones_and_zeros(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """A float mask is added: 1 for what is seen and 0 for what is not hides nothing."""
    return sdpa(q, k, v, mask if mask is None else mask.to(q.dtype))


def sdpa_inverted(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """The convention of nn.MultiheadAttention in the function, whose convention is the other."""
    return sdpa(q, k, v, mask if mask is None else ~mask.bool())


def sdpa_unscaled(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    return sdpa(q, k, v, mask, scale=1.0)


def sdpa_tiled(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    n_rep = q.shape[1] // k.shape[1]
    return sdpa(q, k.repeat(1, n_rep, 1, 1), v.repeat(1, n_rep, 1, 1), mask)


def sdpa_dropout(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """The function knows nothing of eval(): `dropout_p` always counts."""
    return sdpa(q, k, v, mask, dropout_p=0.2)


def through_module(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """nn.MultiheadAttention with projections that change nothing: what it gives, and its weights."""
    B, H, T, d = q.shape
    module = nn.MultiheadAttention(H * d, H, bias=False, batch_first=True, dtype=q.dtype).eval()
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.eye(H * d).repeat(3, 1))
        module.out_proj.weight.copy_(torch.eye(H * d))
    if mask is not None:
        mask = mask.expand(B, H, T, k.shape[2]).reshape(B * H, T, -1)
    out, weights = module(*(x.transpose(1, 2).flatten(2) for x in (q, k, v)), attn_mask=mask)
    return out.unflatten(2, (H, d)).transpose(1, 2), weights


def mha(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """True = blocked; the values must be as wide as the queries."""
    return through_module(q, k, v, mask)[0]


def mha_averaged(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """The returned weights taken for those of each head: they are the mean over the heads."""
    return through_module(q, k, v, mask)[1][:, None] @ v


def attention(name: str, function: Callable[..., Tensor], mistake: int | None, *blemishes: str, **options: Any) -> Wild:
    return Wild(f"torch_{name}", "attention", lambda _: function, mistake, options, frozenset(blemishes))


ENTRIES = [
    attention("sdpa.right", sdpa, None),
    attention("sdpa.right_enable_gqa", sdpa_enable_gqa, None),
    attention("sdpa.mask_forgotten", sdpa_mask_forgotten, 1),
    attention("sdpa.transposed", sdpa_transposed, 2),
    attention("sdpa.ones_and_zeros", sdpa_ones_and_zeros, 7),
    attention("sdpa.inverted", sdpa_inverted, 8, mask="allowed"),
    attention("sdpa.unscaled", sdpa_unscaled, 11),
    attention("sdpa.tiled", sdpa_tiled, 26),
    attention("sdpa.dropout", sdpa_dropout, 22),
    attention("mha.right", mha, None, "nan.empty", mask="blocked"),
    attention("mha.seen_is_true", mha, 8, "nan.empty", mask="allowed"),
    attention("mha.averaged", mha_averaged, 0, "nan.empty", mask="blocked"),
]
