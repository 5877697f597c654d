"""The static check: what it must say of wrong Metal, and that it says nothing of the same text put right."""

from __future__ import annotations

import re

import mlx.core as mx
import pytest

from mlxdecoder.kernels.emulator.findings import Finding
from mlxdecoder.kernels.emulator.static_check import available, check, check_call

pytestmark = pytest.mark.skipif(available() is not None, reason=available() or "")

ATTRIBUTES = "uint lane [[thread_index_in_simdgroup]], uint3 group [[threadgroup_position_in_grid]]"


def library(body: str = "", header: str = "", element: str = "float") -> str:
    """A text as MLX generates it: a header, a kernel that is a template, and its instantiation."""
    return f"""{header}
template <typename T, int N>
[[kernel]] void demo(
  const device T* x [[buffer(0)]],
  const constant float& scale [[buffer(1)]],
  const constant int* lengths [[buffer(2)]],
  device T* out [[buffer(3)]],
  {ATTRIBUTES}) {{
{body}
}}

template [[host_name("demo")]] [[kernel]] decltype(demo<{element}, 4>) demo<{element}, 4>;
"""


def found_in(body: str = "", header: str = "", element: str = "float") -> tuple[Finding, ...]:
    return check(library(body, header, element), "demo")


IN_BODY = {
    "a device pointer for threadgroup memory": (
        "threadgroup T tile[N]; device T* p = tile; out[0] = p[0];",
        "threadgroup T tile[N]; threadgroup T* p = tile; out[0] = p[0];",
        r"device.*threadgroup",
    ),
    "a constant pointer for device memory": (
        "const constant T* p = x; out[0] = p[0];",
        "const device T* p = x; out[0] = p[0];",
        r"constant.*device",
    ),
    "writing to an input": ("x[lane] = 0;", "out[lane] = 0;", "read-only|not assignable"),
    "a pointer without address space": (
        "float y = 1; float* p = &y; out[0] = *p;",
        "float y = 1; thread float* p = &y; out[0] = *p;",
        r"`float\* p` names no address space",
    ),
    "a reference without address space": (
        "float y[2] = {1, 2}; const float& z = y[1]; out[0] = z;",
        "float y[2] = {1, 2}; const thread float& z = y[1]; out[0] = z;",
        r"`const float& z` names no address space",
    ),
    "an alias of a pointer without address space": (
        "using Pointer = const float*; out[0] = 1;",
        "using Pointer = const device float*; Pointer p = x; out[0] = p[0];",
        r"`const float\*` names no address space",
    ),
    "a cast to a pointer without address space": (
        "out[0] = reinterpret_cast<const float*>(x)[lane];",
        "out[0] = reinterpret_cast<const device float*>(x)[lane];",
        r"`const float\*` names no address space",
    ),
    "a cast to another address space": (
        "out[0] = reinterpret_cast<const threadgroup float*>(x)[lane];",
        "out[0] = reinterpret_cast<const device float*>(x)[lane];",
        "reinterpret_cast.*threadgroup",
    ),
    "max of two types": ("out[0] = max(1.0f, half(2));", "out[0] = max(1.0f, float(half(2)));", "call to 'max'"),
    "exp of an integer": ("out[0] = metal::exp(N);", "out[0] = metal::exp(float(N));", "ambiguous"),
    "as_type of two sizes": (
        "out[0] = as_type<half>(as_type<uint>(scale));",
        "out[0] = as_type<float>(as_type<uint>(scale));",
        "one size",
    ),
    "a vector of too many parts": (
        "float2 y = float2(1, 2, 3); out[0] = y.x;",
        "float3 y = float3(1, float2(2, 3)); out[0] = y.x;",
        "as many components",
    ),
    "a vector of an alias of too few parts": (
        "using Pair = vec<T, 4>; Pair y = Pair(T(1), T(2)); out[0] = y.x;",
        "using Pair = vec<T, 4>; Pair y = Pair(T(1), T(2), T(3), T(4)); out[0] = y.x;",
        "as many components",
    ),
    "a component that is not there": ("float2 y = 0; out[0] = y.z;", "float3 y = 0; out[0] = y.z;", "vector component"),
    "a matrix of another size": (
        "simdgroup_matrix<T, 4, 4> m; out[0] = m.thread_elements()[0];",
        "simdgroup_matrix<T, 8, 8> m; out[0] = m.thread_elements()[0];",
        "8 rows and 8 columns",
    ),
    "a matrix of integers": (
        "simdgroup_matrix<int, 8, 8> m; out[0] = m.thread_elements()[0];",
        "simdgroup_matrix<half, 8, 8> m; out[0] = T(m.thread_elements()[0]);",
        "float, half or bfloat",
    ),
    "a matrix loaded from constant memory": (
        "simdgroup_float8x8 m; simdgroup_load(m, &scale, 8); out[0] = m.thread_elements()[0];",
        "simdgroup_float8x8 m; simdgroup_load(m, out, 8); out[0] = m.thread_elements()[0];",
        "simdgroup_load",
    ),
    "a barrier without flags": (
        "threadgroup_barrier();",
        "threadgroup_barrier(mem_flags::mem_none);",
        "threadgroup_barrier",
    ),
    "a value for threadgroup memory": (
        "threadgroup float sum = 0; out[0] = sum;",
        "threadgroup float sum; sum = 0; out[0] = sum;",
        "cannot be given a value",
    ),
    "double": ("double y = scale; out[0] = y;", "float y = scale; out[0] = y;", "no double"),
    "the standard library": (
        "out[0] = std::max(1.0f, scale);",
        "out[0] = metal::max(1.0f, scale);",
        "no C\\+\\+ standard library",
    ),
    "dynamic memory": (
        "thread float* p = new float[4]; out[0] = p[0];",
        "float p[4] = {}; out[0] = p[0];",
        "no dynamic memory",
    ),
    "a static variable": ("static float y = 1; out[0] = y;", "const float y = 1; out[0] = y;", "static variable"),
    "text that is not ASCII": ("out[0] = 1; // \N{MULTIPLICATION SIGN} 2", "out[0] = 1; // times 2", "not ASCII"),
    "a misspelt attribute": ("out[lain] = 0;", "out[lane] = 0;", "undeclared identifier 'lain'"),
    "an atomic operation on an ordinary array": (
        "metal::atomic_fetch_add_explicit(out, T(1), metal::memory_order_relaxed);",
        "metal::atomic_fetch_add_explicit((device metal::atomic<T>*)out, T(1), metal::memory_order_relaxed);",
        "atomic_fetch_add_explicit",
    ),
}

