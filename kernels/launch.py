"""Launch a kernel on Metal or in the emulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import mlx.core as mx

from mlxdecoder.kernels import source
from mlxdecoder.kernels.mode import Place

Input: TypeAlias = mx.array | float
Template: TypeAlias = bool | int | mx.Dtype
Observer = Callable[[str, Any], None]


@dataclass(frozen=True)
class Output:
    """What a kernel writes."""

    shape: tuple[int, ...]
    dtype: mx.Dtype


@dataclass(frozen=True)
class Groups:
    """How many threadgroups there are along three axes, and how many threads each has."""

    count: tuple[int, int, int]
    threads: int

    @property
    def grid(self) -> tuple[int, int, int]:
        """All threads, as MLX wants to be told."""
        return self.count[0] * self.threads, self.count[1], self.count[2]


def launch(
    name: str,
    inputs: Mapping[str, Input],
    outputs: Mapping[str, Output],
    template: Mapping[str, Template],
    groups: Groups,
    place: Place,
) -> list[mx.array]:
    """Run kernels/`name`.metal at that place; gives its outputs in order."""
    assert place.where != "off"
    kernel = _kernel(name, tuple(inputs), tuple(outputs), place)
    found: list[mx.array] = kernel(
        inputs=list(inputs.values()),
        output_shapes=[output.shape for output in outputs.values()],
        output_dtypes=[output.dtype for output in outputs.values()],
        template=list(template.items()),
        grid=groups.grid,
        threadgroup=(groups.threads, 1, 1),
    )
    for observer in observers:
        observer(name, kernel)
    return found


observers: list[Observer] = []
"""Told of each launch: the name of the kernel, and what was called. The emulator's kernels have counts in `work`."""


@cache
def _kernel(name: str, inputs: Sequence[str], outputs: Sequence[str], place: Place) -> Any:
    text = source.read(name)
    arguments: dict[str, Any] = {
        "name": f"mlxdecoder_{name}",
        "input_names": list(inputs),
        "output_names": list(outputs),
        "source": text.body,
        "header": text.header,
        "ensure_row_contiguous": False,
    }
    if place.where == "metal":
        return mx.fast.metal_kernel(**arguments)
    from mlxdecoder.kernels.emulator import metal_kernel

    return metal_kernel(**arguments, checks=place.checks)
