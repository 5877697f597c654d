"""Arrays between MLX, NumPy and guarded memory: element types, and strided views with what they leave out."""

from __future__ import annotations

from dataclasses import dataclass

import mlx.core as mx
import numpy as np
from numpy.lib.stride_tricks import as_strided

NUMPY = {
    mx.bool_: np.dtype(np.bool_),
    mx.uint8: np.dtype(np.uint8),
    mx.uint16: np.dtype(np.uint16),
    mx.uint32: np.dtype(np.uint32),
    mx.uint64: np.dtype(np.uint64),
    mx.int8: np.dtype(np.int8),
    mx.int16: np.dtype(np.int16),
    mx.int32: np.dtype(np.int32),
    mx.int64: np.dtype(np.int64),
    mx.float16: np.dtype(np.float16),
    mx.bfloat16: np.dtype(np.uint16),
    mx.float32: np.dtype(np.float32),
    mx.complex64: np.dtype(np.complex64),
}
"""How each type of MLX lies in memory; NumPy has no bfloat16 and keeps its bits."""


@dataclass(frozen=True)
class Strided:
    """An array as it lies in memory.

    Args:
        memory: all elements from the lowest to the highest that the view has, in one dimension.
        origin: the index of the view's first element in it, which is not 0 where a stride is negative.
        strides: in elements.
        covered: which elements of the memory the view has; None for all of them.
    """

    memory: np.ndarray
    origin: int
    strides: tuple[int, ...]
    covered: np.ndarray | None = None


def to_numpy(array: mx.array) -> np.ndarray:
    """An evaluated array's elements, with MLX's own strides; bfloat16 as its bits."""
    bits = array.view(mx.uint16) if array.dtype == mx.bfloat16 else array
    mx.eval(bits)
    return np.asarray(bits)


def to_mlx(array: np.ndarray, dtype: mx.Dtype) -> mx.array:
    """The array in MLX."""
    made = mx.array(array)
    return made.view(mx.bfloat16) if dtype == mx.bfloat16 else made


def contiguous(array: np.ndarray) -> Strided:
    """The array row by row, as `ensure_row_contiguous` asks for."""
    rows = np.array(array, order="C", copy=None)
    return Strided(rows.reshape(-1), 0, tuple(stride // rows.itemsize for stride in rows.strides))


def strided(array: np.ndarray) -> Strided:
    """The array with its own strides; elements between those of the view have all bits set, which is NaN."""
    if array.size == 0 or array.flags.c_contiguous:
        return contiguous(array)
    strides = tuple(stride // array.itemsize for stride in array.strides)
    steps = [(width - 1) * stride for width, stride in zip(array.shape, strides, strict=True)]
    origin = -sum(step for step in steps if step < 0)
    length = origin + sum(step for step in steps if step > 0) + 1
    memory, covered = all_bits_set(length, array.dtype), np.zeros(length, np.bool_)
    _view(memory, origin, array.shape, strides)[...] = array
    _view(covered, origin, array.shape, strides)[...] = True
    return Strided(memory, origin, strides, None if covered.all() else covered)


def all_bits_set(length: int, dtype: np.dtype) -> np.ndarray:
    """Memory in which every floating type reads NaN."""
    return np.full(length * dtype.itemsize, 0xFF, np.uint8).view(dtype)


def _view(memory: np.ndarray, origin: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    return as_strided(memory[origin:], shape, [stride * memory.itemsize for stride in strides])
