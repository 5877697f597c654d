"""Small kernels for the tests of the emulator: one input `a`, one output `o`, one line of threads."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder.kernels.emulator import EmulatedKernel, available, metal_kernel

needs_compiler = pytest.mark.skipif(available() is not None, reason=available() or "")

NUMBERS = mx.arange(64, dtype=mx.float32)
POSITION = "uint i = thread_position_in_grid.x;\n"
LOCAL = "uint l = thread_index_in_threadgroup;\n"


def kernel(source: str, inputs: list[str] | None = None, **options: Any) -> EmulatedKernel:
    """A kernel with inputs `a`, or those named, and the output `o`."""
    return metal_kernel("small", ["a"] if inputs is None else inputs, ["o"], source, **options)


def call(made: EmulatedKernel, *inputs: Any, threads: int = 64, group: int = 64, **options: Any) -> mx.array:
    """The output of a kernel for these inputs, or for 0 to 63: as many float32 as there are threads, if not said."""
    arguments = {
        "inputs": list(inputs) or [NUMBERS],
        "output_shapes": [(threads,)],
        "output_dtypes": [mx.float32],
        "grid": (threads, 1, 1),
        "threadgroup": (group, 1, 1),
    }
    return made(**(arguments | options))[0]


def run(source: str, *inputs: Any, header: str = "", **options: Any) -> np.ndarray:
    """The output of a source, in NumPy."""
    return np.array(call(kernel(source, header=header), *inputs, **options))
