"""A fast matrix product for MLX on Linux, whose wheel brings the reference BLAS along.

MLX binds `cblas_sgemm` while it is being loaded. A BLAS that has been made global by then takes the place of its own;
one that comes later does not.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

# The names that Fedora gives to the builds with threads, then the name that everybody has.
_LIBRARIES = ("libopenblasp.so.0", "libopenblaso.so.0", "libopenblas.so.0")
_NEEDED = ("cblas_sgemm", "sgemm_")  # what MLX calls, and what its LAPACK calls
_THREADS = (("openblas_get_num_threads", "openblas_set_num_threads"), ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"))
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
            return ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        pass
    return None


def _unusable(name: str) -> str:
    return f"Matrix products are slow: MLXDECODER_BLAS={name} is no BLAS that can be loaded; give its path, or 'off'."


def _not_installed() -> str:
    command = next((command for program, command in _INSTALLERS.items() if shutil.which(program)), "install OpenBLAS")
    return f"Matrix products are about ten times slower than they could be; what helps: {command}"
