"""The Metal shading language: literals, vectors, half precision, functions, simdgroups and matrices against NumPy."""

from __future__ import annotations

from collections.abc import Iterable

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder.kernels.emulator import CompileError, metal_kernel
from mlxdecoder.kernels.emulator.compilers import compiler
from tests.kernels.emulator.small import LOCAL, POSITION, call, kernel, needs_compiler, run

pytestmark = needs_compiler


def values(expressions: Iterable[str], before: str = "") -> list[float]:
    """What expressions come to, as floats; all in one kernel, as each build takes its time."""
    lines = [f"o[{place}] = {expression};" for place, expression in enumerate(expressions)]
    made = metal_kernel("values", [], ["o"], "\n".join([before, *lines]))
    shape = {"output_shapes": [(len(lines),)], "grid": (1, 1, 1), "threadgroup": (1, 1, 1)}
    return made(inputs=[], output_dtypes=[mx.float32], **shape)[0].tolist()


def value(expression: str, before: str = "") -> float:
    return values([expression], before)[0]


SCALARS = {
    "sizeof(0.5)": 4,
    "sizeof(1e-3)": 4,
    "sizeof(2.)": 4,
    "sizeof(1.5h)": 2,
    "1.5bf + 0.25bf": 1.75,
    "0x1F + 0b11": 34,
    "1.0 / 3": float(np.float32(1) / np.float32(3)),
    "half(1.0) / half(3.0)": float(np.float16(1) / np.float16(3)),
    "half(2048) + half(1)": 2048,
    "half(60000.0) * half(2)": np.inf,
    "bfloat(256.0f) + bfloat(1.0f)": 256,
    "as_type<float>(0x3f800000)": 1,
    "as_type<uint>(1.0f) >> 23": 127,
    "sizeof(float3)": 16,
    "sizeof(packed_float3)": 12,
    "sizeof(half4)": 8,
    "float(uchar(257))": 1,
    "float(-7 / 2)": -3,
    "numeric_limits<int>::max() == 2147483647": 1,
    "float(numeric_limits<half>::max())": 65504,
    "metal::numeric_limits<float>::infinity()": np.inf,
    "-INFINITY": -np.inf,
    "Limits<float>::min": -np.inf,
    "float(ceildiv(10, 4))": 3,
    "metal::max(NAN, 2.0f)": 2,
    "metal::min(2.0f, NAN)": 2,
    "metal::isnan(NAN)": 1,
    "metal::exp(-INFINITY)": 0,
    "metal::fast::exp2(3.0f)": 8,
    "metal::precise::rsqrt(16.0f)": 0.25,
    "metal::pow(2.0f, 3)": 8,
    "metal::fma(2.0f, 3.0f, 4.0f)": 10,
    "metal::clamp(5, 0, 3)": 3,
    "metal::select(1.0f, 2.0f, true)": 2,
    "metal::rint(2.5f)": 2,
    "metal::sign(-3.0f)": -1,
    "metal::popcount(255u)": 8,
    "metal::clz(1u)": 31,
    "metal::clz(ushort(1))": 15,
    "metal::ctz(8u)": 3,
    "metal::abs(-3)": 3,
}
VECTORS = {
    "float4(1, 2, 3, 4).wzyx.x": 4,
    "dot(float3(1, 2, 3), float3(4, 5, 6))": 32,
    "length(float2(3, 4))": 5,
    "float4(float2(1, 2), 3, 4).z": 3,
    "float4(1, float3(2, 3, 4)).w": 4,
    "(float2(1, 2) * 3 + 1).y": 7,
    "(int4(7) % int4(4, 3, 2, 1)).x": 3,
    "all(float2(1, 2) < float2(2, 3))": 1,
    "any(int2(1, 2) == int2(3, 4))": 0,
    "max(float2(1, 5), float2(3, 4)).y": 5,
    "metal::exp2(float2(1, 3)).y": 8,
    "float2(half2(1.5h, 2)).x": 1.5,
    "v.xy.y + v.zw.x * 10": 2 + 30,
    "(v.bgr).z": 1,
    "v[2]": 3,
    "(-v).x": -1,
}


@pytest.fixture(scope="module")
def found() -> dict[str, float]:
    """The value of each of these expressions, with `v` for a vector."""
    before = "float4 v = float4(1, 2, 3, 4);"
    expressions = [*SCALARS, *VECTORS]
    return dict(zip(expressions, values(expressions, before), strict=True))


