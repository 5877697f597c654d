"""The matrix product behind MLX, each case in a process of its own, since a BLAS is chosen once in a process."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from mlxdecoder import blas

pytestmark = pytest.mark.skipif(platform.system() != "Linux", reason="elsewhere MLX brings its own fast product")

# What a program does that uses the library: everything here is printed, one value a line.
PREPARE = """
import mlxdecoder.blas as blas
name = blas.prepare()
"""
MULTIPLY = """
import mlx.core as mx
import numpy as np
random = np.random.default_rng(0)
left = random.standard_normal((67, 515)).astype(np.float32)
right = random.standard_normal((515, 43)).astype(np.float32)
product = np.array(mx.array(left) @ mx.array(right))
"""
PRINT_ERROR = """
print(abs(product - left.astype(np.float64) @ right.astype(np.float64)).max())
"""
# The library's own product, called without MLX (row-major, neither side transposed).
PRINT_SAME_AS_LIBRARY = """
import ctypes
expected = np.zeros((67, 43), np.float32)
address = lambda array: array.ctypes.data_as(ctypes.c_void_p)
one, zero = ctypes.c_float(1), ctypes.c_float(0)
ctypes.CDLL("libopenblas.so.0").cblas_sgemm(
    101, 111, 111, 67, 43, 515, one, address(left), 515, address(right), 43, zero, address(expected), 43
)
print(np.array_equal(product, expected))
"""
# The order of a product's sums depends on the number of threads.
ONE_THREAD = """
blas.one_thread().__enter__()
"""
PRINT_HINTS = """
print(blas.missing_hint())
print(blas.missing_hint())
"""


def run(*program: str, unset: Sequence[str] = (), **environment: str) -> list[str]:
    """Run the program's parts in a new process and return what it printed, stripped, by lines."""
    inherited = {key: value for key, value in os.environ.items() if key not in ("MLXDECODER_BLAS", *unset)}
    command = [sys.executable, "-c", "".join(program)]
    finished = subprocess.run(command, env=inherited | environment, capture_output=True, text=True, check=True)
    assert finished.stderr == ""
    return finished.stdout.splitlines()


def has_openblas() -> bool:
    try:
        return hasattr(ctypes.CDLL("libopenblas.so.0"), "openblas_set_num_threads")
    except OSError:
        return False


needs_openblas = pytest.mark.skipif(not has_openblas(), reason="OpenBLAS is not installed")


@pytest.fixture
def hidden(tmp_path: Path) -> dict[str, str]:
    """An environment in which no BLAS can be loaded and no program found: broken files stand before the real ones."""
    for name in blas._LIBRARIES:
        (tmp_path / name).write_text("no library")
    return {"LD_LIBRARY_PATH": str(tmp_path), "PATH": str(tmp_path)}


@pytest.mark.parametrize("choice", [{}, {"MLXDECODER_BLAS": "off"}, {"MLXDECODER_BLAS": "/no/such/library.so"}])
def test_products_are_right_whatever_multiplies(choice: dict[str, str]) -> None:
    (error,) = run(PREPARE, MULTIPLY, PRINT_ERROR, **choice)
    assert float(error) < 1e-3  # sums of 515 products of about 1 in single precision


@needs_openblas
def test_mlx_multiplies_with_the_prepared_library() -> None:
    assert run(PREPARE, ONE_THREAD, MULTIPLY, PRINT_SAME_AS_LIBRARY, PRINT_HINTS) == ["True", "None", "None"]


def test_off_leaves_mlx_as_it_is_and_says_nothing() -> None:
    program = (PREPARE, "print(name)", PRINT_HINTS, ONE_THREAD)
    assert run(*program, MLXDECODER_BLAS="off") == ["None", "None", "None"]


@pytest.mark.parametrize("path", ["/no/such/library.so", "libm.so.6"])
def test_a_library_that_is_no_blas_is_named_once(path: str) -> None:
    name, first, second = run(PREPARE, "print(name)", PRINT_HINTS, MLXDECODER_BLAS=path)
    assert (name, second) == ("None", "None")
    assert f"MLXDECODER_BLAS={path}" in first
    assert "off" in first


