"""MLX's own Metal kernels as text, from the headers in its macOS wheel, which pip brings on any system.

The wheel goes into the user's cache folder and stays there; nothing of it is part of this project.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from importlib.metadata import version
from pathlib import Path

from mlxdecoder.kernels.emulator.build import cache_folder
from mlxdecoder.kernels.emulator.includes import with_includes

KERNELS = "mlx/backend/metal/kernels"
WHEEL = ("--no-deps", "--only-binary=:all:", "--platform", "macosx_14_0_arm64", "--python-version", "3.11")

# Four headers rest on what a processor's compiler lacks: bf16_math.h on Metal's inner names for bfloat functions, the
# others on methods and types that differ in nothing but the address space. No kernel here logs or uses complex numbers.
LEFT_OUT = ("bf16_math.h", "logging.h", "complex.h", "steel/utils/type_traits.h")
INSTEAD = """
#include <metal_stdlib>
using namespace metal;
template <typename T>
struct complex_t {
  T real, imag;
  constexpr complex_t(T real, T imag) : real(real), imag(imag) {}
};
typedef complex_t<float> complex64_t;
namespace metal {
template <typename T>
struct is_empty : bool_constant<__is_empty(T)> {};
template <typename T>
struct is_static : bool_constant<__is_empty(T)> {};
template <typename...>
using void_t = void;
template <typename T>
using pointer_element_t = remove_cv_t<typename remove_reference<decltype(*T())>::type>;
}
"""


NOT_CACHED = "MLX's Metal headers are not in the cache folder; `make test-slow` fetches them"


class NotThere(Exception):
    """The headers are not in the cache folder, or could not be fetched."""


def folder() -> Path:
    """Where the headers of the installed MLX are kept, whether they are there or not."""
    return cache_folder().parent / f"mlx-metal-{version('mlx')}"


def fetch() -> None:
    """Bring the headers into the cache folder, unless they are there; raises `NotThere` where pip cannot."""
    if folder().exists():
        return
    folder().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder().parent) as scratch:
        _download(Path(scratch))
        (wheel,) = Path(scratch).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(scratch, [name for name in archive.namelist() if f"include/{KERNELS}/" in name])
        (Path(scratch) / "mlx" / "include").rename(folder())


def _download(into: Path) -> None:
    wanted = f"mlx-metal=={version('mlx')}"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--retries", "1", "--timeout", "15", *WHEEL]
    done = subprocess.run([*pip, "--dest", str(into), wanted], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["pip failed"])[-1]
        raise NotThere(f"pip could not fetch {wanted}: {reason}")


@cache
def library(*names: str) -> str:
    """The text of headers in MLX's kernel folder, with all that they include of MLX, each once.

    Raises `NotThere` if the headers are not in the cache folder.
    """
    if not folder().exists():
        raise NotThere(NOT_CACHED)
    included = "\n".join(f'#include "{KERNELS}/{name}"' for name in names)
    left_out = {str((folder() / KERNELS / name).resolve()): "" for name in LEFT_OUT}
    return with_includes(f"{INSTEAD}\n{included}", "mlx", [folder()], left_out)
