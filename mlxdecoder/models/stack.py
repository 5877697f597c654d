"""Blocks one after another, which is the body of every model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache as once
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from mlxdecoder.blocks import Block, Crossing
from mlxdecoder.cache import TranslatorCache
from mlxdecoder.config import ModelConfig
from mlxdecoder.layers import Dropout, Norm
from mlxdecoder.masks import Full, Mask
from mlxdecoder.positions import make_positions
from mlxdecoder.recipe import Recipe
from mlxdecoder.sight import Sight
from mlxdecoder.watch import Watch, tell, within


class Stack(nn.Module):
    """Blocks one after another, with the positions that enter them and the norm that ends a pre-norm stack."""

    def __init__(self, config: ModelConfig, n_layers: int, *, causal: bool, crosses: bool = False) -> None:
        super().__init__()
        self.blocks = [Block(config, crosses) for _ in range(n_layers)]
        self._windows, self._unrotated = config.layer_windows or (0,) * n_layers, config.unrotated_layers
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
        narrower: Mapping[int, Mask] = {},
        crossing: Crossing | None = None,
        caches: Sequence[Any] | None = None,
        watch: Watch | None = None,
    ) -> mx.array:
        """Map embeddings [B, T, d] to states [B, T, d]; `places` gives positions to slots, `mask` sight.

        `narrower` has another mask for each window that layers have of their own.
        """
        own = [cache.own if isinstance(cache, TranslatorCache) else cache for cache in caches or ()]
        offset, T = (own[0].offset if own else 0), x.shape[1]
        slots = recipe.position_start(offset) + np.arange(T)
        queries = recipe.mask_start(offset) + np.arange(T)
        keys = own[0].key_slots(T) if own else slots
        positions, of_keys = (recipe.positions((places or mask).positions(x)) for x in (slots, keys))
        reach = own[0].reach if own else Full()
        bias, rotation = self.positions.bias(positions, of_keys), self.positions.rotation(positions)

        @once  # for all layers that see alike
        def sight(window: int, rotates: bool) -> Sight:
            return Sight(narrower.get(window, mask) & reach, queries, keys, bias, rotation if rotates else None)

        if watch:
            watch("key_slots", mx.array(keys))
        x = self.positions.embed(x, positions)
        x = self.dropout(self.embedding_norm(x) if "embedding_norm" in self else x)
        tell(watch, "embedded", x)
        for i, block in enumerate(self.blocks):
            x = block(
                x,
                sight(self._windows[i], i not in self._unrotated),
                recipe,
                cache=own[i] if own else None,
                crossing=crossing,
                cross_cache=caches[i].cross if caches and crossing else None,
                watch=within(watch, str(i)),
            )
        return self.norm(x) if "norm" in self else x
