"""Scaled dot-product attention in named stages, and the multi-head layer that serves self- and cross-attention."""

from __future__ import annotations

from typing import Protocol

import mlx.core as mx
import mlx.nn as nn
import numpy as np

import mlxdecoder.kernels as kernels
from mlxdecoder.backend import ON_METAL
from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.layers import Dropout, Linear
from mlxdecoder.masks import Mask
from mlxdecoder.recipe import RIGHT, Recipe
from mlxdecoder.sight import Sight
from mlxdecoder.watch import Watch, tell

HALF_TYPES = (mx.float16, mx.bfloat16)


class KeyValueCache(Protocol):
    """What attention asks of a cache."""

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]: ...


def attention(
    query: mx.array,
    key: mx.array,
    value: mx.array,
    mask: Mask | mx.array | None = None,
    *,
    recipe: Recipe = RIGHT,
    watch: Watch | None = None,
) -> mx.array:
    """Softmax(q k^T / sqrt(dh)) v over the keys that the mask allows (Vaswani et al. 2017, equation 1).

    `query` [B, H, T, dh], `key` [B, Hkv, S, dh], `value` [B, Hkv, S, dv]; gives [B, H, T, dv]. `mask` is a value, or an
    array of rank 4 that broadcasts to [B, H, T, S]: boolean, True = may attend, or float, added to the scores. Rows
    that see nothing give zeros. `watch(name, array)` is told every stage. Raises `UserError` for shapes and types that
    do not fit.
    """
    query, key, value = (mx.array(x) for x in (query, key, value))
    _check_operands(query, key, value)
    B, H, T, _ = query.shape
    S = key.shape[2]
    if S == 0:
        return mx.zeros((B, H, T, value.shape[-1]), value.dtype)
    if isinstance(mask, Mask):
        if mask.batch not in (None, 1, B):
            raise UserError(f"mask: made for {mask.batch} rows, but the batch has {B}.")
        first = mask.first_query(T, S)
        sight = Sight(mask, np.arange(first, first + T), np.arange(S))
    else:
        sight = Sight() if mask is None else _sight_of_array(mx.array(mask), (B, H, T, S))
    return attend(query, key, value, sight, recipe, watch)


def attend(
    query: mx.array,
    key: mx.array,
    value: mx.array,
    sight: Sight,
    recipe: Recipe,
    watch: Watch | None = None,
    dropout: Dropout | None = None,
) -> mx.array:
    """`attention` without checks: by a kernel where the recipe is one that kernels compute, else in stages."""
    drops = dropout is not None and dropout.training and dropout.rate > 0
    fuses = recipe.fuses and not drops
    if fuses and kernels.serve(query, key, value):
        context, lse = kernels.attend(query, key, value, sight.structure, recipe.scale(query.shape[-1]))
        if watch:  # the stages are computed beside the way to the output, so that watching changes no output
            _tell_stages(query, key, sight, recipe, watch)
            weights = kernels.weights(query, key, lse, sight.structure, recipe.scale(query.shape[-1]))
            watch("weights", weights.astype(value.dtype))
    elif fuses and ON_METAL and mx.default_device() == mx.gpu and not sight.empty_rows:
        context = _fused(query, key, value, sight, recipe.scale(query.shape[-1]))
        if watch:
            watch("weights", _weights(query, key, sight, recipe, watch))
    else:
        weights = tell(watch, "weights", _weights(query, key, sight, recipe, watch).astype(value.dtype))
        seen = dropout(weights) if dropout is not None else weights
        context = seen @ recipe.share_heads(value, query.shape[1])  # [B, H, T, dv]
    return tell(watch, "context", context)


