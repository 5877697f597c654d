"""Compilers and the cache of what they built."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from mlxdecoder.errors import UserError
from mlxdecoder.kernels.emulator import available
from mlxdecoder.kernels.emulator.build import cache_folder, kernel_library
from mlxdecoder.kernels.emulator.compilers import CANDIDATES, compiler
from tests.kernels.emulator.small import POSITION, call, kernel, needs_compiler

SCRIPT = """
import sys
import mlx.core as mx
from mlxdecoder.kernels.emulator import metal_kernel
made = metal_kernel("one", ["a"], ["o"], "o[thread_position_in_grid.x] = a[thread_position_in_grid.x] + 1;")
shape = dict(output_shapes=[(9,)], output_dtypes=[mx.float32], grid=(9, 1, 1), threadgroup=(9, 1, 1))
print(made(inputs=[mx.arange(9.0)], **shape)[0].sum().item())
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, for this process and those it starts."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    return cache_folder()


@needs_compiler
def test_processes_that_build_the_same_kernel_at_once_do_not_disturb_each_other(cache: Path) -> None:
    command = [sys.executable, "-c", SCRIPT]
    with ThreadPoolExecutor() as pool:
        ended = list(pool.map(lambda _: subprocess.run(command, capture_output=True, text=True), range(3)))
    assert [process.stdout.strip() for process in ended] == ["45.0"] * 3, ended[0].stderr
    assert len(list(cache.glob("*.so"))) == 2  # the runtime and the kernel
    assert [path for path in cache.iterdir() if path.suffix != ".so"] == []


@needs_compiler
def test_a_kernel_is_built_once(cache: Path) -> None:
    text = 'extern "C" int one() { return 1; }'
    built = kernel_library(text, compiler(), checks=False)
    stamp = built.stat().st_mtime_ns
    assert kernel_library(text, compiler(), checks=False) == built
    assert built.stat().st_mtime_ns == stamp
    assert kernel_library(text, compiler(), checks=True) != built


@needs_compiler
@pytest.mark.parametrize("command", [*filter(shutil.which, CANDIDATES)])
def test_every_compiler_that_is_there_gives_the_same(command: str) -> None:
    try:
        compiler(command)
    except UserError:
        pytest.skip(f"{command} is too old")
    source = POSITION + "half h = half(a[i]) / half(3); o[i] = simd_sum(float(h)) + float(bfloat(a[i]) * bfloat(1.1f));"
    found = np.array(call(kernel(source, compiler=command)))
    thirds = (np.arange(64, dtype=np.float16) / np.float16(3)).astype(np.float32).reshape(2, 32).sum(1).repeat(32)
    products = np.arange(64) * 1.1015625  # 1.1 in bfloat
    assert np.allclose(found, thirds + products, rtol=2**-8)


def test_the_environment_names_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLXDECODER_CXX", "no-such-compiler")
    reason = available()
    assert reason is not None
    assert "MLXDECODER_CXX" in reason
    with pytest.raises(UserError, match="C\\+\\+ compiler"):
        compiler()


def test_a_compiler_that_cannot_do_it_is_refused() -> None:
    with pytest.raises(UserError, match="found no usable false"):
        compiler("false")
