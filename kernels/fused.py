"""The public door of the kernels: attention, its log-sum-exp, its weights, and what these add up to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import mlx.core as mx
import numpy as np

from mlxdecoder.errors import UserError
from mlxdecoder.kernels import mode, shapes, watching
from mlxdecoder.kernels.arguments import Arguments, arguments
from mlxdecoder.kernels.attention import attend
from mlxdecoder.kernels.shapes import Shape
from mlxdecoder.kernels.structure import Structure, structure_of
from mlxdecoder.masks import Mask

AnyMask: TypeAlias = Mask | Structure | mx.array | None


def attention_with_lse(
    query: mx.array, key: mx.array, value: mx.array, mask: AnyMask = None, *, scale: float | None = None
) -> tuple[mx.array, mx.array]:
    """Softmax(scale q k^T) v over the keys that the mask allows, and the log-sum-exp of the scaled scores.

    `query` [B, H, T, dk], `key` [B, Hkv, S, dk], `value` [B, Hkv, S, dv], all of one float type; `scale` is
    1 / sqrt(dk) if not given. `mask` is a value, or an array of rank 4 that broadcasts to [B, H, T, S]: boolean,
    True = may attend, or float, added to the scores. Gives [B, H, T, dv], and [B, H, T] in float32; both can be
    differentiated, once and in reverse. Rows that see nothing give zeros and -inf. Raises `UserError` for what does not
    fit, and where there is nothing to run kernels on.
    Dao 2023, https://arxiv.org/abs/2307.08691.
    """
    shape = _check(query, key, value)
    return attend(query, key, value, _understood(mask, shape), _scale(scale, shape))


def attention_weights(
    query: mx.array,
    key: mx.array,
    lse: mx.array,
    heads: Sequence[int] | None = None,
    rows: Sequence[int] | None = None,
    mask: AnyMask = None,
    *,
    scale: float | None = None,
) -> mx.array:
    """The weights of some heads and rows, all if not given, made again from the log-sum-exp.

    The arguments are those of `attention_with_lse`, and what it gave. Gives [B, heads, rows, S] in float32. Raises
    `UserError` for what does not fit.
    """
    shape, given = _watched(query, key, lse, mask, scale)
    return watching.weights(given, *_chosen(shape, heads, rows))


def attention_mass(
    query: mx.array,
    key: mx.array,
    lse: mx.array,
    intended: AnyMask,
    heads: Sequence[int] | None = None,
    rows: Sequence[int] | None = None,
    mask: AnyMask = None,
    *,
    scale: float | None = None,
) -> tuple[mx.array, mx.array]:
    """The sums of the weights of some heads and rows, and what of them lies outside the `intended` mask.

    Both [B, heads, rows] in float32; no weight is written. The other arguments are those of `attention_weights`; an
    intended mask that is an array is boolean. Raises `UserError` for what does not fit.
    """
    shape, given = _watched(query, key, lse, mask, scale)
    meant = _understood(intended, shape)
    if meant.bias is not None:
        raise UserError("intended: an additive array found, a mask value or a boolean array wanted.")
    return watching.mass(given, meant, *_chosen(shape, heads, rows))


def _check(query: mx.array, key: mx.array, value: mx.array) -> Shape:
    if mode.where() == "off":
        raise UserError(f'kernels: there is no Metal here; {mode.VARIABLE}="emulate" runs them on the processor.')
    return shapes.check(query, key, value)


def _understood(mask: AnyMask, shape: Shape) -> Structure:
    if mask is None:
        return Structure()
    if isinstance(mask, Structure):
        return mask
    if isinstance(mask, Mask):
        first = mask.first_query(shape.T, shape.S)
        return structure_of(mask, np.arange(first, first + shape.T), np.arange(shape.S))
    return Structure(allowed=mask) if mask.dtype == mx.bool_ else Structure(bias=_additive(mask))


def _additive(mask: mx.array) -> mx.array:
    if not mx.issubdtype(mask.dtype, mx.floating):
        raise UserError(f"mask: {mask.dtype} found; boolean (True = may attend) or float (added to the scores) wanted.")
    return mask


def _scale(scale: float | None, shape: Shape) -> float:
    return float(shape.dk**-0.5) if scale is None else float(scale)


def _watched(
    query: mx.array, key: mx.array, lse: mx.array, mask: AnyMask, scale: float | None
) -> tuple[Shape, Arguments]:
    shape = _check(query, key, key)
    wanted = (shape.B, shape.H, shape.T)
    if lse.shape != wanted or lse.dtype != mx.float32:
        raise UserError(f"lse: {lse.dtype} of shape {lse.shape} found, float32 of {wanted} wanted.")
    given = arguments(shape, _understood(mask, shape), _scale(scale, shape), query=query, key=key)
    return shape, given.also(lse=mx.contiguous(lse))


def _chosen(
    shape: Shape, heads: Sequence[int] | None, rows: Sequence[int] | None
) -> tuple[Sequence[int], Sequence[int]]:
    chosen = []
    for name, given, count in (("heads", heads, shape.H), ("rows", rows, shape.T)):
        indices = range(count) if given is None else list(given)
        if not len(indices) or not all(0 <= i < count for i in indices):
            raise UserError(f"{name}: {list(indices)} found, some of 0 to {count - 1} wanted.")
        chosen.append(indices)
    return chosen[0], chosen[1]
