"""Runs Metal kernels without a Mac, on the processor, and finds what is wrong with them.

`metal_kernel` stands in for `mx.fast.metal_kernel`; `Program` runs kernels from files of their own. `available` says
why this machine cannot, if so. What is checked, and what is not, stands in this folder's README.
"""

from .compilers import available
from .drop_in import EmulatedKernel, metal_kernel
from .findings import CompileError, EmulatorError, Finding
from .launch import Buffer
from .program import Program, Result
from .work import Traffic, Work

__all__ = [
    "Buffer",
    "CompileError",
    "EmulatedKernel",
    "EmulatorError",
    "Finding",
    "Program",
    "Result",
    "Traffic",
    "Work",
    "available",
    "metal_kernel",
]
