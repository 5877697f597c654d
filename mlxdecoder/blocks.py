"""ONE block for the three architectures: self-attention, optional cross-attention, MLP, each in a residual branch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import mlx.core as mx
import mlx.nn as nn

from mlxdecoder.attention import KeyValueCache, MultiHeadAttention
from mlxdecoder.cache import CrossAttentionCache
from mlxdecoder.config import ModelConfig
from mlxdecoder.layers import Dropout, Norm, make_mlp
from mlxdecoder.recipe import Recipe
from mlxdecoder.sight import Sight
from mlxdecoder.watch import Watch, tell, within


@dataclass(frozen=True)
class Crossing:
    """What cross-attention attends to: the encoder's states [B, S, d] of one source, and who sees which of them."""

    states: mx.array
    sight: Sight
    source: object


class Block(nn.Module):
    """x + attention(x), x + cross-attention(x, source), x + MLP(x), with the norm before each branch or after each sum.

    Post-norm is Vaswani et al. 2017; pre-norm is Xiong et al. 2020, https://arxiv.org/abs/2002.04745.
    """

    def __init__(self, config: ModelConfig, crosses: bool = False) -> None:
        super().__init__()
        self.pre_norm = config.norm == "pre"
        self.attention = MultiHeadAttention(config)
        self.attention_norm = Norm(config)
        if crosses:
            self.cross_attention = MultiHeadAttention(config)
            self.cross_norm = Norm(config)
        self.mlp = make_mlp(config)
        self.mlp_norm = Norm(config)
        self.dropout = Dropout(config.dropout)

    def __call__(
        self,
        x: mx.array,
        sight: Sight,
        recipe: Recipe,
        *,
        cache: KeyValueCache | None = None,
        crossing: Crossing | None = None,
        cross_cache: CrossAttentionCache | None = None,
        watch: Watch | None = None,
    ) -> mx.array:
        """Map x [B, T, d] to [B, T, d]; `crossing` is wanted by a block that crosses, and by no other."""

        def attend(x: mx.array) -> mx.array:
            return self.attention(x, sight, recipe, cache, within(watch, "self"))

        x = tell(watch, "attended", self._branch(x, self.attention_norm, attend))
        if crossing is not None:
            cross = partial(self._cross, crossing, recipe, cross_cache, within(watch, "cross"))
            x = tell(watch, "crossed", self._branch(x, self.cross_norm, cross))
        return tell(watch, "output", self._branch(x, self.mlp_norm, lambda x: self.mlp(x, within(watch, "mlp"))))

    def _branch(self, x: mx.array, norm: nn.Module, branch: Callable[[mx.array], mx.array]) -> mx.array:
        if self.pre_norm:
            return x + self.dropout(branch(norm(x)))
        return norm(x + self.dropout(branch(x)))

    def _cross(
        self, crossing: Crossing, recipe: Recipe, cache: CrossAttentionCache | None, watch: Watch | None, x: mx.array
    ) -> mx.array:
        def project() -> tuple[mx.array, mx.array]:
            return self.cross_attention.keys_and_values(crossing.states, recipe)

        key, value = cache.fetch(crossing, project, recipe.keeps_cross_cache) if cache else project()
        query = self.cross_attention.queries(x, recipe)
        return self.cross_attention.attend(query, key, value, crossing.sight, recipe, watch)
