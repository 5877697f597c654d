"""The stand-in for `mx.fast.metal_kernel`: arrays, types, strides, grids and templates mean what they mean in MLX."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder.kernels.emulator import EmulatorError, metal_kernel
from tests.kernels.emulator.small import LOCAL, NUMBERS, POSITION, call, kernel, needs_compiler, run

pytestmark = needs_compiler

COPY = kernel(POSITION + "o[i] = a[elem_to_loc(long(i), a_shape, a_strides, a_ndim)];", ensure_row_contiguous=False)


def copied(array: mx.array) -> np.ndarray:
    return np.array(
        COPY(
            inputs=[array],
            output_shapes=[array.shape],
            output_dtypes=[array.dtype],
            grid=(array.size, 1, 1),
            threadgroup=(32, 1, 1),
        )[0].astype(mx.float32)
    )


@pytest.mark.parametrize("checks", [True, False])
def test_each_thread_computes_its_element(checks: bool) -> None:
    assert np.array_equal(call(kernel(POSITION + "o[i] = a[i] * 2 + 1;", checks=checks)), np.arange(64) * 2 + 1)


def test_groups_at_the_ragged_edge_are_smaller() -> None:
    source = POSITION + "o[i] = threads_per_threadgroup.x * 1000 + threadgroup_position_in_grid.x;"
    assert run(source, threads=70, group=32).tolist() == [32000] * 32 + [32001] * 32 + [6002] * 6


def test_a_grid_has_three_axes() -> None:
    source = """
    uint3 p = thread_position_in_grid;
    uint3 n = threads_per_grid;
    o[(p.z * n.y + p.y) * n.x + p.x] = p.x + 10 * p.y + 100 * p.z;
    """
    made = metal_kernel("axes", [], ["o"], source)
    shape = (3, 4, 5)
    grid, group = (5, 4, 3), (2, 3, 2)
    found = made(inputs=[], output_shapes=[shape], output_dtypes=[mx.int32], grid=grid, threadgroup=group)[0]
    z, y, x = np.indices(shape)
    assert np.array_equal(found, x + 10 * y + 100 * z)


@pytest.mark.parametrize(
    "dtype", [mx.bool_, mx.uint8, mx.int8, mx.uint16, mx.int16, mx.uint32, mx.int32, mx.uint64, mx.int64]
)
def test_whole_numbers_of_every_type_come_back(dtype: mx.Dtype) -> None:
    numbers = mx.array([0, 1, 1, 0, 1, 1, 1, 0, 1]).astype(dtype)
    found = call(kernel(POSITION + "o[i] = a[i];"), numbers, threads=9, output_dtypes=[dtype])
    assert found.dtype == dtype
    assert np.array_equal(found, numbers)


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
def test_sums_round_as_their_type_does(dtype: mx.Dtype) -> None:
    numbers = mx.random.normal((2, 100), key=mx.random.key(1)).astype(dtype)
    made = kernel(POSITION + "o[i] = a[i] + a[i + 100];")
    found = call(made, numbers, threads=100, output_dtypes=[dtype])
    assert np.array_equal(found.astype(mx.float32), (numbers[0] + numbers[1]).astype(mx.float32))


def test_complex_numbers_multiply() -> None:
    numbers = mx.array([1 + 2j, -3 + 0.5j] * 4)
    found = call(kernel(POSITION + "o[i] = a[i] * a[i];"), numbers, threads=8, output_dtypes=[mx.complex64])
    assert np.allclose(found, np.array([1 + 2j, -3 + 0.5j] * 4) ** 2)


def test_python_numbers_become_scalars_of_float32_and_int32() -> None:
    source = "o[0] = a / 4; o[1] = b / 4.0; o[2] = sizeof(a) + 10 * sizeof(b);"
    found = call(kernel(source, ["a", "b"]), 7, 0.5, threads=1, output_shapes=[(3,)])
    assert found.tolist() == [1, 0.125, 44]


def test_small_inputs_arrive_as_constants() -> None:
    source = "o[0] = total(a);"
    header = "float total(const constant float* x) { return x[0] + x[1] + x[2]; }\n"
    found = call(kernel(source, header=header), mx.array([1.0, 2.0, 4.0]), threads=1)
    assert found.item() == 7


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(lambda x: x.swapaxes(0, 1), id="swapped"),
        pytest.param(lambda x: x[:, 1::3], id="sliced"),
        pytest.param(lambda x: x[::-1, ::-2], id="backwards"),
        pytest.param(lambda x: mx.broadcast_to(x[:, :1], (6, 8)), id="broadcast"),
        pytest.param(lambda x: x[2:4].swapaxes(0, 1)[1:], id="sliced and swapped"),
    ],
)
@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16])
def test_strided_inputs_keep_their_strides(view, dtype: mx.Dtype) -> None:
    array = view(mx.arange(48, dtype=mx.float32).reshape(6, 8).astype(dtype))
    assert np.array_equal(copied(array), array.astype(mx.float32))


@settings(max_examples=30)
@given(st.data())
def test_any_chain_of_views_is_read_where_it_lies(data: st.DataObject) -> None:
    array = mx.arange(3 * 4 * 5, dtype=mx.float32).reshape(3, 4, 5)
    array = array.transpose(data.draw(st.permutations(range(3))))
    steps = st.sampled_from([slice(None), slice(1, None), slice(None, None, 2), slice(None, None, -1)])
    array = array[tuple(data.draw(steps) for _ in range(3))]
    assert np.array_equal(copied(array), array)


def test_inputs_are_made_contiguous_when_asked() -> None:
    source = POSITION + "o[i] = a[i] + 1000 * a_strides[0];"
    found = call(kernel(source), mx.arange(12.0).reshape(3, 4).swapaxes(0, 1), threads=12)
    assert np.array_equal(found, np.arange(12).reshape(3, 4).T.reshape(-1) + 3000)


def test_elements_that_a_view_leaves_out_may_not_be_read() -> None:
    made = kernel(POSITION + "o[i] = a[i];", ensure_row_contiguous=False)
    with pytest.raises(EmulatorError) as caught:
        call(made, NUMBERS[::2], threads=32)
    assert caught.value.findings[0].kind == "out of bounds"
    assert "index 1," in caught.value.findings[0].message


def test_templates_take_types_numbers_and_booleans() -> None:
    source = POSITION + "o[i] = T(a[i]) / T(2) + N + (FLIP ? 100 : 0);"
    made = kernel(source)
    for dtype, number, flip in [(mx.float32, 1, True), (mx.int32, 1, False), (mx.int32, 2, True)]:
        found = np.array(call(made, template=[("T", dtype), ("N", number), ("FLIP", flip)]))
        half = np.arange(64) / 2 if dtype == mx.float32 else np.arange(64) // 2
        assert np.array_equal(found, half + number + 100 * flip)


def test_one_and_true_are_different_values_for_a_template() -> None:
    made = kernel(POSITION + "o[i] = sizeof(N);")
    assert call(made, template=[("N", 1)])[0].item() == 4
    assert call(made, template=[("N", True)])[0].item() == 1


def test_several_outputs_come_in_order() -> None:
    made = metal_kernel("two", ["a"], ["low", "high"], POSITION + "high[i] = a[i] + 100; low[i] = -a[i];")
    low, high = made(
        inputs=[NUMBERS],
        output_shapes=[(64,), (8, 8)],
        output_dtypes=[mx.float32, mx.int32],
        grid=(64, 1, 1),
        threadgroup=(64, 1, 1),
    )
    assert np.array_equal(low, -np.arange(64))
    assert np.array_equal(high, np.arange(64).reshape(8, 8) + 100)


def test_outputs_start_with_a_value_when_one_is_given() -> None:
    source = POSITION + "if (i % 2) o[i] += a[i];"
    assert np.array_equal(run(source, init_value=0.5), np.where(np.arange(64) % 2, np.arange(64) + 0.5, 0.5))


def test_atomic_outputs_count_without_a_race() -> None:
    made = kernel(POSITION + "atomic_fetch_add_explicit(&o[a[i]], 1, memory_order_relaxed);", atomic_outputs=True)
    numbers = np.random.default_rng(0).integers(0, 10, 1000)
    found = call(
        made,
        mx.array(numbers.astype(np.int32)),
        threads=1000,
        group=256,
        output_shapes=[(10,)],
        output_dtypes=[mx.int32],
        init_value=0,
    )
    assert np.array_equal(found, np.bincount(numbers, minlength=10))


def test_gradients_pass_through_a_custom_function() -> None:
    made = kernel(POSITION + "o[i] = metal::exp(a[i]);")

    @mx.custom_function
    def exponential(x: mx.array) -> mx.array:
        return call(made, x)

    @exponential.vjp
    def exponential_vjp(primal: mx.array, cotangent: mx.array, output: mx.array) -> mx.array:
        return cotangent * output

    x = mx.linspace(-1, 1, 64)
    assert np.allclose(mx.grad(lambda x: exponential(x).sum())(x), np.exp(np.array(x)), rtol=1e-6)


def test_the_text_that_mlx_generates_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    call(kernel(POSITION + "o[i] = a[i];"), verbose=True)
    assert "[[kernel]] void custom_kernel_small" in capsys.readouterr().out


def test_a_header_without_a_line_end_runs_into_the_signature_as_in_mlx() -> None:
    with pytest.raises((RuntimeError, ValueError)):
        run(POSITION + "o[i] = a[i];", header="// a comment that swallows what follows")
    assert run(POSITION + "o[i] = TWICE(a[i]);", header="#define TWICE(x) (2 * (x))\n")[5] == 10


def test_mlx_refuses_what_it_refuses_elsewhere() -> None:
    with pytest.raises(ValueError, match="inputs"):
        call(kernel("o[0] = a[0];"), NUMBERS, NUMBERS)


def test_an_unchecked_kernel_survives_a_wild_access() -> None:
    made = kernel(POSITION + "o[i] = a[i + 100000000];", checks=False)
    for _ in range(2):
        with pytest.raises(EmulatorError, match="out of bounds"):
            call(made)
    assert made.work is None


def test_barriers_work_without_checks() -> None:
    source = (
        LOCAL
        + """
    threadgroup float turned[64];
    turned[63 - l] = a[l];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    o[l] = turned[l] + simd_sum(1.0f);
    """
    )
    assert np.array_equal(call(kernel(source, checks=False)), np.arange(64)[::-1] + 32)
