"""How much work a launch did, counted access by access: what two kernels on the same inputs can be compared by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Traffic:
    """Bytes that all threads together read from and wrote to a buffer; an atomic update counts as both."""

    read: int
    written: int


@dataclass(frozen=True)
class Work:
    """The counts of a launch.

    Args:
        device: traffic of each buffer in device memory, by name.
        constant: traffic of each buffer that the kernel sees as `constant`: shapes, strides, scalars, and arrays of
            fewer than 8 elements.
        threadgroup: traffic of each threadgroup array.
        threadgroups: threadgroups launched.
        threads: threads launched.
        threadgroup_barriers: barriers passed, each once a threadgroup.
        threadgroup_barrier_calls: the same, counted in every thread.
        simdgroup_barriers: barriers passed, each once a simdgroup.
        simd_operations: reductions, shuffles and the like, each once a simdgroup.
        matrix_multiplies: products of 8 x 8 matrices, each once a simdgroup.
        matrix_moves: 8 x 8 matrices loaded or stored, each once a simdgroup.
        threadgroup_bytes: threadgroup memory of one threadgroup, each array rounded up to 16 bytes.
    """

    device: Mapping[str, Traffic]
    constant: Mapping[str, Traffic]
    threadgroup: Mapping[str, Traffic]
    threadgroups: int
    threads: int
    threadgroup_barriers: int
    threadgroup_barrier_calls: int
    simdgroup_barriers: int
    simd_operations: int
    matrix_multiplies: int
    matrix_moves: int
    threadgroup_bytes: int

    @property
    def device_bytes_read(self) -> int:
        return sum(traffic.read for traffic in self.device.values())

    @property
    def device_bytes_written(self) -> int:
        return sum(traffic.written for traffic in self.device.values())

    @property
    def device_bytes(self) -> int:
        return self.device_bytes_read + self.device_bytes_written

    @property
    def constant_bytes_read(self) -> int:
        return sum(traffic.read for traffic in self.constant.values())

    @property
    def threadgroup_bytes_read(self) -> int:
        return sum(traffic.read for traffic in self.threadgroup.values())

    @property
    def threadgroup_bytes_written(self) -> int:
        return sum(traffic.written for traffic in self.threadgroup.values())
