"""The one switch between the back ends: what plain MLX does slowly on a Linux processor is done otherwise there."""

from __future__ import annotations

import math
import os
import platform
import threading
from collections.abc import Sequence
from functools import lru_cache

import mlx.core as mx
import numpy as np

ON_METAL = mx.metal.is_available()

# Two streams are only fed at the same time when MLX walks the graph in breadth; it reads this at its first evaluation.
os.environ.setdefault("MLX_BFS_MAX_WIDTH", "1000")

# MLX's x86 build computes one element at a time, and exp at 2.5 times the cost of a power; NumPy computes sixteen.
_SCALAR = platform.system() == "Linux" and platform.machine() == "x86_64"

_of_thread = threading.local()


def exp(x: mx.array) -> mx.array:
    """e to the x, for forward passes that bring their own gradient."""
    return mx.power(mx.array(math.e, x.dtype), x) if _SCALAR else mx.exp(x)


def softmax(scores: mx.array) -> mx.array:
    """Softmax over the last axis, of scores that are all there."""
    one_node = ON_METAL or scores.shape[-2] == 1  # for a single query, the number of nodes is what costs
    return mx.softmax(scores, axis=-1) if one_node else masked_softmax(scores)


@mx.custom_function
def masked_softmax(scores: mx.array) -> mx.array:
    """Softmax over the last axis in which -inf means "not there"; a row of nothing but -inf gives zeros.

    The gradient of such a row is zero too. Scores are [..., S] of any float type; large ones do not overflow.
    """
    limits = mx.finfo(scores.dtype)
    top = mx.maximum(scores.max(axis=-1, keepdims=True), limits.min)  # finite, so that -inf - top stays -inf
    raised = exp(scores - top)
    total = raised.sum(axis=-1, keepdims=True)  # at least 1, or 0 for an empty row
    return raised / mx.maximum(total, 1.0)


@masked_softmax.vjp
def _masked_softmax_vjp(scores: mx.array, cotangent: mx.array, weights: mx.array) -> mx.array:
    weighted = weights * cotangent
    return weighted - weights * weighted.sum(axis=-1, keepdims=True)


def layer_norm(x: mx.array, weight: mx.array | None, bias: mx.array | None, epsilon: float) -> mx.array:
    """Features [..., d] less their mean, divided by their standard deviation, times a gain, plus a bias."""
    if ON_METAL:
        return mx.fast.layer_norm(x, weight, bias, epsilon)
    wide = x.astype(mx.float32)
    made = _by_root_mean_square(wide - wide @ _averaging(x.shape[-1]), epsilon)
    made = made if weight is None else made * weight
    return (made if bias is None else made + bias).astype(x.dtype)


def rms_norm(x: mx.array, weight: mx.array | None, epsilon: float) -> mx.array:
    """Features [..., d] divided by the root of their mean square, times a gain."""
    if ON_METAL:
        return mx.fast.rms_norm(x, weight, epsilon)
    made = _by_root_mean_square(x.astype(mx.float32), epsilon)
    return (made if weight is None else made * weight).astype(x.dtype)


def _by_root_mean_square(x: mx.array, epsilon: float) -> mx.array:
    """In few operations, which is what a single token costs; means of many tokens bring their own gradient."""
    average, small = _averaging(x.shape[-1]), _scalar(epsilon)
    if x.shape[-2] == 1:
        return x * _rate(x, average, small)
    made, _ = _scaled(x, average, small)
    return made


def _rate(x: mx.array, average: mx.array, small: mx.array) -> mx.array:
    return mx.rsqrt(mx.addmm(small, mx.square(x), average))  # [..., 1]


@mx.custom_function
def _scaled(x: mx.array, average: mx.array, small: mx.array) -> tuple[mx.array, mx.array]:
    rate = _rate(x, average, small)
    return x * rate, rate


@_scaled.vjp
def _scaled_vjp(
    primals: Sequence[mx.array], cotangents: Sequence[mx.array], outputs: Sequence[mx.array]
) -> tuple[mx.array, ...]:
    (_, average, small), (made, rate) = primals, outputs
    slope = cotangents[0]
    return rate * (slope - made * ((slope * made) @ average)), mx.zeros_like(average), mx.zeros_like(small)


@lru_cache(maxsize=8)
def _averaging(width: int) -> mx.array:
    """What features are multiplied by for their mean: one operation, where MLX's own takes three."""
    return mx.array(np.full((width, 1), 1 / width, np.float32))


@lru_cache(maxsize=8)
def _scalar(value: float) -> mx.array:
    return mx.array(np.float32(value))


def log_softmax(logits: mx.array) -> mx.array:
    """Log-probabilities of logits [..., V], in float32; those of NumPy are computed at once."""
    logits = logits.astype(mx.float32)
    if not _SCALAR:
        return logits - mx.logsumexp(logits, axis=-1, keepdims=True)
    seen = np.array(logits, copy=False)
    with np.errstate(invalid="ignore"):  # -inf less -inf
        below = seen - seen.max(axis=-1, keepdims=True)
        return mx.array(below - np.log(np.exp(below).sum(axis=-1, keepdims=True)))


def argmax(scores: mx.array) -> mx.array:
    """The place of the largest of each row [..., V]."""
    if not _SCALAR:
        return mx.argmax(scores, axis=-1)
    return mx.array(np.array(scores, copy=False).argmax(axis=-1).astype(np.uint32))


def largest(scores: mx.array, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The places and the values of the `count` largest of each row [R, V], in any order: two arrays [R, count]."""
    if not _SCALAR:
        places = mx.argpartition(-scores, kth=count - 1, axis=-1)[:, :count]
        return np.array(places), np.array(mx.take_along_axis(scores, places, axis=-1))
    left = np.array(scores)
    rows, found = np.arange(len(left)), []
    for _ in range(count):
        best = left.argmax(axis=-1)
        found.append((best, left[rows, best]))
        left[rows, best] = -np.inf
    places, values = zip(*found, strict=True)
    return np.stack(places, axis=-1), np.stack(values, axis=-1)


def gradient_streams() -> list[mx.Stream]:
    """The streams that share the gradient of a batch: two on a processor, whose operations run on one core each.

    A stream can be used only in the thread that made it, so each thread has its own.
    """
    if ON_METAL:
        return [mx.default_stream(mx.gpu)]
    if not hasattr(_of_thread, "streams"):
        _of_thread.streams = [mx.new_stream(mx.cpu), mx.new_stream(mx.cpu)]
    streams: list[mx.Stream] = _of_thread.streams
    return streams


def random_bytes(shape: tuple[int, ...]) -> mx.array:
    """Bytes of that shape, drawn by `mx.random`: eight from each key, where a float would use up half of one."""
    count = math.prod(shape)
    key = mx.random.randint(0, 2**31 - 1, (2,)).astype(mx.uint32)
    return mx.view(mx.random.split(key, -(-count // 8)), mx.uint8).reshape(-1)[:count].reshape(shape)
