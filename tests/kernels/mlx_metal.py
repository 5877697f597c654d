"""MLX's own kernels in the emulator: how one is launched, and the softmax and matrix product.

Which kernel takes which shape, its template arguments, function constants, buffers and grid were read in MLX's sources,
here in mlx/backend/metal/softmax.cpp and matmul.cpp. Chips are named as there, by the last letter of their
architecture: "p" in a phone, "g" in the base models and Pro, "s" in Max, "d" in Ultra. What chips with matrix units in
their GPU ("NAX", since M5) take instead is not here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import mlx.core as mx
import numpy as np

from mlxdecoder.kernels.emulator.arrays import NUMPY, to_mlx, to_numpy
from mlxdecoder.kernels.emulator.program import Buffer, Program
from mlxdecoder.kernels.emulator.work import Work
from tests.kernels import mlx_headers

Triple = tuple[int, int, int]
Input = mx.array | np.ndarray | np.generic

TYPES = {mx.float32: "float", mx.float16: "float16_t", mx.bfloat16: "bfloat16_t", mx.bool_: "bool"}
SOFTMAX = ("utils.h", "softmax.h")
PRODUCT = ("utils.h", "steel/gemm/gemm.h", "steel/gemm/kernels/steel_gemm_fused.h")

PRODUCT_PARAMETERS = np.dtype(
    [
        *((name, "i4") for name in ("M", "N", "K", "lda", "ldb", "ldd", "tiles_n", "tiles_m")),
        *((name, "i8") for name in ("batch_stride_a", "batch_stride_b", "batch_stride_d")),
        *((name, "i4") for name in ("swizzle_log", "gemm_k_iterations_aligned", "batch_ndim")),
    ],
    align=True,
)


@dataclass(frozen=True)
class Launch:
    """One dispatch of one kernel.

    Args:
        headers: the headers in MLX's kernel folder that define it.
        kernel: its name.
        arguments: its template arguments.
        inputs: its inputs by buffer index; a parameter is a NumPy scalar, or an array of its bytes.
        outputs: the shapes and types of its outputs by buffer index.
        groups: how many threadgroups there are along three axes.
        threads: how many threads a threadgroup has along three axes.
        constants: its function constants by index.
    """

    headers: tuple[str, ...]
    kernel: str
    arguments: str
    inputs: Mapping[int, Input]
    outputs: Mapping[int, tuple[tuple[int, ...], mx.Dtype]]
    groups: Triple
    threads: Triple
    constants: Mapping[int, bool | int] = field(default_factory=dict)


def run(launch: Launch) -> tuple[list[mx.array], Work]:
    """Run a launch in the emulator with all checks: its outputs in order, and the work it did.

    Raises `EmulatorError` if anything is wrong with the kernel, `NotThere` if the headers were not fetched.
    """
    program = _program(launch.headers, launch.kernel, launch.arguments, tuple(sorted(launch.constants.items())))
    result = program.run(
        [_buffer(launch, index) for index in range(max(*launch.inputs, *launch.outputs) + 1)],
        grid=[groups * threads for groups, threads in zip(launch.groups, launch.threads, strict=True)],
        threadgroup=launch.threads,
    )
    outputs = [to_mlx(result.outputs[str(index)], dtype) for index, (_, dtype) in sorted(launch.outputs.items())]
    return outputs, result.work


@cache
def _program(
    headers: tuple[str, ...], kernel: str, arguments: str, constants: tuple[tuple[int, bool | int], ...]
) -> Program:
    text = mlx_headers.library(*headers)
    return Program(text, kernel, template_arguments=arguments, function_constants=dict(constants))


def _buffer(launch: Launch, index: int) -> Buffer | None:
    if index in launch.outputs:
        shape, dtype = launch.outputs[index]
        return Buffer(str(index), np.zeros(shape, NUMPY[dtype]), output=True, bfloat16=dtype == mx.bfloat16)
    given = launch.inputs.get(index)
    if given is None:
        return None
    return Buffer(str(index), to_numpy(given) if isinstance(given, mx.array) else np.atleast_1d(given))


def softmax(scores: mx.array) -> Launch:
    """Over the last axis, up to 4,096 long, in float32: a threadgroup a row, four elements a thread."""
    width = scores.shape[-1]
    simdgroups = math.ceil(math.ceil(width / 4) / 32)
    return Launch(
        headers=SOFTMAX,
        kernel="softmax_single_row",
        arguments=f"{TYPES[scores.dtype]}, float",
        inputs={0: scores, 2: np.int32(width)},
        outputs={1: (scores.shape, scores.dtype)},
        groups=(scores.size // width, 1, 1),
        threads=(32 * simdgroups, 1, 1),
    )


def product(a: mx.array, b: mx.array, b_is_transposed: bool, chip: str) -> Launch:
    """a [n, M, K] times b, [n, K, N] or given as [n, N, K], of half types with n > 1 and n M N below 2^20."""
    n, M, K = a.shape
    N = b.shape[1 if b_is_transposed else 2]
    rows, columns, depth, row_groups, column_groups = _product_tile(b_is_transposed, chip)
    n_rows, n_columns = math.ceil(M / rows), math.ceil(N / columns)
    parameters = (M, N, K, K, b.shape[2], N, n_columns, n_rows, M * K, N * K, M * N, 0, K // depth, 1)
    transposed = str(b_is_transposed).lower()
    return Launch(
        headers=PRODUCT,
        kernel="gemm",
        arguments=f"{TYPES[a.dtype]}, {rows}, {columns}, {depth}, {row_groups}, {column_groups}, false, {transposed}",
        # Metal leaves buffer 5 away: the kernel takes addresses in it, and reads it for C += A B alone.
        inputs={0: a, 1: b, 4: bytes_of(PRODUCT_PARAMETERS, parameters), 5: np.zeros(24, np.uint8)},
        outputs={3: ((n, M, N), a.dtype)},
        groups=(n_columns, n_rows, n),
        threads=(32, column_groups, row_groups),
        constants={
            **{10: False, 100: False, 110: False},
            **{200: M % rows == 0, 201: N % columns == 0, 202: K % depth == 0},
        },
    )


def _product_tile(b_is_transposed: bool, chip: str) -> tuple[int, int, int, int, int]:
    """Rows, columns and depth of the tile of a product of half types, and simdgroups down and across."""
    if chip == "s":
        return 64, 64, 16, 2, 2
    return (64, 32, 32, 2, 2) if b_is_transposed else (64, 64, 16, 1, 2)


def bytes_of(layout: np.dtype, values: tuple[object, ...]) -> np.ndarray:
    return np.array(values, layout).reshape(1).view(np.uint8)
