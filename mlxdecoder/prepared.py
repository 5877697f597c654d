"""A model made ready for generation: the same function, by weights that take less time a token.

What is the same for every token is computed once: the gains of the norms and the scale of the scores go into the
weights behind them, and weights are laid out in the order in which a product of a few rows reads them fastest.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import mlx.core as mx
import mlx.nn as nn

from mlxdecoder import blas
from mlxdecoder.attention import MultiHeadAttention
from mlxdecoder.blocks import Block
from mlxdecoder.layers import Experts, Linear, Norm
from mlxdecoder.models import LanguageModel, Stack, Translator
from mlxdecoder.quantized import is_quantized

Model = TypeVar("Model", LanguageModel, Translator)
Part = TypeVar("Part", bound=nn.Module)

SMALL = 1_000_000  # multiplications; for a larger product, OpenBLAS copies the weight before it multiplies
WIDTHS = (64, 32)  # of panels


def prepare(model: Model, rows: int = 1) -> Model:
    """The same function as the model's, for decoding some `rows` rows at once; the model stays as it is.

    Later changes of its weights or recipe do not reach what was prepared. The scale of the recipe, whatever it is, goes
    into the weights of the queries, so a watcher is told of scaled ones. A quantised model is given back as it is.
    """
    if is_quantized(model):
        return model
    scale = model.recipe.scale(model.config.width_per_head)
    decoder, encoder = _Preparation(scale, rows), _Preparation(scale, None)
    parts = {"head": decoder.linear(_head(model))}
    if isinstance(model, Translator):
        parts |= {"encoder": encoder.stack(model.encoder), "decoder": decoder.stack(model.decoder)}
        parts |= {"source_embedding": model.embedding} if model.config.tied else {}
    else:
        parts |= {"stack": decoder.stack(model.stack)}
    made = changed(model, **parts)
    made.pop("head_bias", None)  # the head has it
    made.config = replace(model.config, tied=False, head_bias=False)
    made.recipe = replace(model.recipe, scale=no_scale)
    mx.eval(made.parameters())
    return made


class Panels(nn.Module):
    """A linear map with its weight cut into narrow panels, [panels, inputs, width].

    Each is small enough for OpenBLAS to read it where it stands. To copy it would cost more than a product of few rows.
    """

    def __init__(self, linear: Linear, width: int) -> None:
        super().__init__()
        inputs, self.outputs = linear.weight.shape
        whole = mx.pad(linear.weight, [(0, 0), (0, -self.outputs % width)])
        self.weight = mx.contiguous(whole.reshape(inputs, -1, width).swapaxes(0, 1))
        if "bias" in linear:
            self.bias = linear.bias

    def __call__(self, x: mx.array) -> mx.array:
        products = x.reshape(1, -1, x.shape[-1]) @ self["weight"]  # [panels, rows, width]
        y = products.swapaxes(0, 1).reshape(*x.shape[:-1], -1)[..., : self.outputs]
        return y + self["bias"] if "bias" in self else y


@dataclass(frozen=True)
class _Preparation:
    """`scale` is that of the scores, `rows` how many go through at once: None where there are many."""

    scale: float
    rows: int | None

    def stack(self, stack: Stack) -> Stack:
        return changed(stack, blocks=[self.block(block) for block in stack.blocks])

    def block(self, block: Block) -> Block:
        """Only a norm that stands before its branch can leave its gain and bias to what is behind it."""
        dense = not isinstance(block.mlp, Experts)  # experts have no bias for it
        norms = {name: part for name, part in block.items() if isinstance(part, Norm) and block.pre_norm}
        before: dict[str, Norm] = {name: norm for name, norm in norms.items() if dense or name != "mlp_norm"}
        parts: dict[str, Any] = {name: bare(norm) for name, norm in before.items()}
        parts["attention"] = self.attention(block.attention, before.get("attention_norm"), ("key", "value"))
        if "cross_attention" in block:
            parts["cross_attention"] = self.attention(block.cross_attention, before.get("cross_norm"))
        if dense:
            parts["mlp"] = self.mlp(block.mlp, before.get("mlp_norm"))
        return changed(block, **parts)

    def attention(
        self, attention: MultiHeadAttention, norm: Norm | None, others: tuple[str, ...] = ()
    ) -> MultiHeadAttention:
        """`others` are behind the norm too, besides the queries."""
        parts: dict[str, Any] = {name: self.linear(attention[name], norm) for name in others}
        scale = self.scale
        if "query_norm" in attention:  # which would undo a scale that came before it
            parts["query_norm"] = changed(attention.query_norm, weight=attention.query_norm.weight * scale)
            scale = 1.0
        query, output = self.linear(attention.query, norm, scale), self.linear(attention.output)
        return changed(attention, **parts, query=query, output=output)

    def mlp(self, mlp: nn.Module, norm: Norm | None) -> nn.Module:
        parts = {name: self.linear(mlp[name], norm) for name in ("inward", "gate") if name in mlp}
        return changed(mlp, **parts, outward=self.linear(mlp.outward))

    def linear(self, linear: Linear, norm: Norm | None = None, factor: float = 1.0) -> nn.Module:
        made = folded(linear, norm, factor)
        width = self.panel_width(*made.weight.shape)
        return made if width is None else Panels(made, width)

    def panel_width(self, inputs: int, outputs: int) -> int | None:
        """None where the weight is better left whole."""
        rows = self.rows
        if rows is None or rows * inputs * outputs <= SMALL or not blas.reads_small_weights_in_place():
            return None
        return next((width for width in WIDTHS if rows * inputs * width <= SMALL), None)


def folded(linear: Linear, norm: Norm | None, factor: float) -> Linear:
    """A linear map with the gain and bias of the norm before it, and times a factor."""
    weight, bias = linear.weight, linear.get("bias")
    if norm is not None:
        if "bias" in norm:
            bias = norm.bias @ weight + (0 if bias is None else bias)
        weight = norm.weight[:, None] * weight
    if factor != 1:
        weight, bias = weight * factor, None if bias is None else bias * factor
    return Linear.of(weight, bias)


def bare(norm: Norm) -> Norm:
    """The norm without gain and bias."""
    made = copy.copy(norm)
    made.clear()
    return made


def changed(module: Part, **parts: Any) -> Part:
    """A copy of the module with other parts; all else is shared."""
    made = copy.copy(module)
    dict.update(made, parts)
    return made


def no_scale(head_width: int) -> float:
    """For queries that are scaled already."""
    return 1.0


def _head(model: LanguageModel | Translator) -> Linear:
    weight = mx.contiguous(model.embedding.weight.T) if model.config.tied else model.head.weight
    return Linear.of(weight, model.get("head_bias"))
