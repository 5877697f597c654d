"""The three architectures, all of the same block: `Encoder`, `LanguageModel`, `Translator`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache as once
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from mlxdecoder.blocks import Block, Crossing
from mlxdecoder.cache import CrossAttentionCache, KVCache, RotatingKVCache, SelfAttentionCache, TranslatorCache
from mlxdecoder.checks import Ids, check_cache, check_ids
from mlxdecoder.config import Architecture, ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.layers import Dropout, Linear, Norm
from mlxdecoder.masks import Full, Mask, Window
from mlxdecoder.positions import make_positions
from mlxdecoder.recipe import RIGHT, Layout, Recipe
from mlxdecoder.sight import Sight
from mlxdecoder.watch import Watch, tell, within

N_SINKS = 4  # first tokens that a bounded cache keeps, Xiao et al. 2023


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


class _Model(nn.Module):
    """What the three architectures share: a configuration, a recipe, embeddings."""

    architecture: Architecture

    def __init__(self, config: ModelConfig, recipe: Recipe = RIGHT) -> None:
        super().__init__()
        if config.architecture != self.architecture:
            raise UserError(f"config: architecture {config.architecture!r} found, {self.architecture!r} wanted.")
        self.config, self.recipe = config, recipe

    def _windowed(self, layout: Layout, window: int | None = None) -> Layout:
        """The layout within a window, that of the model unless given."""
        window = window or self.config.window
        return layout if window is None else replace(layout, window=layout.window & Window(window))

    def _embed(self, table: nn.Embedding, ids: mx.array) -> mx.array:
        x = table(ids)
        return x * math.sqrt(self.config.d_model) if self.config.scaled_embeddings else x


class Encoder(_Model):
    """Reads tokens or image patches in both directions: states, or class logits when the configuration has classes.

    Text is pooled at its first token ([CLS], Devlin et al. 2018), images at a learned token before the patches
    (Dosovitskiy et al. 2020); "mean" averages what is not padding. Kinds of text, as question and answer, are told
    apart by `segments` where the configuration has them (Devlin et al. 2018).
    """

    architecture: Architecture = "encoder"

    def __init__(self, config: ModelConfig, recipe: Recipe = RIGHT) -> None:
        super().__init__(config, recipe)
        if config.n_patches:
            self.patches = Linear(config.image_channels * (config.patch_size or 1) ** 2, config.d_model, config.bias)
            self.class_token = mx.random.normal((1, 1, config.d_model), scale=0.02)
        else:
            self.embedding = make_embedding(config.n_source_ids, config.d_model)
        if config.n_segments:
            self.segments = make_embedding(config.n_segments, config.d_model)
        self.stack = Stack(config, config.n_layers, causal=False)
        if config.pooler:
            self.pooler = Linear(config.d_model, config.d_model)
        if config.n_classes:
            self.classifier = Linear(config.d_model, config.n_classes)

    def __call__(
        self, inputs: Ids, layout: Layout = Layout(), watch: Watch | None = None, segments: Ids | None = None
    ) -> mx.array:
        """Ids [B, T] or images [B, height, width, channels] to states [B, T, d], or to class logits [B, n_classes].

        `segments` [B, T] are numbers of the kinds of text (default: all the first).
        """
        x = self._embed_images(inputs) if self.config.n_patches else self._embed_text(inputs, segments)
        layout.check(len(x), ["source"])
        layout = self._windowed(layout)
        mask = self.recipe.encoder_mask(layout)
        x = self.stack(x, mask, self.recipe, places=layout.source, watch=within(watch, "encoder"))
        if self.config.pooling != "none":
            x = pool(x, layout.source, self.config.pooling)  # [B, d]
            x = mx.tanh(self.pooler(x)) if self.config.pooler else x
        return tell(watch, "output", self.classifier(x) if self.config.n_classes else x)

    def _embed_text(self, ids: Ids, segments: Ids | None) -> mx.array:
        tokens = check_ids("tokens", ids, self.config.n_source_ids)
        x = self._embed(self.embedding, tokens)
        if not self.config.n_segments:
            return x
        kinds = mx.zeros_like(tokens) if segments is None else segments
        kinds = check_ids("segments", kinds, self.config.n_segments, batch=len(tokens))
        return x + self.segments(kinds)

    def _embed_images(self, images: Any) -> mx.array:
        images, size = mx.array(images), self.config.image_size
        wanted = (size, size, self.config.image_channels)
        if images.ndim != 4 or images.shape[1:] != wanted:
            raise UserError(f"images: shape {images.shape} found, [batch, {', '.join(map(str, wanted))}] wanted.")
        images = images.astype(self.class_token.dtype)
        x = self.patches(cut_patches(images, self.config.patch_size or 1))  # [B, N, d]
        if self.config.pooling != "cls":
            return x
        first = mx.broadcast_to(self.class_token, (len(x), 1, x.shape[-1]))
        return mx.concatenate([first, x], axis=1)


class LanguageModel(_Model):
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
        windows = {*self.config.layer_windows} - {0}
        states = self.stack(
            self._embed(self.embedding, ids),
            self.recipe.decoder_mask(self._windowed(layout)),
            self.recipe,
            places=layout.target,
            narrower={window: self.recipe.decoder_mask(self._windowed(layout, window)) for window in windows},
            caches=cache,
            watch=within(watch, "decoder"),
        )
        return tell(watch, "logits", score(self, states))

    def make_cache(self, max_kv_size: int | None = None) -> list[SelfAttentionCache]:
        return [make_self_cache(self.config, max_kv_size) for _ in range(self.config.n_layers)]


@dataclass(frozen=True)
class Memory:
    """An encoded source: its states [B, S, d], what is padding in it, and what tells it from every other source."""

    states: mx.array
    layout: Layout
    source: object

    def rows(self, indices: Sequence[int]) -> Memory:
        """The memory of these rows of the batch, which is another source than the whole."""
        return Memory(self.states[mx.array(list(indices))], self.layout.rows(indices), source=object())


class Translator(_Model):
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


def make_model(config: ModelConfig, recipe: Recipe = RIGHT) -> Encoder | LanguageModel | Translator:
    """The model that a configuration describes, with fresh weights from `mx.random`."""
    model = plan_model(config, recipe)
    mx.eval(model.parameters())  # another thread may use it, and could not compute what was begun here
    return model


def plan_model(config: ModelConfig, recipe: Recipe = RIGHT) -> Encoder | LanguageModel | Translator:
    """The same without its weights, which take no memory before they are used: for those who bring others."""
    kinds: dict[str, Any] = {"encoder": Encoder, "language_model": LanguageModel, "translator": Translator}
    model: Encoder | LanguageModel | Translator = kinds[config.architecture](config, recipe)
    return model


def score(model: LanguageModel | Translator, states: mx.array) -> mx.array:
    """Logits over the vocabulary [B, T, V], from the embedding table itself where it is tied (Press and Wolf 2016)."""
    logits = states @ model.embedding.weight.T if model.config.tied else model.head(states)
    return logits + model.head_bias if "head_bias" in model else logits


def pool(states: mx.array, source: Mask, how: str) -> mx.array:
    """One vector for each row [B, d]: the first token that is not padding, or the mean of all that are not."""
    B, S, _ = states.shape
    drawn = source.allowed(np.arange(1), np.arange(S))[:, 0, 0]
    real = np.broadcast_to(drawn, (B, S))  # [B, S]
    if how == "cls":
        return states[mx.arange(B), mx.array(real.argmax(axis=1))]
    weights = mx.array((real / np.maximum(real.sum(axis=1, keepdims=True), 1)).astype(np.float32))
    return (weights[:, None].astype(states.dtype) @ states)[:, 0]


def cut_patches(images: mx.array, size: int) -> mx.array:
    """Squares of `size` pixels as tokens, row by row: [B, height, width, C] to [B, N, size * size * C]."""
    B, height, width, C = images.shape
    rows, columns = height // size, width // size
    squares = images.reshape(B, rows, size, columns, size, C).transpose(0, 1, 3, 2, 4, 5)
    return squares.reshape(B, rows * columns, size * size * C)
