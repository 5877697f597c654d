"""What the three architectures share: a configuration, a recipe, embeddings, logits, caches."""

from __future__ import annotations

import math
from dataclasses import replace

import mlx.core as mx
import mlx.nn as nn

from mlxdecoder.cache import KVCache, RotatingKVCache, SelfAttentionCache
from mlxdecoder.config import Architecture, ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.masks import Window
from mlxdecoder.recipe import RIGHT, Layout, Recipe

N_SINKS = 4  # first tokens that a bounded cache keeps, Xiao et al. 2023


class BaseModel(nn.Module):
    """A model with its configuration and its recipe."""

    architecture: Architecture

    def __init__(self, config: ModelConfig, recipe: Recipe = RIGHT) -> None:
        super().__init__()
        if config.architecture != self.architecture:
            raise UserError(f"config: architecture {config.architecture!r} found, {self.architecture!r} wanted.")
        self.config, self.recipe = config, recipe

    def _windowed(self, layout: Layout) -> Layout:
        """The layout within the window of the model."""
        window = self.config.window
        return layout if window is None else replace(layout, window=layout.window & Window(window))

    def _embed(self, table: nn.Embedding, ids: mx.array) -> mx.array:
        x = table(ids)
        return x * math.sqrt(self.config.d_model) if self.config.scaled_embeddings else x


def make_embedding(n_ids: int, width: int) -> nn.Embedding:
    table = nn.Embedding(n_ids, width)
    table.weight = mx.random.normal((n_ids, width), scale=width**-0.5)
    return table


def make_self_cache(config: ModelConfig, max_kv_size: int | None) -> SelfAttentionCache:
    """A cache as long as the window of the model or `max_kv_size`, the shorter; without both, one that keeps all."""
    if max_kv_size is not None and max_kv_size < 1:
        raise UserError(f"max_kv_size = {max_kv_size}: at least 1 is wanted.")
    if config.window is not None:
        return RotatingKVCache(min(config.window, max_kv_size or config.window))
    return KVCache() if max_kv_size is None else RotatingKVCache(max_kv_size, min(N_SINKS, max_kv_size - 1))


def score(model: BaseModel, states: mx.array) -> mx.array:
    """Logits over the vocabulary [B, T, V], from the embedding table itself where it is tied (Press and Wolf 2016)."""
    logits: mx.array = states @ model.embedding.weight.T if model.config.tied else model.head(states)
    return logits + model.head_bias if "head_bias" in model else logits
