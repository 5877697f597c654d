"""The counts of a launch are those that can be worked out by hand, with either compiler."""

from __future__ import annotations

import mlx.core as mx
import pytest

from mlxdecoder.kernels.emulator import Traffic, Work
from tests.kernels.emulator.small import LOCAL, NUMBERS, POSITION, call, kernel, needs_compiler

pytestmark = needs_compiler

BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);\n"


def work(source: str, *inputs: mx.array, **options: object) -> Work:
    made = kernel(source)
    call(made, *inputs, **options)
    assert made.work is not None
    return made.work


def test_each_element_that_is_read_and_written_counts_once() -> None:
    counted = work(POSITION + "o[i] = a[i] + a[i + 64];", mx.zeros(128))
    assert counted.device == {"a": Traffic(2 * 64 * 4, 0), "o": Traffic(0, 64 * 4)}
    assert (counted.device_bytes_read, counted.device_bytes_written, counted.device_bytes) == (512, 256, 768)
    assert (counted.threadgroups, counted.threads) == (1, 64)


@pytest.mark.parametrize(("dtype", "bytes_each"), [(mx.float16, 2), (mx.bfloat16, 2), (mx.uint8, 1), (mx.int64, 8)])
def test_narrow_types_move_fewer_bytes(dtype: mx.Dtype, bytes_each: int) -> None:
    counted = work(POSITION + "o[i] = a[i];", NUMBERS.astype(dtype), output_dtypes=[dtype])
    assert (counted.device_bytes_read, counted.device_bytes_written) == (64 * bytes_each, 64 * bytes_each)


def test_what_only_one_order_of_the_threads_did_is_not_counted_twice() -> None:
    counted = work(POSITION + "o[i] = a[i];", mx.zeros(70), threads=70, group=32)
    assert (counted.threadgroups, counted.threads) == (3, 70)


def test_shapes_and_scalars_are_told_from_data() -> None:
    made = kernel(POSITION + "o[i] = a[i] * b + a_shape[0];", ["a", "b"])
    call(made, NUMBERS, 2.0)
    assert made.work is not None
    assert made.work.constant == {"b": Traffic(64 * 4, 0), "a_shape": Traffic(64 * 4, 0)}
    assert made.work.device_bytes_read == 64 * 4


def test_threadgroup_memory_is_counted_by_array() -> None:
    counted = work(
        LOCAL
        + "threadgroup float t[64];\nthreadgroup half u[10];\nt[l] = a[l];\nif (l < 10) u[l] = 1;\n"
        + BARRIER
        + "o[l] = t[l ^ 1] + t[l ^ 2];"
    )
    assert counted.threadgroup == {"t": Traffic(2 * 64 * 4, 64 * 4), "u": Traffic(0, 10 * 2)}
    assert counted.threadgroup_bytes == 64 * 4 + 32
    assert (counted.threadgroup_bytes_read, counted.threadgroup_bytes_written) == (512, 276)


def test_barriers_and_simd_operations_count_once_a_group() -> None:
    counted = work(
        LOCAL
        + BARRIER * 3
        + "simdgroup_barrier(mem_flags::mem_none);\n"
        + "o[thread_position_in_grid.x] = simd_sum(a[l]) + simd_max(a[l]) + simd_shuffle_xor(a[l], 1);",
        mx.zeros(128),
        threads=128,
        group=64,
    )
    assert counted.threadgroup_barriers == 2 * 3
    assert counted.threadgroup_barrier_calls == 128 * 3
    assert counted.simdgroup_barriers == 4
    assert counted.simd_operations == 4 * 3


def test_matrix_operations_count_once_a_simdgroup() -> None:
    counted = work(
        """
        simdgroup_float8x8 m;
        simdgroup_load(m, a, 8);
        simdgroup_multiply(m, m, m);
        simdgroup_multiply_accumulate(m, m, m, m);
        simdgroup_store(m, o, 8);
        """,
        threads=32,
        group=32,
        output_shapes=[(64,)],
    )
    assert (counted.matrix_multiplies, counted.matrix_moves, counted.simd_operations) == (2, 2, 0)
    assert counted.device == {"a": Traffic(64 * 4, 0), "o": Traffic(0, 64 * 4)}


def test_an_atomic_update_is_a_read_and_a_write() -> None:
    made = kernel("atomic_fetch_add_explicit(o, 1, memory_order_relaxed);", atomic_outputs=True)
    call(made, output_shapes=[(1,)], output_dtypes=[mx.int32], init_value=0)
    assert made.work is not None
    assert made.work.device["o"] == Traffic(64 * 4, 64 * 4)
