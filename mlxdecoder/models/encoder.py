"""The encoder: reads text or images in both directions."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from mlxdecoder.checks import Ids, check_ids
from mlxdecoder.config import Architecture, ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.layers import Linear
from mlxdecoder.masks import Mask
from mlxdecoder.models.base import BaseModel, make_embedding
from mlxdecoder.models.stack import Stack
from mlxdecoder.recipe import RIGHT, Layout, Recipe
from mlxdecoder.watch import Watch, tell, within


class Encoder(BaseModel):
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