LOAD = "template <typename T> inline T at({space}T* p, int i) {{ return p[i]; }}"
TILE = """
template <typename T>
struct Tile {{
  {space}T* base;
  int stride;
  T at(int i) const {{ return base[i * stride]; }}
}};
"""
USE_TILE = "Tile<const T> tile{x, 2}; out[0] = tile.at(lane);"

IN_HEADER = {
    "a parameter without address space": (
        (LOAD.format(space="const "), "out[0] = at(x, 0);"),
        (LOAD.format(space="const device "), "out[0] = at(x, 0);"),
        r"`const T\* p` names no address space",
    ),
    "a result without address space": (
        ("inline const float* behind(const device float* p) { return p + 1; }", "out[0] = 1;"),
        ("inline const device float* behind(const device float* p) { return p + 1; }", "out[0] = behind(x)[0];"),
        r"`inline const float\*` names no address space",
    ),
    "a device parameter for constant memory": (
        (LOAD.format(space="const device "), "out[0] = at(lengths, 0);"),
        (LOAD.format(space="const constant "), "out[0] = at(lengths, 0);"),
        "no matching function.*at",
    ),
    "a device parameter for threadgroup memory": (
        (LOAD.format(space="const device "), "threadgroup T tile[N]; out[0] = at(tile, 0);"),
        (LOAD.format(space="const threadgroup "), "threadgroup T tile[N]; out[0] = at(tile, 0);"),
        "no matching function.*at",
    ),
    "a struct whose pointer has no address space": (
        (TILE.format(space=""), USE_TILE),
        (TILE.format(space="device "), USE_TILE),
        r"`T\* base` names no address space",
    ),
    "a struct whose pointer has the wrong address space": (
        (TILE.format(space="threadgroup "), USE_TILE),
        (TILE.format(space="device "), USE_TILE),
        "device.*threadgroup|threadgroup.*device",
    ),
    "threadgroup memory in a helper": (
        (
            "inline float helper(float y) { threadgroup float tile[4]; tile[0] = y; return tile[0]; }",
            "out[0] = helper(1);",
        ),
        (
            "inline float helper(threadgroup float* tile, float y) { tile[0] = y; return tile[0]; }",
            "threadgroup float tile[4]; out[0] = helper(tile, 1);",
        ),
        "`helper`, which is no kernel",
    ),
    "recursion": (
        ("inline int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }", "out[0] = factorial(4);"),
        (
            "inline int factorial(int n) { int p = 1; for (int i = 2; i <= n; i++) p *= i; return p; }",
            "out[0] = factorial(4);",
        ),
        "`factorial` calls itself",
    ),
    "recursion by way of another function": (
        (
            "int odd(int n); int even(int n) { return n && odd(n - 1); } int odd(int n) { return n && even(n - 1); }",
            "out[0] = even(4);",
        ),
        ("int odd(int n) { return n & 1; } int even(int n) { return !odd(n); }", "out[0] = even(4);"),
        "`even` calls itself",
    ),
    "a global variable": (
        ("float weight = 2;", "out[0] = weight;"),
        ("constant float weight = 2;", "out[0] = weight;"),
        "must be `constant`",
    ),
}