class MultiHeadAttention(nn.Module):
    """Attention of H query heads over Hkv key and value heads, of a sequence to itself or to another one."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.n_heads, self.n_kv_heads = config.n_heads, config.kv_heads
        inner, shared = (n * config.width_per_head for n in (self.n_heads, self.n_kv_heads))
        self.query = Linear(config.d_model, inner, config.qkv_has_bias)
        self.key = Linear(config.d_model, shared, config.qkv_has_bias)
        self.value = Linear(config.d_model, shared, config.qkv_has_bias)
        if config.query_key_norm:  # Dehghani et al. 2023, https://arxiv.org/abs/2302.05442
            self.query_norm, self.key_norm = (
                nn.RMSNorm(config.width_per_head, eps=config.norm_epsilon) for _ in range(2)
            )
        self.output = Linear(inner, config.d_model, config.bias)
        self.dropout = Dropout(config.attention_dropout)

    def __call__(
        self, x: mx.array, sight: Sight, recipe: Recipe, cache: KeyValueCache | None = None, watch: Watch | None = None
    ) -> mx.array:
        """Self-attention of x [B, T, d], over the cached tokens too where there is a cache."""
        query, (key, value) = self.queries(x, recipe), self.keys_and_values(x, recipe)
        if sight.rotation:
            query, key = sight.rotation.both(query, key)
        if cache is not None:
            key, value = cache.update_and_fetch(key, value)
        return self.attend(query, key, value, sight, recipe, watch)

    def queries(self, x: mx.array, recipe: Recipe) -> mx.array:
        """Project x [B, T, d] to queries [B, H, T, dh] of its type; weights may be float32 beside halves."""
        query = recipe.split_heads(self.query(x), self.n_heads).astype(x.dtype)
        return self.query_norm(query) if "query_norm" in self else query

    def keys_and_values(self, x: mx.array, recipe: Recipe) -> tuple[mx.array, mx.array]:
        """Project x [B, S, d] to keys and values [B, Hkv, S, dh]."""
        key, value = (recipe.split_heads(project(x), self.n_kv_heads) for project in (self.key, self.value))
        return self.key_norm(key) if "key_norm" in self else key, value

    def attend(
        self, query: mx.array, key: mx.array, value: mx.array, sight: Sight, recipe: Recipe, watch: Watch | None = None
    ) -> mx.array:
        """The output [B, T, d] of attention from queries to keys and values of every head."""
        for name, array in (("query", query), ("key", key), ("value", value)):
            tell(watch, name, array)
        context = attend(query, key, value, sight, recipe, watch, self.dropout)
        return self.output(recipe.merge_heads(context))


def _weights(query: mx.array, key: mx.array, sight: Sight, recipe: Recipe, watch: Watch | None) -> mx.array:
    """The attention weights [B, H, T, S]."""
    return recipe.normalise(_tell_stages(query, key, sight, recipe, watch), sight.allowed)


def _tell_stages(query: mx.array, key: mx.array, sight: Sight, recipe: Recipe, watch: Watch | None) -> mx.array:
    """The masked scores [B, H, T, S]; the sums of half types are kept in float32, in which they cannot overflow."""
    if query.dtype in HALF_TYPES:
        query, key = query.astype(mx.float32), key.astype(mx.float32)
    key = recipe.share_heads(key, query.shape[1]).swapaxes(-1, -2)  # [B, H, dh, S]
    # Scaling the queries costs less than scaling the scores, and cannot overflow where they would.
    scale = recipe.scale(query.shape[-1])
    scaled = (query if scale == 1 else query * scale) @ key  # [B, H, T, S]
    biased = scaled if sight.bias is None else scaled + sight.bias
    masked = biased if sight.allowed is None else recipe.apply_mask(biased, sight.allowed)
    if watch:
        for name, stage in (("scores", query @ key), ("scaled", biased), ("masked", masked)):
            watch(name, stage)
    return masked


def _fused(query: mx.array, key: mx.array, value: mx.array, sight: Sight, scale: float) -> mx.array:
    mask = sight.allowed
    if sight.bias is not None:
        bias = mx.maximum(sight.bias, mx.finfo(query.dtype).min)  # or a half type would make -inf of it
        mask = (bias if mask is None else mx.where(mask, bias, -mx.inf)).astype(query.dtype)
    return mx.fast.scaled_dot_product_attention(query, key, value, scale=scale, mask=mask)


def _check_operands(query: mx.array, key: mx.array, value: mx.array) -> None:
    for name, array in (("query", query), ("key", key), ("value", value)):
        if array.ndim != 4:
            raise UserError(f"{name}: shape {array.shape} found, [batch, heads, length, width] wanted.")
        if not mx.issubdtype(array.dtype, mx.floating) or 0 in (array.shape[1], array.shape[3]):
            raise UserError(f"{name}: {array.dtype} of shape {array.shape} found; floats, heads, a width wanted.")
    B, H, _, dh = query.shape
    Bk, Hkv, S, dk = key.shape
    if (Bk, dk) != (B, dh) or H % Hkv:
        raise UserError(f"key: shape {key.shape} found, wanted batch {B}, width {dh} and a divisor of {H} heads.")
    if value.shape[:3] != (B, Hkv, S):
        raise UserError(f"value: shape {value.shape} found, wanted {(B, Hkv, S)} and any width, as the key has it.")


def _sight_of_array(mask: mx.array, shape: tuple[int, int, int, int]) -> Sight:
    if mask.ndim != 4:
        raise UserError(
            f"mask: shape {mask.shape} found, rank 4 that broadcasts to {shape} wanted; which axis is meant cannot be "
            "told from a lower rank: reshape it, or give a mask value such as Padding."
        )
    if any(found not in (1, wanted) for found, wanted in zip(mask.shape, shape, strict=True)):
        raise UserError(f"mask: shape {mask.shape} found, wanted one that broadcasts to {shape}.")
    if mask.dtype == mx.bool_:
        return Sight(mask)
    if not mx.issubdtype(mask.dtype, mx.floating) or bool(((mask == 1) | (mask == 0)).all() & (mask == 1).any()):
        raise UserError(
            f"mask: {mask.dtype} of zeros and ones found; give a boolean mask (True = may attend) with "
            "mask.astype(mx.bool_), or an additive one (0 = may attend, -inf = blocked)."
        )
    blocked = mask <= mx.finfo(mask.dtype).min
    return Sight(~blocked, bias=mx.where(blocked, 0, mask))
