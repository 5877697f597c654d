"""A compiled kernel: the layer below `metal_kernel`, for kernels that stand in files of their own."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from . import native
from .build import INCLUDE, BuildError, kernel_library
from .compilers import Compiler
from .compilers import compiler as find_compiler
from .entry import entry_point
from .findings import CompileError, EmulatorError, Finding
from .includes import with_includes
from .launch import Buffer, Outcome, launch
from .order import disagreements
from .quoting import MARK, Sources, once
from .tokens import kernel_parameters
from .translate import translate
from .work import Work

MOST_THREADS = 1024
MOST_BUFFERS = 31
INSTEAD = INCLUDE / "instead"
"""Files of other projects that cannot be compiled here, rewritten; they are found before the originals."""


@dataclass(frozen=True)
class Result:
    """What a launch gives: outputs by name, and its work, which is counted where checks are on."""

    outputs: Mapping[str, np.ndarray]
    work: Work | None


class Program:
    """A kernel, compiled for this machine's processor.

    Attributes:
        kernel: the kernel function.
        checks: whether accesses are checked and counted.
        arguments: its parameters that are buffers, by index.

    Args:
        text: its text in the Metal shading language.
        kernel: the kernel function.
        template_arguments: what stands between its angle brackets, as in `half, 64, 64`.
        function_constants: their values by index; 0 where missing.
        folders: where included files are looked for, in order.
        prelude: C++ that comes first, after the standard library of Metal.
        sources: the texts that `#line` directives in `text` name, under those names without the leading slash; findings
            quote them. By default `text` itself is "source".
        checks: whether accesses are checked and counted.
        compiler: the compiler's name; by default the best one.

    Raises:
        CompileError: the text does not compile.
        UserError: the text has no such kernel, a parameter is of a kind that is not emulated, or there is no compiler.
    """

    def __init__(
        self,
        text: str,
        kernel: str,
        *,
        template_arguments: str = "",
        function_constants: Mapping[int, bool | int | float] | None = None,
        folders: Sequence[Path] = (),
        prelude: str = "",
        sources: Mapping[str, str] | None = None,
        checks: bool = True,
        compiler: str | None = None,
    ) -> None:
        self.kernel = kernel
        self.checks = checks
        texts = {MARK + name: content for name, content in (sources or {"source": text}).items()}
        whole = with_includes(text, f"{MARK}source", [INSTEAD, *folders], texts)
        self._sources = Sources(texts)
        parameters = kernel_parameters(whole, kernel)
        self.arguments = {one.buffer: one for one in parameters if one.buffer is not None}
        callee = f"{kernel}<{template_arguments}>" if template_arguments else kernel
        entry = entry_point(parameters, callee)
        cpp = f'#include "emulator/metal.h"\n{prelude}\n{translate(whole, function_constants)}\n#line 1 "/entry"{entry}'
        found = find_compiler(compiler)
        self._runtime = native.load(found)
        self._library = self._build(cpp, found)
        self._entry = native.load_kernel(self._library)

    def run(
        self,
        buffers: Sequence[Buffer | None],
        *,
        grid: Sequence[int],
        threadgroup: Sequence[int],
        timeout: float = 60.0,
        order_matters: bool = False,
    ) -> Result:
        """Launch the kernel: twice where checks are on, forwards and backwards.

        Args:
            buffers: the argument of each buffer index; None where nothing is bound.
            grid: threads on each of three axes.
            threadgroup: threads of a threadgroup on each axis.
            timeout: seconds that each of the two may take.
            order_matters: whether outputs may rightly depend on the order of the threads, as atomics let them.

        Raises:
            EmulatorError: the kernel did something wrong.
            UserError: a buffer is too large.
        """
        self._check_limits(len(buffers), grid, threadgroup)
        shape = native.Launch(
            (ctypes.c_uint32 * 3)(*grid),
            (ctypes.c_uint32 * 3)(*threadgroup),
            len(buffers),
            self.checks,
            False,
            max(1, int(timeout * 1000)),
        )
        first = self._launch(buffers, shape)
        findings = self._sources.findings(first.findings, self._library)
        if self.checks and not any(finding.kind == "timeout" for finding in findings):
            shape.backwards = True
            second = self._launch(buffers, shape)
            findings = once([*findings, *self._sources.findings(second.findings, self._library)])
            if not findings and not order_matters:
                findings = list(disagreements(buffers, first.outputs, second.outputs))
        if findings:
            raise EmulatorError(self.kernel, findings)
        return Result(first.outputs, first.work if self.checks else None)

    def _launch(self, buffers: Sequence[Buffer | None], shape: native.Launch) -> Outcome:
        constants = frozenset(
            buffer.name
            for index, buffer in enumerate(buffers)
            if buffer and index in self.arguments and "constant" in self.arguments[index].declaration.split()
        )
        return launch(self._runtime, self._entry, buffers, constants, shape)

    def _check_limits(self, buffers: int, grid: Sequence[int], threadgroup: Sequence[int]) -> None:
        size = math.prod(min(threads, width) for threads, width in zip(grid, threadgroup, strict=True))
        if min(threadgroup) < 1 or min(grid) < 0 or size > MOST_THREADS:
            self._refuse(f"{size} threads in a threadgroup {tuple(threadgroup)}, wanted 1 to {MOST_THREADS}")
        if buffers > MOST_BUFFERS:
            self._refuse(f"{buffers} buffers, wanted at most {MOST_BUFFERS}; shapes and strides count too")

    def _refuse(self, message: str) -> NoReturn:
        raise EmulatorError(self.kernel, [Finding("limit", 0, "", message)])

    def _build(self, cpp: str, compiler: Compiler) -> Path:
        try:
            return kernel_library(cpp, compiler, self.checks)
        except BuildError as error:
            raise CompileError(f"{self.kernel} does not compile\n{self._sources.errors(str(error))}") from None
