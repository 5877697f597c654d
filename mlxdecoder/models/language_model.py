"""The decoder alone: reads from left to right."""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx

from mlxdecoder.cache import SelfAttentionCache
from mlxdecoder.checks import Ids, check_cache, check_ids
from mlxdecoder.config import Architecture, ModelConfig
from mlxdecoder.layers import Linear
from mlxdecoder.models.base import BaseModel, make_embedding, make_self_cache, score
from mlxdecoder.models.stack import Stack
from mlxdecoder.recipe import RIGHT, Layout, Recipe
from mlxdecoder.watch import Watch, tell, within


class LanguageModel(BaseModel):
    """Reads tokens from left to right and scores the next one."""

    architecture: Architecture = "language_model"

    def __init__(self, config: ModelConfig, recipe: Recipe = RIGHT) -> None:
        super().__init__(config, recipe)
        self.embedding = make_embedding(config.target_vocab, config.d_model)
        self.stack = Stack(config, config.n_layers, causal=True)
        if not config.tied:
            self.head = Linear(config.d_model, config.target_vocab, bias=False)
        if config.head_bias:
            self.head_bias = mx.zeros((config.target_vocab,))

    def __call__(
        self,
        tokens: Ids,
        cache: Sequence[SelfAttentionCache] | None = None,
        layout: Layout = Layout(),
        watch: Watch | None = None,
    ) -> mx.array:
        """Ids [B, T] to logits [B, T, V]; with a cache, ids are those behind what it holds, and it takes them in."""
        ids = check_ids("tokens", tokens, self.config.target_vocab)
        layout.check(len(ids), ["target"])
        check_cache(cache, self.config, len(ids))
        return self.decode_unchecked(ids, layout, cache, watch)

    def decode_unchecked(
        self, ids: mx.array, layout: Layout, cache: Sequence[SelfAttentionCache] | None, watch: Watch | None
    ) -> mx.array:
        """The same for those who have checked: ids are an array, the layout and the cache fit."""
        layout = self._windowed(layout)
        states = self.stack(
            self._embed(self.embedding, ids),
            self.recipe.decoder_mask(layout),
            self.recipe,
            places=layout.target,
            caches=cache,
            watch=within(watch, "decoder"),
        )
        return tell(watch, "logits", score(self, states))

    def make_cache(self, max_kv_size: int | None = None) -> list[SelfAttentionCache]:
        return [make_self_cache(self.config, max_kv_size) for _ in range(self.config.n_layers)]
