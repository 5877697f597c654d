"""Attention functions in MLX in four dialects: Annotated Transformer, Hugging Face, einsum, and the fused kernel."""

from __future__ import annotations

import math
from collections.abc import Callable

import mlx.core as mx

from tests.wild.entry import Wild

Attention = Callable[..., mx.array]
LOWEST = mx.finfo(mx.float32).min


def masked_fill(x: mx.array, where: mx.array, value: float) -> mx.array:
    return mx.where(where, mx.array(value, x.dtype), x)


def annotated(
    fill: float = -1e9, blocked: int = 0, scaled: bool = True, axis: int = -1, mask_late: bool = False
) -> Attention:
    """`mask == 0` is filled with -1e9, then the softmax."""

    def attention(query: mx.array, key: mx.array, value: mx.array, mask: mx.array | None = None) -> mx.array:
        d_k = query.shape[-1]
        scores = query @ key.swapaxes(-2, -1)
        if scaled:
            scores = scores / math.sqrt(d_k)
        if mask is not None and not mask_late:
            scores = masked_fill(scores, mask == blocked, fill)
        p_attn = mx.softmax(scores, axis=axis)
        if mask is not None and mask_late:
            p_attn = masked_fill(p_attn, mask == blocked, fill)
        return p_attn @ value

    return attention


def repeat_kv(x: mx.array, n_rep: int) -> mx.array:
    B, H, S, d = x.shape
    return mx.broadcast_to(x[:, :, None], (B, H, n_rep, S, d)).reshape(B, H * n_rep, S, d)


def tile_kv(x: mx.array, n_rep: int) -> mx.array:
    return mx.concatenate([x] * n_rep, axis=1)


def eager(repeat: Callable[[mx.array, int], mx.array] = repeat_kv, power: float = -0.5) -> Attention:
    """The eager attention of Hugging Face: keys repeated for their group, and a mask that is added."""

    def eager_attention_forward(
        query: mx.array, key: mx.array, value: mx.array, attention_mask: mx.array | None = None
    ) -> mx.array:
        n_rep = query.shape[1] // key.shape[1]
        attn_weights = query @ repeat(key, n_rep).transpose(0, 1, 3, 2) * query.shape[-1] ** power
        if attention_mask is not None:
            attn_weights = attn_weights + attention_mask
        attn_weights = mx.softmax(attn_weights.astype(mx.float32), axis=-1).astype(query.dtype)
        return attn_weights @ repeat(value, n_rep)

    return eager_attention_forward


def extended(strength: float = LOWEST, keep: bool = True) -> Attention:
    """BERT's way: a mask of ones and zeros becomes `(1 - mask) * strength` and is added."""

    def attention(query: mx.array, key: mx.array, value: mx.array, attention_mask: mx.array) -> mx.array:
        mask = attention_mask.astype(query.dtype)
        extended_attention_mask = (1.0 - mask if keep else mask) * strength
        scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])
        return mx.softmax(scores + extended_attention_mask, axis=-1) @ value

    return attention


def einsum(groups: str = "g r", softmax_axis: int = -1, per_width: bool = False) -> Attention:
    """Scores by einsum over groups of heads; `~mask` is filled."""

    def attend(q: mx.array, k: mx.array, v: mx.array, mask: mx.array | None = None) -> mx.array:
        B, H, T, d = q.shape
        G = k.shape[1]
        q = q * (1 / d if per_width else d**-0.5)
        q = q.reshape(B, G, H // G, T, d) if groups == "g r" else q.reshape(B, H // G, G, T, d).swapaxes(1, 2)
        sim = mx.einsum("bgrid,bgjd->bgrij", q, k)
        if mask is not None:
            mask = mx.broadcast_to(mask, (B, H, T, k.shape[2])).reshape(B, G, H // G, T, -1)
            sim = mx.where(mask, sim, -mx.finfo(sim.dtype).max)
        out = mx.einsum("bgrij,bgjd->bgrid", mx.softmax(sim, axis=softmax_axis), v)
        return (out if groups == "g r" else out.swapaxes(1, 2)).reshape(B, H, T, -1)

    return attend


def fused(scale: Callable[[int], float] = lambda d: d**-0.5, forward_mask: bool = True) -> Attention:
    """The kernel of MLX, which takes both kinds of mask."""

    def attend(q: mx.array, k: mx.array, v: mx.array, mask: mx.array | None = None) -> mx.array:
        mask = mask if forward_mask else None
        return mx.fast.scaled_dot_product_attention(q, k, v, scale=scale(q.shape[-1]), mask=mask)

    return attend


def blocking(q: mx.array, k: mx.array, v: mx.array, mask: mx.array | None = None) -> mx.array:
    """As PyTorch's modules have it: True = blocked. Rows that see nothing give zeros."""
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if mask is None:
        return mx.softmax(scores, axis=-1) @ v
    weights = mx.softmax(masked_fill(scores, mask, -1e9), axis=-1)
    return masked_fill(weights, mask, 0.0) @ v


def entry(name: str, attention: Attention, mistake: int | None, *blemishes: str, mask: str | None = None) -> Wild:
    options = {} if mask is None else {"mask": mask}
    return Wild(name, "attention", lambda _: attention, mistake, options, frozenset(blemishes))


ENTRIES = [
    entry("annotated.right", annotated(), None, "empty.uniform"),
    entry("annotated.tiny_fill", annotated(fill=1e-9), 7),
    entry("annotated.inverted", annotated(blocked=1), 8, "empty.uniform", mask="allowed"),
    entry("annotated.unscaled", annotated(scaled=False), 11, "empty.uniform"),
    entry("annotated.over_queries", annotated(axis=-2), 15),
    entry("annotated.zeroed_afterwards", annotated(fill=0.0, mask_late=True), 5),
    entry("annotated.infinite_afterwards", annotated(fill=-math.inf, mask_late=True), 6),
    entry("hugging.right", eager(), None, "nan.empty"),
    entry("hugging.tiled", eager(repeat=tile_kv), 26, "nan.empty"),
    entry("hugging.unscaled", eager(power=0.0), 11, "nan.empty"),
    entry("bert.right", extended(), None, "empty.uniform"),
    entry("bert.right_ten_thousand", extended(strength=-10000.0), None, "empty.other", "large.overflow"),
    entry("bert.fill_of_ten", extended(strength=-10.0), 7),
    entry("bert.inverted", extended(keep=False), 8, "empty.uniform", mask="allowed"),
    entry("einsum.right", einsum(), None, "empty.uniform"),
    entry("einsum.tiled", einsum(groups="r g"), 26, "empty.uniform"),
    entry("einsum.over_queries", einsum(softmax_axis=-2), 15),
    entry("einsum.divided_by_width", einsum(per_width=True), 30, "empty.uniform"),
    entry("fused.right", fused(), None, "empty.uniform", "nan.empty"),
    entry("fused.unscaled", fused(scale=lambda d: 1.0), 11, "empty.uniform", "nan.empty"),
    entry("fused.mask_not_forwarded", fused(forward_mask=False), 1),
    entry("blocking.right", blocking, None, mask="blocked"),
    entry("blocking.inverted", blocking, 8, mask="allowed"),
]
