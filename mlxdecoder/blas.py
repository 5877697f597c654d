"""A fast matrix product for MLX on Linux, whose wheel brings the reference BLAS along.

MLX binds `cblas_sgemm` while it is being loaded. A BLAS that has been made global by then takes the place of its own;
one that comes later does not.
"""

from __future__ import annotations

import _ctypes
import ctypes
import functools
import os
import platform
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# The names that Fedora gives to the builds with threads, then the name that everybody has.
_LIBRARIES = ("libopenblasp.so.0", "libopenblaso.so.0", "libopenblas.so.0")
_NEEDED = ("cblas_sgemm", "sgemm_")  # what MLX calls, and what its LAPACK calls
_THREADS = (("openblas_get_num_threads", "openblas_set_num_threads"), ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"))
# What OpenBLAS falls back to on a processor that is newer than itself, and what it has for such a processor.
_FALLBACKS = ("prescott", "core2", "barcelona", "generic")
_KERNELS = {
    "SKYLAKEX": {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"},
    "HASWELL": {"avx2", "fma"},
}
_CHOICE = "OPENBLAS_CORETYPE"  # read by OpenBLAS while it is being loaded
_INSTALLERS = {
    "apt-get": "sudo apt-get install libopenblas0-pthread",
    "dnf": "sudo dnf install openblas-threads",
    "pacman": "sudo pacman -S openblas",
}

_library: ctypes.CDLL | None = None
_hint: str | None = None


@functools.cache
def prepare() -> str | None:
    """Load an optimised BLAS for MLX and return its name, or None where there is none or none is needed.

    Call it before anything imports `mlx.core`. The environment variable MLXDECODER_BLAS names another library, or is
    "off". Nothing is raised: when MLX stays slow, `missing_hint` says why. On macOS MLX needs no help.
    """
    global _library, _hint
    wanted = os.environ.get("MLXDECODER_BLAS", "")
    if platform.system() != "Linux" or wanted == "off":
        return None
    if "mlx.core" in sys.modules:
        _hint = "Matrix products are slow, since mlx was imported before mlxdecoder: import mlxdecoder first."
        return None
    for name in [wanted] if wanted else _LIBRARIES:
        if library := _load(name):
            _library = library
            return name
    _hint = _unusable(wanted) if wanted else _not_installed()
    return None


def missing_hint() -> str | None:
    """Why matrix products are slow and what to do about it, in one line; None when they are not.

    It is given once in a process, so that it is said once: later calls return None.
    """
    global _hint
    hint, _hint = _hint, None
    return hint


def warn_when_slow() -> None:
    """Tell a script or a notebook, once, that matrix products are slow and what to do about it."""
    if hint := missing_hint():
        warnings.warn(hint, RuntimeWarning, stacklevel=3)


def reads_small_weights_in_place() -> bool:
    """Whether the library has kernels for small products, which copy nothing beforehand: those for AVX-512 do."""
    return _kernels_of(_library).lower() in ("skylakex", "cooperlake", "sapphirerapids")


@contextmanager
def one_thread() -> Iterator[None]:
    """Let each matrix product use one thread; afterwards as many as before.

    For those who compute on several streams at once. Without a library that `prepare` loaded, nothing happens.
    """
    get, set_ = next((names for names in _THREADS if hasattr(_library, names[0])), ("", ""))
    before = getattr(_library, get)() if get else 1
    if set_:
        getattr(_library, set_)(1)
    try:
        yield
    finally:
        if set_:
            getattr(_library, set_)(before)


def _load(name: str) -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL(name)
        if all(hasattr(library, function) for function in _NEEDED):
            return _load_globally(name, library)
    except OSError:
        pass
    return None


def _load_globally(name: str, library: ctypes.CDLL) -> ctypes.CDLL:
    """Load a library for all to use that has been loaded for us alone, with better kernels where there are."""
    kernels = None if _CHOICE in os.environ else better_kernels(_kernels_of(library), _processor_flags())
    if kernels is None:
        return ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
    _ctypes.dlclose(library._handle)  # or it would be kept as it is
    os.environ[_CHOICE] = kernels
    try:
        return ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
    finally:
        del os.environ[_CHOICE]


def better_kernels(chosen: str, flags: set[str]) -> str | None:
    """The kernels for a processor with these flags, where OpenBLAS chose some that fit every processor; else None."""
    if chosen.lower() not in _FALLBACKS:
        return None
    return next((kernels for kernels, needed in _KERNELS.items() if needed <= flags), None)


def _kernels_of(library: ctypes.CDLL | None) -> str:
    """The name of the kernels that an OpenBLAS uses; empty for another library."""
    if library is None or not hasattr(library, "openblas_get_corename"):
        return ""
    name = library.openblas_get_corename
    name.restype = ctypes.c_char_p
    return str(name().decode())


def _processor_flags() -> set[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    return next((set(line.partition(":")[2].split()) for line in lines if line.startswith("flags")), set())


def _unusable(name: str) -> str:
    return f"Matrix products are slow: MLXDECODER_BLAS={name} is no BLAS that can be loaded; give its path, or 'off'."


def _not_installed() -> str:
    command = next((command for program, command in _INSTALLERS.items() if shutil.which(program)), "install OpenBLAS")
    return f"Matrix products are about ten times slower than they could be; what helps: {command}"