ATTENTION_HEADER = """
#include <metal_simdgroup>
#include <metal_simdgroup_matrix>
constant constexpr int SIDE = 8;
constant float LOWEST = -metal::numeric_limits<float>::max();
inline float2 product(float2 a, float2 b) {
  metal::simdgroup_matrix<float, 8, 8> left, right, sum;
  reinterpret_cast<thread float2&>(left.thread_elements()) = a;
  reinterpret_cast<thread float2&>(right.thread_elements()) = b;
  sum = metal::make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  metal::simdgroup_multiply_accumulate(sum, left, right, sum);
  return reinterpret_cast<thread float2&>(sum.thread_elements());
}
template <typename Element>
inline float2 wide(metal::vec<Element, 2> pair) {
  return float2(float(pair.x), float(pair.y));
}
template <typename Pointer>
inline float first(Pointer p) {
  return float(p[0]);
}
template <bool CAUSAL>
struct Mask {
  const device int* starts;
  const constant int* lengths;
  int offset;
  bool allows(int query, int key) const {
    return (!CAUSAL || key <= query + offset) && key >= starts[0] && key < lengths[0];
  }
};
template <bool CAUSAL>
inline Mask<CAUSAL> mask_of(const device int* starts, const constant int* lengths) {
  Mask<CAUSAL> mask;
  mask.starts = starts;
  mask.lengths = lengths;
  mask.offset = lengths[1];
  return mask;
}
template <typename Element, int N>
inline void load(thread metal::vec<Element, 2>* pieces, const device Element* row, bool present) {
  for (int i = 0; i < N; i++) {
    pieces[i] = present ? metal::vec<Element, 2>(row[2 * i], row[2 * i + 1]) : metal::vec<Element, 2>(Element(0));
  }
}
"""
ATTENTION_LIKE = """
  constexpr int PITCH = N * SIDE + 16 / sizeof(T);
  threadgroup T keys[SIDE * PITCH], values[SIDE * PITCH];
  threadgroup float sums[2][SIDE];
  metal::vec<T, 2> pieces[N];
  load<T, N>(pieces, x + group.x * N, lane < 8u);
  const device T* row = x + int64_t(group.y) * 4;
  const auto mask = mask_of<true>(reinterpret_cast<const device int*>(x), lengths);
  float2 scores[N] = {};
  float top = LOWEST;
  for (uint i = lane; i < SIDE * PITCH; i += 32) {
    keys[i] = i < 8 ? row[i] : T(0);
    values[i] = keys[i];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (int i = 0; i < N; i++) {
    scores[i] = product(wide(pieces[i]), float2(float(keys[2 * i]), first(values + i))) * scale;
    scores[i].x = mask.allows(lane, i) ? scores[i].x : -INFINITY;
    top = metal::max(top, metal::max(scores[i][0], scores[i].y));
  }
  top = metal::max(top, metal::simd_shuffle_xor(top, 1));
  const float shrink = metal::fast::exp2(top * M_LOG2E_F) + metal::log2(first(row)) + metal::simd_sum(scores[0].x);
  if (!metal::simd_any(top > 0.5)) return;
  sums[lane % 2][lane % SIDE] = shrink;
  simdgroup_barrier(mem_flags::mem_threadgroup);
  const uint bits = as_type<uint>(sums[0][0]) ^ 1u;
  out[lane] = static_cast<T>(as_type<float>(bits) + 1e-3 + 0.5h);
"""


