"""Every kind of defect is found, at its line; the same kernel put right raises nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from mlxdecoder.kernels.emulator import EmulatorError
from tests.kernels.emulator.small import LOCAL, POSITION, call, kernel, needs_compiler

pytestmark = needs_compiler

SHARED = LOCAL + "threadgroup float t[64];\n"
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);\n"


@dataclass(frozen=True)
class Defect:
    """A kernel, what is wrong with it and where, and its twin that is right.

    `wrong` and `right` are put into source and header at each `@`; the first line is 1.
    """

    kind: str
    line: int
    source: str
    wrong: str
    right: str
    header: str = ""
    threads: int = 64
    group: int = 64
    outputs: int = 64


DEFECTS = {
    "read behind the end": Defect("out of bounds", 2, POSITION + "o[i] = a[@];", "i + 1", "i"),
    "read before the beginning": Defect("out of bounds", 2, POSITION + "o[i] = a[@];", "int(i) - 1", "int(i)"),
    "index that wraps around": Defect("out of bounds", 2, POSITION + "o[i] = a[@];", "i - 1u", "i - 0u"),
    "index far away": Defect("out of bounds", 2, POSITION + "o[i] = a[@];", "i + 100000000", "i"),
    "write behind the end": Defect("out of bounds", 2, POSITION + "o[@] = a[i];", "i + 1", "i"),
    "threadgroup array": Defect(
        "out of bounds", 3, SHARED + "t[@] = a[l];\n" + BARRIER + "o[l] = t[l ^ 1];", "l + 1", "l"
    ),
    "threadgroup array by pointer": Defect(
        "out of bounds",
        2,
        SHARED + "put(t + @, a[l]);\n" + BARRIER + "o[l] = t[l ^ 1];",
        "l + 1",
        "l",
        header="void put(threadgroup float* place, float value) {\n  *place = value;\n}\n",
    ),
    "private array": Defect(
        "out of bounds",
        4,
        POSITION + "float p[4];\nfor (int j = 0; j < 4; j++) p[j] = a[j];\no[i] = p[i % @];",
        "5",
        "4",
    ),
    "component of a vector": Defect(
        "out of bounds", 3, POSITION + "float4 p = float4(a[i]);\no[i] = p[i % @];", "5", "4"
    ),
    "output that is read first": Defect("uninitialised", 2, POSITION + "o[i] @ a[i];", "+=", "="),
    "threadgroup array that is partly written": Defect(
        "uninitialised", 5, SHARED + "if (l < @) t[l] = a[l];\n" + BARRIER + "o[l] = t[l];", "60", "64"
    ),
    "atomic that starts without a value": Defect(
        "uninitialised",
        3,
        LOCAL
        + "threadgroup atomic_int t[1]; @\natomic_fetch_add_explicit(t, 1, memory_order_relaxed);\n"
        + BARRIER
        + "o[l] = atomic_load_explicit(t, memory_order_relaxed);",
        "",
        "if (l == 0) atomic_store_explicit(t, 0, memory_order_relaxed); " + BARRIER.strip(),
    ),
    "lanes that write one place": Defect("race", 3, SHARED + "t[@] = a[l];\n" + BARRIER + "o[l] = t[@];", "0", "l"),
    "no barrier between lanes": Defect(
        "race", 4, SHARED + "t[l] = a[l];\n@o[l] = t[l ^ 1];", "", "simdgroup_barrier(mem_flags::mem_threadgroup); "
    ),
    "simdgroup barrier between simdgroups": Defect(
        "race",
        5,
        SHARED + "t[l] = a[l];\n@_barrier(mem_flags::mem_threadgroup);\no[l] = t[63 - l];",
        "simdgroup",
        "threadgroup",
    ),
    "barrier that orders nothing": Defect(
        "race",
        5,
        SHARED + "t[l] = a[l];\nthreadgroup_barrier(mem_flags::@);\no[l] = t[63 - l];",
        "mem_none",
        "mem_threadgroup",
    ),
    "barrier that orders device memory": Defect(
        "race",
        5,
        SHARED + "t[l] = a[l];\nthreadgroup_barrier(mem_flags::@);\no[l] = t[63 - l];",
        "mem_device",
        "mem_device | mem_flags::mem_threadgroup",
    ),
    "device memory behind a threadgroup barrier": Defect(
        "race",
        4,
        LOCAL + "o[l] = a[l];\nthreadgroup_barrier(mem_flags::@);\nif (l == 0) o[0] = o[63];",
        "mem_threadgroup",
        "mem_device",
    ),
    "simdgroup barrier of the wrong memory": Defect(
        "race",
        5,
        SHARED + "t[l] = a[l];\nsimdgroup_barrier(mem_flags::@);\no[l] = t[l ^ 1];",
        "mem_device",
        "mem_threadgroup",
    ),
    "threadgroups that write one place": Defect(
        "race", 2, POSITION + "o[@ % 64] = a[i % 64];", "(i / 2)", "i", threads=64, group=32
    ),
    "array that is filled again too early": Defect(
        "race",
        4,
        SHARED + "for (int r = 0; r < 2; r++) {\nt[l] = a[l] + r;\n" + BARRIER + "o[l] = t[63 - l];\n@}",
        "",
        BARRIER,
    ),
    "increment without atomics": Defect(
        "race",
        4,
        LOCAL
        + "threadgroup atomic_int t[1];\nif (l == 0) atomic_store_explicit(t, 0, memory_order_relaxed);\n@"
        + "atomic_fetch_add_explicit(t, 1, memory_order_relaxed);\n"
        + BARRIER
        + "o[l] = atomic_load_explicit(t, memory_order_relaxed);",
        "*(threadgroup int*)t += 1; ",
        BARRIER,
    ),
    "barrier that some threads skip": Defect(
        "divergence", 2, LOCAL + "if (l < @) threadgroup_barrier(mem_flags::mem_threadgroup);\no[l] = a[l];", "32", "64"
    ),
    "different barriers": Defect(
        "divergence",
        2,
        LOCAL + "if (l < @) threadgroup_barrier(mem_flags::mem_none);\n"
        "else threadgroup_barrier(mem_flags::mem_none);\no[l] = a[l];",
        "32",
        "64",
    ),
    "barrier behind a return": Defect(
        "divergence", 4, LOCAL + "o[l] = a[l];\nif (l == @) return;\n" + BARRIER, "3", "64"
    ),
    "simd operation that some lanes skip": Defect(
        "divergence", 4, LOCAL + "float s = a[l];\nif (l % 2 < @)\ns = simd_sum(s);\n" + BARRIER + "o[l] = s;", "1", "2"
    ),
    "different simd operations": Defect(
        "divergence", 2, LOCAL + "o[l] = l % 2 < @ ? simd_sum(a[l])\n: simd_max(a[l]);", "1", "2"
    ),
    "simd operation with lanes that have ended": Defect(
        "simd", 4, LOCAL + "o[l] = a[l];\nif (l == @) return;\no[l] = simd_sum(a[l]);", "3", "64"
    ),
    "shuffle from a lane that is not there": Defect(
        "simd", 2, LOCAL + "o[l] = simd_shuffle(a[l], l + @);", "1", "0", threads=20, group=20, outputs=20
    ),
    "broadcast from different lanes": Defect("simd", 2, LOCAL + "o[l] = simd_broadcast(a[l], l % @);", "2", "1"),
    "matrix with lanes that have ended": Defect(
        "simd",
        4,
        LOCAL
        + "simdgroup_float8x8 m = make_filled_simdgroup_matrix<float, 8, 8>(1);\nif (l >= @) return;\n"
        + "simdgroup_multiply(m, m, m);\no[l] = m.thread_elements()[0];",
        "31",
        "32",
        threads=32,
        group=32,
        outputs=32,
    ),
    "misaligned vector": Defect(
        "misaligned", 2, POSITION + "o[i] = ((const device float2*)(a + @))[i / 4].x;", "1", "2"
    ),
    "sum that overflows": Defect(
        "undefined", 2, POSITION + "int sum = 2147483647 - @ + int(a[i]);\no[i] = float(sum);", "5", "63"
    ),
    "product that overflows": Defect(
        "undefined", 2, POSITION + "int product = 65536 * (int(a[i]) + @);\no[i] = float(product);", "32767", "0"
    ),
    "shift that is too wide": Defect("undefined", 2, POSITION + "o[i] = float(1 << (int(a[i]) % @));", "64", "31"),
    "division by zero": Defect("undefined", 2, POSITION + "o[i] = float(8 / (int(a[i]) + @));", "0", "1"),
    "remainder by zero": Defect("undefined", 2, POSITION + "o[i] = float(8u % (uint(a[i]) + @));", "0", "1"),
    "function without return": Defect(
        "undefined",
        1,
        POSITION + "o[i] = step_of(a[i]);",
        "",
        "else return 0;",
        header="float step_of(float x) { if (x > 10) return 1; @ }\n",
    ),
    "write to an input": Defect("read-only", 2, POSITION + "@ = 0;\no[i] = a[i];", "((device float*)a)[i]", "o[i]"),
    "loop without end": Defect(
        "timeout", 3, POSITION + "uint x = i + 1;\nwhile (x != 0) x = x * @;\no[i] = x;", "3", "2"
    ),
    "loop without end with memory": Defect("timeout", 3, POSITION + "o[i] = 0;\nwhile (o[i] == 0) o[i] = @;", "0", "1"),
    "loop without end with simd operations": Defect(
        "timeout", 3, POSITION + "float x = 1;\nwhile (x > 0) x = simd_max(x) - @;\no[i] = x;", "0", "1"
    ),
    "elements that nobody writes": Defect("unwritten", 0, POSITION + "if (i != @) o[i] = a[i];", "7", "64"),
    "too much threadgroup memory": Defect(
        "limit", 2, LOCAL + "threadgroup float t[@];\nt[l] = a[l];\no[l] = t[l];", "8193", "8192"
    ),
    "too many threads": Defect("limit", 0, POSITION + "o[i] = @;", "0", "0", threads=1025, group=1025, outputs=1025),
    "too much private memory": Defect(
        "stack",
        0,
        POSITION + "float p[@];\nfor (int j = 0; j < @; j++) p[j] = a[j % 64];\no[i] = p[int(a[i])];",
        "40000",
        "4000",
    ),
    "order in which atomics come": Defect(
        "order",
        0,
        LOCAL
        + "threadgroup atomic_int t[1];\nif (l == 0) atomic_store_explicit(t, 0, memory_order_relaxed);\n"
        + BARRIER
        + "int place = atomic_fetch_add_explicit(t, 1, memory_order_relaxed);\no[l] = @;",
        "place",
        "place >= 0",
    ),
}


def launched(defect: Defect, filling: str, group: int) -> None:
    source, header = (text.replace("@", filling) for text in (defect.source, defect.header))
    made = kernel(source, header=header, timeout=0.4)
    call(made, threads=defect.threads, group=group, output_shapes=[(defect.outputs,)])


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_found_at_its_line(name: str) -> None:
    defect = DEFECTS[name]
    with pytest.raises(EmulatorError) as caught:
        launched(defect, defect.wrong, defect.group)
    assert (defect.kind, defect.line) in [(finding.kind, finding.line) for finding in caught.value.findings]


@pytest.mark.parametrize("name", DEFECTS)
def test_the_kernel_put_right_raises_nothing(name: str) -> None:
    defect = DEFECTS[name]
    launched(defect, defect.right, min(defect.group, 1024))


def found(source: str, **options: Any) -> EmulatorError:
    with pytest.raises(EmulatorError) as caught:
        call(kernel(source), **options)
    return caught.value


def test_a_finding_quotes_the_line_and_names_buffer_index_and_thread() -> None:
    error = found(POSITION + "\n  o[i] = a[i + 60];  // too far")
    [finding] = error.findings
    assert (finding.kind, finding.file, finding.line) == ("out of bounds", "source", 3)
    assert finding.text == "o[i] = a[i + 60];  // too far"
    for part in ("'a'", "index 64,", "64 elements", "thread 4 (simdgroup 0, lane 4)", "threadgroup (0, 0, 0)"):
        assert part in finding.message
    assert str(finding) in str(error)


def test_a_finding_in_a_header_has_the_line_of_the_header() -> None:
    header = "// first line\nfloat beyond(const device float* x, uint i) {\n  return x[i + 64];\n}\n"
    with pytest.raises(EmulatorError) as caught:
        call(kernel(POSITION + "o[i] = beyond(a, i);", header=header))
    finding = caught.value.findings[0]
    assert (finding.file, finding.line, finding.text) == ("header", 3, "return x[i + 64];")


def test_a_race_names_both_lines() -> None:
    error = found(SHARED + "t[l] = a[l];\no[l] = t[63 - l];")
    races = {finding.line: finding.message for finding in error.findings if finding.kind == "race"}
    assert "source line 3" in races[4]
    assert "source line 4" in races[3]


def test_a_race_that_only_the_backward_order_shows_is_found() -> None:
    # Forwards, the first simdgroup writes before the last one reads, which then looks as if it were ordered.
    source = SHARED + "t[l] = a[l];\n" + BARRIER + "if (l == 0) t[63] = 0;\no[l] = l == 63 ? t[63] : 0.0f;"
    assert {(finding.kind, finding.line) for finding in found(source).findings} >= {("race", 5)}


def test_several_defects_are_told_at_once() -> None:
    error = found(POSITION + "if (i > 8) o[i] += 1;\no[i] = float(1 << int(a[i]));")
    assert {("uninitialised", 2), ("undefined", 3)} <= {(finding.kind, finding.line) for finding in error.findings}
