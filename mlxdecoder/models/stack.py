"""Blocks one after another, which is the body of every model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from mlxdecoder.blocks import Block, Crossing
from mlxdecoder.cache import TranslatorCache
from mlxdecoder.config import ModelConfig
from mlxdecoder.layers import Dropout, Norm
from mlxdecoder.masks import Mask
from mlxdecoder.positions import make_positions
from mlxdecoder.recipe import Recipe
from mlxdecoder.sight import Sight
from mlxdecoder.watch import Watch, tell, within


class Stack(nn.Module):
    """Blocks one after another, with the positions that enter them and the norm that ends a pre-norm stack."""

    def __init__(self, config: ModelConfig, n_layers: int, *, causal: bool, crosses: bool = False) -> None:
        super().__init__()
        self.blocks = [Block(config, crosses) for _ in range(n_layers)]
        self._unrotated = config.unrotated_layers
        self.positions = make_positions(config, causal)
        self.dropout = Dropout(config.dropout)
        if config.embedding_norm:
            self.embedding_norm = Norm(config)
        if config.norm == "pre":
            self.norm = Norm(config)

    def __call__(
        self,
        x: mx.array,
        mask: Mask,
        recipe: Recipe,
        *,
        places: Mask | None = None,
        crossing: Crossing | None = None,
        caches: Sequence[Any] | None = None,
        watch: Watch | None = None,
    ) -> mx.array:
        """Map embeddings [B, T, d] to states [B, T, d]; `places` gives positions to slots, `mask` sight."""
        own = [cache.own if isinstance(cache, TranslatorCache) else cache for cache in caches or ()]
        offset, T = (own[0].offset if own else 0), x.shape[1]
        slots = recipe.position_start(offset) + np.arange(T)
        queries = recipe.mask_start(offset) + np.arange(T)
        keys = own[0].key_slots(T) if own else slots
        positions, of_keys = (recipe.positions((places or mask).positions(x)) for x in (slots, keys))
        seen = mask & own[0].reach if own else mask
        bias, rotation = self.positions.bias(positions, of_keys), self.positions.rotation(positions)

        sight = Sight(seen, queries, keys, bias, rotation)
        unrotated = replace(sight, rotation=None) if self._unrotated else sight
        if watch:
            watch("key_slots", mx.array(keys))
        x = self.positions.embed(x, positions)
        x = self.dropout(self.embedding_norm(x) if "embedding_norm" in self else x)
        tell(watch, "embedded", x)
        for i, block in enumerate(self.blocks):
            x = block(
                x,
                unrotated if i in self._unrotated else sight,
                recipe,
                cache=own[i] if own else None,
                crossing=crossing,
                cross_cache=caches[i].cross if caches and crossing else None,
                watch=within(watch, str(i)),
            )
        return self.norm(x) if "norm" in self else x
