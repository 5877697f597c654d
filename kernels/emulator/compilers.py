"""Which compiler builds the runtime and the kernels, and with which flags."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from mlxdecoder.errors import UserError

CANDIDATES = [*(f"clang++-{version}" for version in range(22, 14, -1)), "clang++", "g++", "c++"]
PROBE = "#include <type_traits>\n_Float16 f(_Float16 x) { return __builtin_bit_cast(_Float16, x) + x; }\n"
COMMON = "-std=c++17 -fPIC -w -fvisibility=hidden -fno-exceptions -fno-strict-aliasing".split()
# An endless loop stays one, a thread that runs out of stack meets the guard page, a thread that is stopped is at a line
# and not in a stub of the linker, and addr2line finds inlined functions in DWARF 4 alone.
KERNEL = (
    "-ffp-contract=off -fno-math-errno -fno-finite-loops -fstack-clash-protection -fno-plt -g1 -gdwarf-4 "
    "-fno-asynchronous-unwind-tables"
).split()
SANITIZERS = "-fsanitize=thread,alignment,shift,integer-divide-by-zero,signed-integer-overflow,return"
CHECKED = [SANITIZERS, "-ftrivial-auto-var-init=pattern", "-O1"]
UNCHECKED = ["-O2"]
# Half precision rounds at every operation.
CLANG = ["-Xclang", "-ffloat16-excess-precision=none"]
GCC = ["-fexcess-precision=16"]
# `x += y` is a read as well as a write, and calls of functions are of no interest.
CLANG_CHECKED = (
    "-fsanitize=bounds -mllvm -tsan-instrument-read-before-write=1 -mllvm -tsan-instrument-func-entry-exit=0"
).split()
GCC_CHECKED = ["-fsanitize=bounds-strict", "--param=tsan-instrument-func-entry-exit=0"]


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler that can build kernels.

    Args:
        command: its name or path.
        version: the first line of what it says about itself.
    """

    command: str
    version: str

    @property
    def is_clang(self) -> bool:
        return "clang" in self.version

    def kernel_flags(self, checks: bool) -> list[str]:
        """The flags that compile a kernel, with or without instrumentation."""
        own, own_checked = (CLANG, CLANG_CHECKED) if self.is_clang else (GCC, GCC_CHECKED)
        return [*COMMON, *KERNEL, *own, *([*CHECKED, *own_checked] if checks else UNCHECKED)]

    def runtime_flags(self) -> list[str]:
        """The flags that build the runtime."""
        # A fortified longjmp would refuse to leave a fiber for the stack of the launch.
        return [*COMMON, "-O2", "-pthread", "-U_FORTIFY_SOURCE"]


def shared_library(name: str) -> list[str]:
    """The flags that link a shared library of that name.

    The name stands in the library too: a runtime that is loaded already is known by it, and not loaded a second time
    where another process has meanwhile put its own build of the same in its place.
    """
    if sys.platform == "darwin":
        return ["-dynamiclib", "-install_name", f"@rpath/{name}"]
    return ["-shared", f"-Wl,-soname,{name}"]


def beside(library: Path) -> list[str]:
    """The flags that link against a library which will stand in the same folder."""
    if sys.platform == "darwin":
        return [str(library), "-Wl,-rpath,@loader_path"]
    return [f"-L{library.parent}", f"-l:{library.name}", "-Wl,-rpath,$ORIGIN"]


def available() -> str | None:
    """None if kernels can be emulated here, and otherwise why not, in words with which a test can be skipped."""
    if sys.platform not in ("linux", "darwin"):
        return f"the Metal emulator runs on Linux and macOS, not on {sys.platform}"
    return None if any(map(_probe, _candidates())) else f"no C++ compiler that can emulate Metal ({_wanted()})"


def compiler(command: str | None = None) -> Compiler:
    """The compiler of that name, or the best one here.

    Args:
        command: a name or path; else the environment variable MLXDECODER_CXX; else clang++, newest first, then g++.

    Raises:
        UserError: there is none, or the one that was asked for cannot compile half precision.
    """
    for candidate in [command] if command else _candidates():
        found = _probe(candidate)
        if found:
            return found
    raise UserError(f"compiler: found no usable {command or 'C++ compiler'}; {_wanted()}.")


def _candidates() -> list[str]:
    named = os.environ.get("MLXDECODER_CXX")
    return [named] if named else CANDIDATES


def _wanted() -> str:
    return "wanted clang++ 15 or g++ 12, or newer; clang++ 19 is best; MLXDECODER_CXX may name one"


@functools.cache
def _probe(command: str) -> Compiler | None:
    """The compiler behind a command if it compiles half precision with the flags of a checked build."""
    if not shutil.which(command):
        return None
    said = subprocess.run([command, "--version"], capture_output=True, text=True, check=False).stdout
    found = Compiler(command, re.sub(r"\s+", " ", said.partition("\n")[0]))
    arguments = [command, *found.kernel_flags(checks=True), "-x", "c++", "-c", "-", "-o", os.devnull]
    tried = subprocess.run(arguments, input=PROBE, capture_output=True, text=True, check=False)
    return found if tried.returncode == 0 else None
