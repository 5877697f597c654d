"""Builds libraries and keeps them in the user's cache folder, under a hash of all that went into them."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from .compilers import Compiler, beside, shared_library

HERE = Path(__file__).parent
INCLUDE = HERE / "include"
RUNTIME = HERE / "runtime"


class BuildError(Exception):
    """The compiler refused; the message is what it said."""


def cache_folder() -> Path:
    """Where built libraries are kept."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "mlxdecoder" / "emulator"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mlxdecoder" / "emulator"


@functools.cache
def runtime(compiler: Compiler) -> Path:
    """The library of the runtime."""
    arguments = [*compiler.runtime_flags(), str(RUNTIME / "runtime.cpp")]
    return _cached([*_inputs(compiler), *arguments], lambda target: _build_runtime(compiler, arguments, target))


def kernel_library(cpp: str, compiler: Compiler, checks: bool) -> Path:
    """The library of a kernel.

    Args:
        cpp: the translated kernel with its entry point.
        compiler: what to build it with.
        checks: whether each access is instrumented.

    Raises:
        BuildError: the text does not compile.
    """
    flags = compiler.kernel_flags(checks)
    parts = [*_inputs(compiler), *flags, *shared_library(""), runtime(compiler).name, cpp]
    return _cached(parts, lambda target: _build_kernel(cpp, compiler, flags, target))


def _build_runtime(compiler: Compiler, arguments: Sequence[str], target: Path) -> None:
    _run([compiler.command, *arguments, *shared_library(target.name), "-o", str(target)])


def _build_kernel(cpp: str, compiler: Compiler, flags: Sequence[str], target: Path) -> None:
    """Compile with the sanitisers and link without: their runtime is ours."""
    source, compiled = target.with_suffix(".cpp"), target.with_suffix(".o")
    source.write_text(cpp)
    _run([compiler.command, *flags, f"-I{INCLUDE}", "-c", str(source), "-o", str(compiled)])
    link = [*shared_library(target.name), str(compiled), *beside(runtime(compiler))]
    _run([compiler.command, *link, "-o", str(target)])
    if sys.platform == "darwin":
        _run(["dsymutil", str(target)])  # there a library points at its object files for lines, and these go


def _cached(parts: Sequence[str], make: Callable[[Path], None]) -> Path:
    path = cache_folder() / f"{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:32]}.so"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = tempfile.mkdtemp(dir=path.parent)
        try:
            make(Path(folder) / path.name)
            lines = Path(folder) / f"{path.name}.dSYM"
            if lines.exists():
                shutil.copytree(lines, path.with_name(lines.name), dirs_exist_ok=True)
            os.replace(Path(folder) / path.name, path)
        finally:
            shutil.rmtree(folder)
    return path


@functools.cache
def _inputs(compiler: Compiler) -> tuple[str, ...]:
    """What a build depends on beside its own text."""
    files = sorted([*INCLUDE.rglob("*.h"), *RUNTIME.iterdir()])
    return (compiler.command, compiler.version, *(file.read_text() for file in files if file.is_file()))


def _run(arguments: Sequence[str]) -> None:
    result = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if result.returncode:
        raise BuildError(result.stderr)
