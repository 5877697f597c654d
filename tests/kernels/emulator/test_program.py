"""Kernels in files of their own: includes, function constants, template arguments, structures, unbound buffers."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from mlxdecoder.errors import UserError
from mlxdecoder.kernels.emulator import Buffer, CompileError, EmulatorError, Program, Traffic
from tests.kernels.emulator.small import needs_compiler

pytestmark = needs_compiler

TEXT = """#include <metal_stdlib>
#include "parts/scale.h"
using namespace metal;

constant bool twice [[function_constant(20)]];
constant int extra [[function_constant(21)]];

struct Sizes { int length; float factor; };

template <typename T, int STEP>
[[kernel, max_total_threads_per_threadgroup(64)]] void scale(
    const device T* x [[buffer(0)]],
    device T* out [[buffer(1)]],
    const constant Sizes& sizes [[buffer(2)]],
    const device T* bias [[buffer(5), function_constant(twice)]],
    uint i [[thread_position_in_grid]],
    ushort lane [[thread_index_in_simdgroup]]) {
  if (i >= uint(sizes.length)) return;
  T value = scaled(x[i * STEP], sizes.factor);
  if (twice) value = value * T(2) + bias[i];
  out[i] = value + T(extra);
}

template [[host_name("scale_float")]] [[kernel]] decltype(scale<float, 1>) scale<float, 1>;
"""
HEADER = "#pragma once\ntemplate <typename T> METAL_FUNC T scaled(T x, float factor) {\n  return x * T(factor);\n}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "scale.h").write_text(HEADER)
    return tmp_path


def run(program: Program, x: np.ndarray, bias: np.ndarray | None = None, length: int = 10, **kinds: bool) -> np.ndarray:
    buffers = [
        Buffer("x", x, **kinds),
        Buffer("out", np.empty(length, x.dtype), output=True, **kinds),
        Buffer("sizes", struct.pack("if", length, 3.0)),
        None,
        None,
        None if bias is None else Buffer("bias", bias, **kinds),
    ]
    return program.run(buffers, grid=(32, 1, 1), threadgroup=(32, 1, 1)).outputs["out"]


def test_function_constants_and_template_arguments_choose_the_kernel(folder: Path) -> None:
    x, bias = np.arange(20, dtype=np.float16), np.arange(10, dtype=np.float16)
    plain = Program(TEXT, "scale", template_arguments="half, 2", folders=[folder])
    assert np.array_equal(run(plain, x), 3 * x[::2])
    constants = {20: True, 21: 5}
    other = Program(TEXT, "scale", template_arguments="half, 1", function_constants=constants, folders=[folder])
    assert np.array_equal(run(other, x, bias), 6 * x[:10] + bias + 5)


def test_bfloat16_is_given_as_its_bits(folder: Path) -> None:
    x = np.arange(10, dtype=np.float32)
    program = Program(TEXT, "scale", template_arguments="bfloat, 1", folders=[folder])
    found = run(program, (x.view(np.uint32) >> 16).astype(np.uint16), bfloat16=True)
    assert np.array_equal((found.astype(np.uint32) << 16).view(np.float32), 3 * x)


def test_reading_what_is_not_bound_is_found(folder: Path) -> None:
    program = Program(TEXT, "scale", template_arguments="float, 1", function_constants={20: True}, folders=[folder])
    with pytest.raises(EmulatorError, match=r"source line 20 .*null pointer"):
        run(program, np.arange(10, dtype=np.float32))


def test_a_finding_in_an_included_file_names_the_file(folder: Path) -> None:
    path = folder / "parts" / "scale.h"
    path.write_text(HEADER.replace("return", "int wide = 1 << int(x + 30); return wide *"))
    program = Program(TEXT, "scale", template_arguments="float, 1", folders=[folder])
    with pytest.raises(EmulatorError) as caught:
        run(program, np.arange(10, dtype=np.float32))
    assert (caught.value.findings[0].file, caught.value.findings[0].line) == (str(path), 3)


def test_a_compile_error_in_an_included_file_names_the_file(folder: Path) -> None:
    (folder / "parts" / "scale.h").write_text(HEADER.replace("T(factor)", "nothing"))
    with pytest.raises(CompileError, match=r"scale.h line 3 `return x \* nothing;`"):
        Program(TEXT, "scale", template_arguments="float, 1", folders=[folder])


def test_counts_tell_constants_from_device_memory(folder: Path) -> None:
    program = Program(TEXT, "scale", template_arguments="float, 1", folders=[folder])
    x = np.arange(10, dtype=np.float32)
    buffers = [
        Buffer("x", x),
        Buffer("out", np.empty_like(x), output=True),
        Buffer("sizes", struct.pack("if", 10, 3.0)),
    ]
    work = program.run(buffers, grid=(10, 1, 1), threadgroup=(32, 1, 1)).work
    assert work is not None
    assert work.device == {"x": Traffic(40, 0), "out": Traffic(0, 40)}
    assert work.constant == {"sizes": Traffic(80, 0)}


def test_a_kernel_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match="void missing"):
        Program("kernel void present(device float* x) {}", "missing")


def test_the_old_way_to_write_a_kernel_works() -> None:
    text = "kernel void fill(device int* x, uint i [[thread_position_in_grid]]) { x[i] = i * i; }"
    result = Program(text, "fill").run(
        [Buffer("x", np.empty(5, np.int32), output=True)], grid=(5, 1, 1), threadgroup=(5, 1, 1)
    )
    assert result.outputs["x"].tolist() == [0, 1, 4, 9, 16]


def test_members_for_other_address_spaces_are_left_out() -> None:
    text = """
    struct Number {
      int n;
      Number(int n) thread : n(n) {}
      template <typename T, typename = void>
      Number(int n) device : n(n) { int unused = 1; }
      int get() const thread { return n; }
      int get() const constant { return n; };
      int get() const threadgroup;
    };
    kernel void fill(device int* x) { x[0] = Number(3).get(); }
    """
    result = Program(text, "fill").run(
        [Buffer("x", np.empty(1, np.int32), output=True)], grid=(1, 1, 1), threadgroup=(1, 1, 1)
    )
    assert result.outputs["x"].tolist() == [3]


def test_a_parameter_that_cannot_be_given_is_named() -> None:
    with pytest.raises(UserError, match=r"shared: found \[\[threadgroup\(0\)\]\]"):
        Program("kernel void f(threadgroup float* shared [[threadgroup(0)]]) {}", "f")


def test_metal_has_31_buffers_and_not_more() -> None:
    parameters = ", ".join(f"device int* x{index}" for index in range(32))
    program = Program(f"kernel void f({parameters}) {{ x30[0] = 1; }}", "f")
    outputs = [Buffer(f"x{index}", np.zeros(1, np.int32), output=True, initialised=True) for index in range(32)]
    assert program.run(outputs[:31], grid=(1, 1, 1), threadgroup=(1, 1, 1)).outputs["x30"] == 1
    with pytest.raises(EmulatorError, match="limit: 32 buffers"):
        program.run(outputs, grid=(1, 1, 1), threadgroup=(1, 1, 1))
