"""A stand-in for `mx.fast.metal_kernel` that runs on the processor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mlx.core as mx
import numpy as np

from .arrays import NUMPY, contiguous, strided, to_mlx, to_numpy
from .generated_text import GeneratedText, generated_text, with_line_marks
from .launch import Buffer
from .program import Program
from .work import Work

PRELUDE = '#include "emulator/mlx.h"'


def metal_kernel(
    name: str,
    input_names: Sequence[str],
    output_names: Sequence[str],
    source: str,
    header: str = "",
    ensure_row_contiguous: bool = True,
    atomic_outputs: bool = False,
    compile_options: Mapping[str, Any] | None = None,
    *,
    checks: bool = True,
    compiler: str | None = None,
    timeout: float = 60.0,
) -> EmulatedKernel:
    """A kernel as `mx.fast.metal_kernel` makes it, but one that runs on the processor and is checked.

    Args:
        name: the kernel's name.
        input_names: the names of its inputs.
        output_names: the names of its outputs.
        source: the body of the kernel in the Metal shading language.
        header: what stands before the kernel: includes, functions, constants.
        ensure_row_contiguous: whether inputs are copied row by row first; else they keep their strides.
        atomic_outputs: whether outputs are atomics.
        compile_options: as in MLX; the emulator always computes as with math mode "safe".
        checks: whether each access is checked and counted, and two orders of the threads are compared. Without,
            a launch is about ten times faster, and only accesses far outside a buffer are found.
        compiler: the compiler's name; by default the best one.
        timeout: seconds that a launch may take.
    """
    options = {} if compile_options is None else {"compile_options": compile_options}
    real = mx.fast.metal_kernel(
        name, input_names, output_names, source, header, ensure_row_contiguous, atomic_outputs, **options
    )

    def build(text: GeneratedText) -> Program:
        return Program(
            with_line_marks(text.text, header, source),
            text.kernel,
            template_arguments=text.template_arguments,
            prelude=PRELUDE,
            sources={"source": source, "header": header},
            checks=checks,
            compiler=compiler,
        )

    return EmulatedKernel(real, build, input_names, output_names, ensure_row_contiguous, atomic_outputs, timeout)


class EmulatedKernel:
    """What `metal_kernel` gives; it is called as the kernels of MLX are.

    Attributes:
        work: the counts of the last call; None before it, and where checks are off.
    """

    def __init__(
        self,
        real: Callable[..., list[mx.array]],
        build: Callable[[GeneratedText], Program],
        input_names: Sequence[str],
        output_names: Sequence[str],
        row_contiguous: bool,
        atomic: bool,
        timeout: float,
    ) -> None:
        self.work: Work | None = None
        self._real, self._build = real, build
        self._input_names, self._output_names = list(input_names), list(output_names)
        self._row_contiguous, self._atomic, self._timeout = row_contiguous, atomic, timeout
        self._programs = dict[Any, tuple[GeneratedText, Program]]()

    def __call__(
        self,
        *,
        inputs: Sequence[Any],
        output_shapes: Sequence[Sequence[int]],
        output_dtypes: Sequence[mx.Dtype],
        grid: tuple[int, int, int],
        threadgroup: tuple[int, int, int],
        template: Sequence[tuple[str, Any]] | None = None,
        init_value: float | None = None,
        verbose: bool = False,
        stream: Any = None,
    ) -> list[mx.array]:
        """Run the kernel.

        Args:
            inputs: arrays, or Python numbers, which become float32, int32 or bool.
            output_shapes: the shape of each output.
            output_dtypes: the type of each output.
            grid: threads on each axis.
            threadgroup: threads of a threadgroup on each axis.
            template: pairs of a template parameter's name and its value: a type, an integer or a boolean.
            init_value: what outputs start with; without it they start as NaN, and each element must be written.
            verbose: whether to print the text that MLX generates.
            stream: as in MLX; nothing is put on a stream.

        Raises:
            EmulatorError: the kernel did something wrong.
            CompileError: it does not compile.
            ValueError: MLX refuses the arguments.
        """
        arrays = [array if isinstance(array, mx.array) else mx.array(array) for array in inputs]
        options = {
            "output_shapes": [tuple(shape) for shape in output_shapes],
            "output_dtypes": list(output_dtypes),
            "grid": tuple(grid),
            "threadgroup": tuple(threadgroup),
            "template": list(template or []),
            "init_value": init_value,
            "stream": stream,
        }

        @mx.custom_function
        def run(*given: mx.array) -> list[mx.array]:
            return self._run(given, verbose, options)

        @run.vjp
        def refuse(*_: object) -> None:
            raise RuntimeError("[Primitive::vjp] Not implemented for CustomKernel.")  # MLX's words

        found: list[mx.array] = run(*arrays)
        return found

    def _run(self, arrays: Sequence[mx.array], verbose: bool, options: dict[str, Any]) -> list[mx.array]:
        text, program = self._program(arrays, **options)
        if verbose:
            print(text.text)
        shapes, dtypes = options["output_shapes"], options["output_dtypes"]
        buffers = self._input_buffers(arrays) | self._output_buffers(shapes, dtypes, options["init_value"])
        result = program.run(
            [buffers[program.arguments[index].name] for index in range(len(program.arguments))],
            grid=options["grid"],
            threadgroup=options["threadgroup"],
            timeout=self._timeout,
            order_matters=self._atomic,
        )
        self.work = result.work
        return [to_mlx(result.outputs[name], dtype) for name, dtype in zip(self._output_names, dtypes, strict=True)]

    def _program(self, arrays: Sequence[mx.array], **options: Any) -> tuple[GeneratedText, Program]:
        """The text for these arguments, and its build; both are kept for whatever gives the same text."""
        inputs = tuple((array.dtype, array.ndim, array.size < 8) for array in arrays)
        outputs = (len(options["output_shapes"]), *options["output_dtypes"])
        # Beside 1 and True, which are one key of a dictionary and two values for a template, the type matters.
        template = tuple((name, type(value), value) for name, value in options["template"])
        key = (inputs, outputs, template)
        if key not in self._programs:
            text = generated_text(self._real, arrays, **options)
            self._programs[key] = (text, self._build(text))
        return self._programs[key]

    def _input_buffers(self, arrays: Sequence[mx.array]) -> dict[str, Buffer]:
        """Each input with its shape, strides and rank, of which the kernel takes what its text mentions."""
        lay_out = contiguous if self._row_contiguous else strided
        buffers = {}
        for name, array in zip(self._input_names, arrays, strict=True):
            laid = lay_out(to_numpy(array))
            buffers[name] = Buffer(name, laid.memory, origin=laid.origin, covered=laid.covered)
            buffers[f"{name}_shape"] = Buffer(f"{name}_shape", np.array(array.shape, np.int32))
            buffers[f"{name}_strides"] = Buffer(f"{name}_strides", np.array(laid.strides, np.int64))
            buffers[f"{name}_ndim"] = Buffer(f"{name}_ndim", np.array(array.ndim, np.int32))
        return buffers

    def _output_buffers(
        self, shapes: Sequence[Sequence[int]], dtypes: Sequence[mx.Dtype], init_value: float | None
    ) -> dict[str, Buffer]:
        buffers = {}
        for name, shape, dtype in zip(self._output_names, shapes, dtypes, strict=True):
            start = np.empty(shape, NUMPY[dtype])
            if init_value is not None:
                start = to_numpy(mx.full(shape, init_value, dtype))
            buffers[name] = Buffer(
                name, start, output=True, initialised=init_value is not None, bfloat16=dtype == mx.bfloat16
            )
        return buffers