@pytest.mark.parametrize("expression", SCALARS)
def test_an_expression_has_the_value_that_metal_gives_it(expression: str, found: dict[str, float]) -> None:
    assert found[expression] == SCALARS[expression]


@pytest.mark.parametrize("expression", VECTORS)
def test_vectors_have_components_and_operators(expression: str, found: dict[str, float]) -> None:
    assert found[expression] == VECTORS[expression]


def test_chosen_components_can_be_assigned() -> None:
    before = "float4 v = 0; v.yx = float2(1, 2); v.zw += 3; v.xz *= float2(10, 2);"
    assert value("v.x + 100 * v.y + 1000 * v.z + 10000 * v.w", before=before) == 20 + 100 + 6000 + 30000


def test_a_swizzle_is_a_copy() -> None:
    assert value("s.x", before="float2 v = float2(1, 2); auto s = v.yx; v.y = 5;") == 2


@pytest.mark.parametrize(
    "expression",
    [
        "metal::max(1.0f, 1.0h)",
        "metal::max(1.0f, 1)",
        "metal::min(1u, 1)",
        "metal::exp(1)",
        "bfloat(1.0f) = 2.0f",
        "metal::pow(1.0f, 1.0h)",
        "float4(1, 2).x",
        "undeclared",
    ],
)
def test_what_metal_refuses_does_not_compile(expression: str) -> None:
    with pytest.raises(CompileError):
        value(expression)


def test_a_compile_error_quotes_the_line() -> None:
    with pytest.raises(CompileError, match=r"source line 3 `o\[i\] = wrong;`"):
        run(POSITION + "\no[i] = wrong;")


def test_constants_and_functions_of_every_address_space() -> None:
    header = """
    constant constexpr int WIDTH = 2;
    constant int LENGTH = WIDTH * 2;
    constant float TABLE[LENGTH] = {1, 2, 3, 4};
    struct Sums { float all, odd; float half_of() const thread { return all / 2; } };
    template <typename P> METAL_FUNC float first(P place) { return place[0]; }
    template <typename T, int N> void fill(threadgroup T (&tile)[N], const device T* from, thread Sums& sums) {
      for (int j = 0; j < N; ++j) { tile[j] = from[j]; sums.all += from[j]; }
    }
    """
    source = """
    threadgroup float tile[LENGTH], other[2][WIDTH];
    thread Sums sums = {0, 0};
    fill(tile, a, sums);
    other[1][0] = TABLE[3];
    o[0] = first<const device float*>(a + 5);
    o[1] = first(tile + 3);
    o[2] = sums.half_of();
    o[3] = other[1][0] + TABLE[0];
    """
    found = run(source, header=header, threads=1, group=1, output_shapes=[(4,)])
    assert found.tolist() == [5, 3, 3, 5]


def test_macros_are_translated_too() -> None:
    header = "#define HALF_OF(x) \\\n  ((x) * \\\n 0.5)\n#define SWAP(v) v.yx\n"
    assert run(POSITION + "o[i] = HALF_OF(a[i]) + SWAP(float2(1, sizeof(HALF_OF(1)))).x;", header=header)[4] == 6


SIMD = {
    "simd_sum(x)": lambda x: np.full(32, x.sum()),
    "simd_product(x * 0.1f)": lambda x: np.full(32, (x * 0.1).prod()),
    "simd_max(x)": lambda x: np.full(32, x.max()),
    "simd_min(x)": lambda x: np.full(32, x.min()),
    "simd_shuffle(x, 31 - l)": lambda x: x[::-1],
    "simd_shuffle_xor(x, 5)": lambda x: x[np.arange(32) ^ 5],
    "simd_shuffle_down(x, 3)": lambda x: np.concatenate([x[3:], x[-3:]]),
    "simd_shuffle_up(x, 3)": lambda x: np.concatenate([x[:3], x[:-3]]),
    "simd_shuffle_rotate_down(x, 3)": lambda x: np.roll(x, -3),
    "simd_shuffle_rotate_up(x, 3)": lambda x: np.roll(x, 3),
    "simd_shuffle_and_fill_down(x, -x, 3)": lambda x: np.concatenate([x[3:], -x[:3]]),
    "simd_shuffle_and_fill_up(x, -x, 3)": lambda x: np.concatenate([-x[-3:], x[:-3]]),
    "simd_broadcast(x, 7)": lambda x: np.full(32, x[7]),
    "simd_broadcast_first(x)": lambda x: np.full(32, x[0]),
    "simd_prefix_inclusive_sum(x)": np.cumsum,
    "simd_prefix_exclusive_sum(x)": lambda x: np.cumsum(x) - x,
    "simd_all(x > 0)": lambda x: np.full(32, (x > 0).all()),
    "simd_any(x > 1.9f)": lambda x: np.full(32, (x > 1.9).any()),
    "float(simd_xor(l * 7))": lambda x: np.full(32, np.bitwise_xor.reduce(np.arange(32) * 7)),
    "float(ulong(simd_ballot(l % 3 == 0)) & 255)": lambda x: np.full(32, 0b01001001),
    "simd_sum(float2(x, -x)).y": lambda x: np.full(32, -x.sum()),
}


