"""One launch of a compiled kernel: its arguments go into guarded memory, its outputs and counts come out."""

from __future__ import annotations

import ctypes
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mlxdecoder.errors import UserError

from . import native
from .work import Traffic, Work


@dataclass(frozen=True)
class Buffer:
    """An argument of a kernel.

    Args:
        name: what findings and counts call it.
        data: its elements; bytes for a structure; for an output, the elements it starts with, or any of the right
            shape and type.
        output: whether the kernel writes it.
        initialised: whether an output starts with `data`; otherwise it starts as NaN and may not be read before it is
            written, and every element must be written.
        bfloat16: whether a uint16 array holds the bits of bfloat16, which matters where two outputs are compared.
        origin: the index, in the flat array, of the element to which the kernel's pointer points.
        covered: which elements may be read; None for all of them.
    """

    name: str
    data: np.ndarray | bytes
    output: bool = False
    initialised: bool = False
    bfloat16: bool = False
    origin: int = 0
    covered: np.ndarray | None = None

    @property
    def array(self) -> np.ndarray:
        """Its elements, row by row."""
        return (
            np.frombuffer(self.data, np.uint8)
            if isinstance(self.data, bytes)
            else np.array(self.data, order="C", copy=None)
        )


@dataclass(frozen=True)
class RawFinding:
    """A finding before its place is looked up: `file` and `line`, or else `code`, say where."""

    kind: str
    message: str
    file: str
    line: int
    code: int
    other: int


@dataclass(frozen=True)
class Outcome:
    """What a launch gives."""

    outputs: Mapping[str, np.ndarray]
    findings: Sequence[RawFinding]
    work: Work


def launch(
    runtime: ctypes.CDLL,
    entry: int,
    buffers: Sequence[Buffer | None],
    constants: frozenset[str],
    shape: native.Launch,
) -> Outcome:
    """Run a kernel once.

    Args:
        runtime: the loaded runtime.
        entry: the address of the kernel's entry point.
        buffers: its arguments by index.
        constants: the names of those that it sees as `constant`.
        shape: grid, threadgroup and options.
    """
    with native.LOCK:
        try:
            places = [_place(runtime, index, buffer, bool(shape.checked)) for index, buffer in enumerate(buffers)]
            interrupted = runtime.emulator_launch(entry, ctypes.byref(shape))
            if interrupted:
                # The handler that Python, or the program, has for Ctrl-C shall have its say; outputs there are none.
                signal.raise_signal(signal.SIGINT)
                raise KeyboardInterrupt
            return Outcome(_outputs(buffers, places), _findings(runtime), _work(runtime, buffers, constants))
        finally:
            for slot in range(runtime.emulator_slots()):
                runtime.emulator_free(slot)


def _place(runtime: ctypes.CDLL, slot: int, buffer: Buffer | None, checked: bool) -> int:
    """Put a buffer into its slot; gives its address."""
    if buffer is None:
        return 0
    array = buffer.array
    if array.nbytes > native.MOST_BUFFER_BYTES:
        raise UserError(f"{buffer.name}: found {array.nbytes} bytes, wanted at most {native.MOST_BUFFER_BYTES}.")
    name = buffer.name.encode()
    address: int = runtime.emulator_place(
        slot, array.nbytes, array.itemsize, name, buffer.output, buffer.initialised, checked
    )
    if buffer.output and not buffer.initialised:
        ctypes.memset(address, 0xFF, array.nbytes)
    else:
        ctypes.memmove(address, array.ctypes.data, array.nbytes)
    runtime.emulator_shift(slot, buffer.origin * array.itemsize)
    if buffer.covered is not None and checked:
        ctypes.memmove(runtime.emulator_cover(slot), buffer.covered.ctypes.data, buffer.covered.nbytes)
    if not buffer.output:
        runtime.emulator_protect(slot)
    return address


def _outputs(buffers: Sequence[Buffer | None], places: Sequence[int]) -> dict[str, np.ndarray]:
    outputs = {}
    for buffer, address in zip(buffers, places, strict=True):
        if buffer is not None and buffer.output:
            outputs[buffer.name] = np.empty(buffer.array.shape, buffer.array.dtype)
            ctypes.memmove(outputs[buffer.name].ctypes.data, address, buffer.array.nbytes)
    return outputs


def _findings(runtime: ctypes.CDLL) -> list[RawFinding]:
    raw = runtime.emulator_findings()[: runtime.emulator_finding_count()]
    return [
        RawFinding(one.kind.decode(), one.message.decode(), (one.file or b"").decode(), one.line, one.code, one.other)
        for one in raw
    ]


def _work(runtime: ctypes.CDLL, buffers: Sequence[Buffer | None], constants: frozenset[str]) -> Work:
    device, constant, threadgroup = dict[str, Traffic](), dict[str, Traffic](), dict[str, Traffic]()
    for slot in range(runtime.emulator_slots()):
        raw = runtime.emulator_traffic(slot)
        if raw.name is None:
            continue
        name = raw.name.decode()
        space = threadgroup if slot >= native.BUFFER_SLOTS else constant if name in constants else device
        space[name] = Traffic(raw.read, raw.written)
    counts = runtime.emulator_counts().contents
    return Work(device, constant, threadgroup, **{name: getattr(counts, name) for name in native.COUNTS})