@pytest.mark.parametrize(
    ("installer", "command"),
    [
        ("apt-get", "apt-get install libopenblas0-pthread"),
        ("dnf", "dnf install"),
        ("pacman", "pacman -S"),
        ("", "install"),
    ],
)
def test_without_a_blas_the_hint_says_what_to_install(
    hidden: dict[str, str], tmp_path: Path, installer: str, command: str
) -> None:
    if installer:
        (tmp_path / installer).touch(mode=0o755)
    name, first, second = run(PREPARE, "print(name)", PRINT_HINTS, **hidden)
    assert (name, second) == ("None", "None")
    assert command in first


def test_mlx_imported_first_is_told_to_whoever_asks() -> None:
    first, _ = run("import mlx.core", PREPARE, PRINT_HINTS)
    assert "import mlxdecoder first" in first


def test_a_script_is_warned_once(hidden: dict[str, str]) -> None:
    count = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    blas.warn_when_slow()
    blas.warn_when_slow()
print(len(caught), caught[0].category.__name__)
"""
    assert run(PREPARE, count, **hidden) == ["1 RuntimeWarning"]


@needs_openblas
def test_one_thread_reaches_the_library_and_ends() -> None:
    count = """
import ctypes
library = ctypes.CDLL(name)
library.openblas_set_num_threads(2)
with blas.one_thread():
    print(library.openblas_get_num_threads())
print(library.openblas_get_num_threads())
"""
    assert run(PREPARE, count) == ["1", "2"]


PRINT_KERNELS = """
import os
print(blas._kernels_of(blas._library))
print(os.environ.get("OPENBLAS_CORETYPE"))
"""
AVX2 = {"sse2", "avx", "avx2", "fma"}
AVX512 = AVX2 | {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}


@pytest.mark.parametrize(
    ("chosen", "flags", "wanted"),
    [
        ("Prescott", AVX512, "SKYLAKEX"),
        ("Prescott", AVX512 - {"avx512bw"}, "HASWELL"),
        ("Core2", AVX2, "HASWELL"),
        ("Prescott", {"sse2", "avx"}, None),
        ("Prescott", set(), None),  # no processor of that kind, or nobody tells
        ("Haswell", AVX512, None),
        ("SkylakeX", AVX512, None),
        ("Zen", AVX512, None),
        ("", AVX512, None),  # another library than OpenBLAS
    ],
)
def test_better_kernels_are_named_only_where_openblas_fell_back(
    chosen: str, flags: set[str], wanted: str | None
) -> None:
    assert blas.better_kernels(chosen, flags) == wanted


@needs_openblas
def test_no_generic_kernels_on_a_processor_that_can_more_and_the_environment_stays() -> None:
    kernels, left = run(PREPARE, PRINT_KERNELS, unset=["OPENBLAS_CORETYPE"])
    assert blas.better_kernels(kernels, blas._processor_flags()) is None
    assert left == "None"


@needs_openblas
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the kernels' names are those of x86")
def test_the_users_own_choice_of_kernels_stays() -> None:
    assert run(PREPARE, PRINT_KERNELS, OPENBLAS_CORETYPE="PRESCOTT") == ["Prescott", "PRESCOTT"]


@needs_openblas
def test_products_are_right_when_the_library_was_loaded_twice() -> None:
    """A processor that OpenBLAS knows is made unknown: whatever was chosen first counts as a fallback."""
    twice = """
import mlxdecoder.blas as blas
import ctypes
library = ctypes.CDLL(blas._LIBRARIES[-1])
blas._FALLBACKS = (blas._kernels_of(library).lower(),)
blas._ctypes.dlclose(library._handle)
name = blas.prepare()
"""
    error, *_ = run(twice, MULTIPLY, PRINT_ERROR, unset=["OPENBLAS_CORETYPE"])
    assert float(error) < 1e-3
