"""The one switch between the back ends: what plain MLX does slowly on a Linux processor is done otherwise there."""

from __future__ import annotations

import math
import os
import platform
import threading

import mlx.core as mx

ON_METAL = mx.metal.is_available()

# Two streams are only fed at the same time when MLX walks the graph in breadth; it reads this at its first evaluation.
os.environ.setdefault("MLX_BFS_MAX_WIDTH", "1000")

# MLX's x86 build computes exp one element at a time, at 2.5 times the cost of a power.
_POWER_IS_FASTER = platform.system() == "Linux" and platform.machine() == "x86_64"

_of_thread = threading.local()


def exp(x: mx.array) -> mx.array:
    """e to the x, for forward passes that bring their own gradient."""
    return mx.power(mx.array(math.e, x.dtype), x) if _POWER_IS_FASTER else mx.exp(x)


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
