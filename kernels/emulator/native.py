"""The runtime's C functions and structures, as `runtime/launch.h` and `runtime/findings.h` declare them."""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from ctypes import c_bool, c_char, c_char_p, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path

from mlxdecoder.errors import UserError

from .build import runtime
from .compilers import Compiler

BUFFER_SLOTS = 64
MOST_BUFFER_BYTES = 1 << 30
LOCK = threading.Lock()
"""Held for a whole launch: the runtime has one arena and runs one threadgroup at a time."""


class Launch(ctypes.Structure):
    _fields_ = (
        ("grid", c_uint32 * 3),
        ("threadgroup", c_uint32 * 3),
        ("buffers", c_uint32),
        ("checked", c_uint32),
        ("backwards", c_uint32),
        ("milliseconds", c_uint32),
    )


class RawFinding(ctypes.Structure):
    _fields_ = (
        ("kind", c_char * 24),
        ("message", c_char * 400),
        ("file", c_char_p),
        ("line", c_int32),
        ("code", c_uint64),
        ("other", c_uint64),
    )


COUNTS = (
    "threadgroups",
    "threads",
    "threadgroup_barriers",
    "threadgroup_barrier_calls",
    "simdgroup_barriers",
    "simd_operations",
    "matrix_multiplies",
    "matrix_moves",
    "threadgroup_bytes",
)


class RawCounts(ctypes.Structure):
    _fields_ = tuple((name, c_uint64) for name in COUNTS)


class RawTraffic(ctypes.Structure):
    _fields_ = (("name", c_char_p), ("read", c_uint64), ("written", c_uint64))


FUNCTIONS = {
    "emulator_prepare": (c_bool, []),
    "emulator_place": (c_void_p, [c_int, c_size_t, c_size_t, c_char_p, c_bool, c_bool, c_bool]),
    "emulator_shift": (None, [c_int, c_size_t]),
    "emulator_cover": (c_void_p, [c_int]),
    "emulator_protect": (None, [c_int]),
    "emulator_free": (None, [c_int]),
    "emulator_launch": (c_bool, [c_void_p, ctypes.POINTER(Launch)]),
    "emulator_finding_count": (c_uint32, []),
    "emulator_findings": (ctypes.POINTER(RawFinding), []),
    "emulator_counts": (ctypes.POINTER(RawCounts), []),
    "emulator_slots": (c_int, []),
    "emulator_traffic": (RawTraffic, [c_int]),
}

# Each library binds to its own runtime, whatever else in the process has functions of these names: another sanitiser,
# or the runtime of another compiler.
PRIVATE = getattr(os, "RTLD_DEEPBIND", 0)


@functools.cache
def load(compiler: Compiler) -> ctypes.CDLL:
    """The runtime that a compiler has built.

    Raises:
        UserError: the system does not give the address space that guarded memory needs.
    """
    library = ctypes.CDLL(str(runtime(compiler)), mode=os.RTLD_LOCAL | PRIVATE)
    for name, (result, arguments) in FUNCTIONS.items():
        getattr(library, name).restype, getattr(library, name).argtypes = result, arguments
    if not library.emulator_prepare():
        raise UserError("emulator: found too little address space, wanted 512 GiB; raise `ulimit -v`.")
    return library


def load_kernel(path: Path) -> int:
    """The address of the entry point of a kernel's library."""
    entry = ctypes.CDLL(str(path), mode=os.RTLD_LOCAL | PRIVATE).emulator_entry
    return ctypes.cast(entry, c_void_p).value or 0
