"""Encoder and decoder: one reads the source, the other writes the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import mlx.core as mx
import numpy as np

from mlxdecoder.blocks import Crossing
from mlxdecoder.cache import CrossAttentionCache, TranslatorCache
from mlxdecoder.checks import Ids, check_cache, check_ids
from mlxdecoder.config import Architecture, ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.layers import Linear
from mlxdecoder.masks import Full
from mlxdecoder.models.base import BaseModel, make_embedding, make_self_cache, score
from mlxdecoder.models.stack import Stack
from mlxdecoder.recipe import RIGHT, Layout, Recipe
from mlxdecoder.sight import Sight
from mlxdecoder.watch import Watch, tell, within


@dataclass(frozen=True)
class Memory:
    """An encoded source: its states [B, S, d], what is padding in it, and what tells it from every other source."""

    states: mx.array
    layout: Layout
    source: object

    def rows(self, indices: Sequence[int]) -> Memory:
        """The memory of these rows of the batch, which is another source than the whole."""
        return Memory(self.states[mx.array(list(indices))], self.layout.rows(indices), source=object())


class Translator(BaseModel):
    """An encoder reads the source, a decoder writes the target with cross-attention to it (Vaswani et al. 2017)."""

    architecture: Architecture = "translator"

    def __init__(self, config: ModelConfig, recipe: Recipe = RIGHT) -> None:
        super().__init__(config, recipe)
        self.embedding = make_embedding(config.target_vocab, config.d_model)
        if not config.tied:
            self.source_embedding = make_embedding(config.n_source_ids, config.d_model)
            self.head = Linear(config.d_model, config.target_vocab, bias=False)
        if config.head_bias:
            self.head_bias = mx.zeros((config.target_vocab,))
        self.encoder = Stack(config, config.encoder_layers, causal=False)
        self.decoder = Stack(config, config.n_layers, causal=True, crosses=True)

    def __call__(self, source: Ids, target: Ids, layout: Layout = Layout(), watch: Watch | None = None) -> mx.array:
        """Source ids [B, S] and target ids [B, T], which begin with the begin mark, to logits [B, T, V]."""
        return self.decode(target, self.encode(source, layout, watch), watch=watch)

    def encode(self, source: Ids, layout: Layout = Layout(), watch: Watch | None = None) -> Memory:
        """Read source ids [B, S]; `layout.source` says what is padding."""
        ids = check_ids("source", source, self.config.n_source_ids)
        layout.check(len(ids), ["source", "target"])
        x = self._embed(self.embedding if self.config.tied else self.source_embedding, ids)
        mask = self.recipe.encoder_mask(replace(layout, window=Full()))
        states = self.encoder(x, mask, self.recipe, places=layout.source, watch=within(watch, "encoder"))
        return Memory(states, layout, source=object())

    def decode(
        self,
        target: Ids,
        memory: Memory,
        cache: Sequence[TranslatorCache] | None = None,
        watch: Watch | None = None,
    ) -> mx.array:
        """Target ids [B, T] to logits [B, T, V]; with a cache, ids are those behind what it holds."""
        ids = check_ids("target", target, self.config.target_vocab, batch=len(memory.states))
        check_cache(cache, self.config, len(ids))
        self._check_source(cache, memory)
        return self.decode_unchecked(ids, memory, cache, watch)

    def decode_unchecked(
        self, ids: mx.array, memory: Memory, cache: Sequence[TranslatorCache] | None, watch: Watch | None
    ) -> mx.array:
        """The same for those who have checked: ids are an array, the cache is that of the memory."""
        layout = self._windowed(memory.layout)
        states = self.decoder(
            self._embed(self.embedding, ids),
            self.recipe.decoder_mask(layout),
            self.recipe,
            places=layout.target,
            crossing=self._crossing(memory, layout, ids.shape[1], cache),
            caches=cache,
            watch=within(watch, "decoder"),
        )
        return tell(watch, "logits", score(self, states))

    def make_cache(self, max_kv_size: int | None = None) -> list[TranslatorCache]:
        return [
            TranslatorCache(
                make_self_cache(self.config, max_kv_size), self.recipe.cross_cache(layer, CrossAttentionCache)
            )
            for layer in range(self.config.n_layers)
        ]

    def _check_source(self, cache: Sequence[TranslatorCache] | None, memory: Memory) -> None:
        used = [layer for layer in cache or () if layer.cross.keys is not None and layer.offset]
        if used and not used[0].cross.serves(memory, self.recipe.keeps_cross_cache):
            raise UserError("cache: holds tokens of another source; use a new one from make_cache(), or trim it to 0.")

    def _crossing(self, memory: Memory, layout: Layout, T: int, cache: Sequence[TranslatorCache] | None) -> Crossing:
        first = self.recipe.mask_start(cache[0].offset if cache else 0)
        keeps = self.recipe.keeps_cross_cache
        keys = cache[0].cross.key_slots(memory, keeps) if cache else np.arange(memory.states.shape[1])
        sight = Sight(self.recipe.cross_mask(layout), first + np.arange(T), keys)
        return Crossing(memory.states, sight, memory.source)