LANES = np.random.default_rng(3).uniform(1, 2, 32).astype(np.float32)


@pytest.fixture(scope="module")
def in_lanes() -> dict[str, np.ndarray]:
    """What each of these expressions gives in every lane."""
    lines = [f"o[{32 * place} + l] = {expression};" for place, expression in enumerate(SIMD)]
    source = "\n".join([LOCAL, "float x = a[l];", *lines])
    found = run(source, mx.array(LANES), threads=32, group=32, output_shapes=[(len(SIMD), 32)])
    return dict(zip(SIMD, found, strict=True))


@pytest.mark.parametrize("expression", SIMD)
def test_simd_functions_agree_with_numpy(expression: str, in_lanes: dict[str, np.ndarray]) -> None:
    assert np.allclose(in_lanes[expression], SIMD[expression](LANES.astype(np.float64)), rtol=1e-5)


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
@pytest.mark.parametrize("turned", [False, True])
def test_matrices_multiply(dtype: mx.Dtype, turned: bool) -> None:
    left, right = (mx.random.normal((8, 8), key=mx.random.key(k)).astype(dtype) for k in (1, 2))
    source = """
    simdgroup_matrix<T, 8, 8> left, right;
    simdgroup_float8x8 product = make_filled_simdgroup_matrix<float, 8, 8>(1);
    simdgroup_load(left, a, 8);
    simdgroup_load(right, b, 8, ulong2(0, 0), TURNED);
    simdgroup_multiply_accumulate(product, left, right, product);
    simdgroup_store(product, o, 8);
    """
    found = call(
        kernel(source, ["a", "b"]),
        left,
        right,
        template=[("T", dtype), ("TURNED", turned)],
        threads=32,
        group=32,
        output_shapes=[(8, 8)],
    )
    left, right = (np.array(x.astype(mx.float32)) for x in (left, right))
    assert np.allclose(found, left @ (right.T if turned else right) + 1, atol=1e-5)


def test_the_elements_of_a_matrix_lie_in_lanes_as_in_mlx() -> None:
    source = """
    ushort lane = thread_index_in_simdgroup;
    short row = ((lane / 4) & 4) + (lane / 2) % 4, column = ((lane / 4) & 2) * 2 + (lane % 2) * 2;
    simdgroup_float8x8 m;
    simdgroup_load(m, a, 8);
    o[row * 8 + column] = m.thread_elements()[0];
    o[row * 8 + column + 1] = m.thread_elements()[1];
    """
    assert np.array_equal(run(source, threads=32, group=32, output_shapes=[(64,)]), np.arange(64))


def test_part_of_a_larger_matrix_is_loaded_at_its_origin() -> None:
    source = "simdgroup_float8x8 m; simdgroup_load(m, a, 20, ulong2(3, 2)); simdgroup_store(m, o, 8);"
    big = np.arange(400, dtype=np.float32).reshape(20, 20)
    found = run(source, mx.array(big), threads=32, group=32, output_shapes=[(8, 8)])
    assert np.array_equal(found, big[2:10, 3:11])


def test_private_variables_start_as_nan_with_clang() -> None:
    if not compiler().is_clang:
        pytest.skip("g++ does not fill private variables with NaN")
    source = POSITION + "float sum, own[4];\nfor (int j = 0; j < 4; j++) sum += a[j];\no[i] = i % 2 ? sum : own[i % 4];"
    assert np.isnan(run(source)).all()