@pytest.mark.parametrize("case", IN_BODY)
def test_what_is_wrong_in_a_kernel_is_said_and_nothing_is_said_once_it_is_right(case: str) -> None:
    wrong, right, message = IN_BODY[case]
    findings = found_in(wrong)
    assert any(re.search(message, finding.message) for finding in findings), findings
    assert found_in(right) == ()


@pytest.mark.parametrize("case", IN_HEADER)
def test_what_is_wrong_in_a_header_is_said_and_nothing_is_said_once_it_is_right(case: str) -> None:
    (wrong_header, wrong_body), (right_header, right_body), message = IN_HEADER[case]
    findings = found_in(wrong_body, wrong_header)
    assert any(re.search(message, finding.message) for finding in findings), findings
    assert found_in(right_body, right_header) == ()


@pytest.mark.parametrize("element", ["float", "float16_t", "bfloat16_t"])
def test_a_kernel_with_all_that_attention_uses_passes_for_every_element_type(element: str) -> None:
    assert found_in(ATTENTION_LIKE, ATTENTION_HEADER, element) == ()


def test_a_finding_names_the_line_of_the_text_that_was_given() -> None:
    body = "threadgroup T tile[N * 2],\n  more[N];\n/* a comment\nof two lines */\nout[0] = tile[0] + mroe[0];"
    text = library(body)
    (finding,) = check(text, "demo")
    assert text.split("\n")[finding.line - 1] == finding.text == "out[0] = tile[0] + mroe[0];"
    assert str(finding).startswith(
        f"static at demo line {finding.line} `{finding.text}`: use of undeclared identifier 'mroe'"
    )


def test_a_mistake_in_a_template_is_laid_to_the_text_and_not_to_the_declarations() -> None:
    findings = found_in("out[0] = twice(1.0f);", "inline float twice(float x) { return float2(x, x, x).x; }")
    assert [finding.line for finding in findings] == [1]


def test_a_loop_over_bits_is_no_declaration() -> None:
    body = "int mask = 3; for (int bit = 1; bit & mask; bit <<= 1) out[bit] = 1; int n = 2 * mask; out[0] = n * mask;"
    assert found_in(body) == ()


def test_overloads_that_call_each_other_are_no_recursion() -> None:
    header = "inline float size(float x) { return x; } inline float size(float2 x) { return size(x.x) + size(x.y); }"
    assert found_in("out[0] = size(float2(1, 2));", header) == ()


def test_a_call_is_checked_as_mlx_writes_it_where_tiny_inputs_are_constant() -> None:
    kernel = {
        "name": "first",
        "input_names": ["x"],
        "output_names": ["out"],
        "header": LOAD.format(space="const device "),
        "source": "out[thread_position_in_grid.x] = at(x, x_shape[0] - 1);",
    }
    call = {"output_shapes": [(1,)], "output_dtypes": [mx.float16], "grid": (1, 1, 1), "threadgroup": (1, 1, 1)}
    assert check_call(kernel, [mx.zeros(8, mx.float16)], **call) == ()
    (finding,) = check_call(kernel, [mx.zeros(7, mx.float16)], **call)
    assert finding.message == "no matching function for call to 'at'"
    assert finding.text == kernel["source"]
