"""Attention by the kernels: forward, backward and decoding, as one function that can be differentiated."""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx

from mlxdecoder.kernels import mode, plan, watching
from mlxdecoder.kernels.arguments import Arguments, arguments
from mlxdecoder.kernels.launch import Output, launch
from mlxdecoder.kernels.mode import Place
from mlxdecoder.kernels.shapes import MOST_DECODED, Shape
from mlxdecoder.kernels.structure import Structure

Pair = tuple[mx.array, mx.array]


def serve(query: mx.array, key: mx.array, value: mx.array) -> bool:
    """Whether kernels run here, and can take these operands."""
    alike = query.dtype == key.dtype == value.dtype
    return mode.where() != "off" and alike and Shape.of(query, key, value).obstacle is None


def attend(query: mx.array, key: mx.array, value: mx.array, structure: Structure, scale: float) -> Pair:
    """The output [B, H, T, dv] and the log-sum-exp of the scores [B, H, T] in float32, unchecked.

    Gradients go to queries, keys, values and the additive array, from both. A row that sees nothing gives 0 and -inf.
    """
    common = arguments(Shape.of(query, key, value), structure, scale)

    @mx.custom_function
    def differentiable(query: mx.array, key: mx.array, value: mx.array, bias: mx.array) -> Pair:
        given = common.also(query=query, key=key, value=value, bias=bias)
        return decode(given) if common.shape.T <= MOST_DECODED else forward(given)

    @differentiable.vjp
    def gradients(primals: Sequence[mx.array], cotangents: Sequence[mx.array], outputs: Sequence[mx.array]) -> object:
        query, key, value, bias = primals
        output, lse = outputs
        # The log-sum-exp's own gradient is the weights, so what comes back to it is subtracted like delta.
        delta = (cotangents[0].astype(mx.float32) * output.astype(mx.float32)).sum(-1) - cotangents[1]  # [B, H, T]
        given = common.also(query=query, key=key, value=value, bias=bias)
        given = given.also(cotangent=cotangents[0].astype(query.dtype), lse=lse, delta=delta)
        of_bias = _of_bias(given, value, cotangents[0], delta) if structure.bias is not None else mx.zeros_like(bias)
        return backward_query(given), *backward_key(given), of_bias

    bias = common.inputs["bias"]
    assert isinstance(bias, mx.array)
    result: Pair = differentiable(query, key, value, bias)
    return result


def weights(query: mx.array, key: mx.array, lse: mx.array, structure: Structure, scale: float) -> mx.array:
    """The weights of every head and row [B, H, T, S] in float32, made again from the log-sum-exp, unchecked.

    Gradients go to queries, keys, the log-sum-exp and the additive array, in plain MLX.
    """
    shape = Shape.of(query, key, key)
    common = arguments(shape, structure, scale)

    @mx.custom_function
    def differentiable(query: mx.array, key: mx.array, lse: mx.array, bias: mx.array) -> mx.array:
        given = common.also(query=query, key=key, lse=lse, bias=bias)
        return watching.weights(given, range(shape.H), range(shape.T))

    @differentiable.vjp
    def gradients(primals: Sequence[mx.array], cotangent: mx.array, made: mx.array) -> object:
        query, key, _, bias = primals
        of_scores = made * cotangent.astype(mx.float32)  # [B, H, T, S]
        by_group = of_scores.reshape(shape.B, shape.Hkv, shape.n_sharing * shape.T, shape.S)
        queries = query.astype(mx.float32).reshape(shape.B, shape.Hkv, shape.n_sharing * shape.T, shape.dk)
        of_query = scale * (by_group @ key.astype(mx.float32)).reshape(query.shape)
        of_key = scale * (by_group.swapaxes(-1, -2) @ queries)
        of_bias = _as_wide(of_scores, bias, shape) if structure.bias is not None else mx.zeros_like(bias)
        return of_query.astype(query.dtype), of_key.astype(key.dtype), -of_scores.sum(-1), of_bias

    bias = common.inputs["bias"]
    assert isinstance(bias, mx.array)
    result: mx.array = differentiable(query, key, lse, bias)
    return result


def forward(given: Arguments) -> Pair:
    """Any number of queries."""
    output, lse = given.launch(plan.forward(given.shape), _outputs(given.shape, (), given.shape.dtype))
    return output, lse


def backward_query(given: Arguments) -> mx.array:
    """The gradient of the queries."""
    shape = given.shape
    outputs = {"query_gradient": Output((shape.B, shape.H, shape.T, shape.dk), shape.dtype)}
    (gradient,) = given.launch(plan.backward_query(shape), outputs)
    return gradient


def backward_key(given: Arguments) -> Pair:
    """The gradients of keys and values."""
    shape = given.shape
    outputs = {
        "key_gradient": Output((shape.B, shape.Hkv, shape.S, shape.dk), shape.dtype),
        "value_gradient": Output((shape.B, shape.Hkv, shape.S, shape.dv), shape.dtype),
    }
    of_key, of_value = given.launch(plan.backward_key(shape), outputs)
    return of_key, of_value


def decode(given: Arguments) -> Pair:
    """A few queries over many keys."""
    shape, step = given.shape, plan.decode(given.shape)
    splits = step.groups.count[0]
    dtype = shape.dtype if splits == 1 else mx.float32
    output, lse = given.launch(step, _outputs(shape, (splits,), dtype), Output=dtype)
    if splits == 1:
        return output[0], lse[0]
    return combine(shape, output, lse, given.place)


def combine(shape: Shape, output: mx.array, lse: mx.array, place: Place) -> Pair:
    """Put splits of the keys together: outputs [splits, B, H, T, dv] and their log-sum-exps."""
    step = plan.combine(shape, len(output))
    inputs = {"split_output": output, "split_lse": lse}
    template = {"Element": shape.dtype, **step.sizes}
    output, lse = launch("combine", inputs, _outputs(shape, (), shape.dtype), template, step.groups, place)
    return output, lse


def _outputs(shape: Shape, splits: tuple[int, ...], dtype: mx.Dtype) -> dict[str, Output]:
    rows = (*splits, shape.B, shape.H, shape.T)
    return {"output": Output((*rows, shape.dv), dtype), "lse": Output(rows, mx.float32)}


def _of_bias(given: Arguments, value: mx.array, cotangent: mx.array, delta: mx.array) -> mx.array:
    """The gradient of an additive array, as large as the scores; lazy, so it costs nothing where nobody asks for it."""
    shape = given.shape
    made = watching.weights(given, range(shape.H), range(shape.T))  # [B, H, T, S]
    shared = mx.repeat(value, shape.n_sharing, axis=1).astype(mx.float32)  # [B, H, S, dv]
    slopes = cotangent.astype(mx.float32) @ shared.swapaxes(-1, -2)
    bias = given.inputs["bias"]
    assert isinstance(bias, mx.array)
    # A weight of nothing brings nothing, whatever the slope.
    return _as_wide(mx.where(made == 0, 0, made * (slopes - delta[..., None])), bias, shape)


def _as_wide(gradient: mx.array, bias: mx.array, shape: Shape) -> mx.array:
    """The gradient for an additive array that was made longer to have eight elements."""
    return mx.pad(gradient, [(0, len(bias) - shape.B)] + [(0, 0)] * 3)
