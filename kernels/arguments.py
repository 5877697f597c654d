"""What the kernels are given: queries and keys, the mask as mask.metal reads it, and which parts of it there are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import mlx.core as mx
import numpy as np

from mlxdecoder.errors import UserError
from mlxdecoder.kernels import mode
from mlxdecoder.kernels.launch import Input, Output, Template, launch
from mlxdecoder.kernels.mode import Place
from mlxdecoder.kernels.plan import Plan
from mlxdecoder.kernels.shapes import Shape
from mlxdecoder.kernels.structure import Structure

# Evaluated, so that every thread can use them.
NOTHING = {mx.bool_: mx.array(np.zeros((1, 1, 1, 8), bool)), mx.float32: mx.array(np.zeros((1, 1, 1, 8), np.float32))}


@dataclass(frozen=True)
class Arguments:
    """The inputs of the kernels by name, and what their text is made for."""

    shape: Shape
    inputs: dict[str, Input]
    template: dict[str, Template]
    place: Place

    def also(self, **inputs: Input) -> Arguments:
        """These and others; others of the same name take the place of these."""
        return replace(self, inputs=self.inputs | inputs)

    def launch(self, plan: Plan, outputs: dict[str, Output], **more: Template) -> list[mx.array]:
        """Run a kernel on them."""
        return launch(plan.kernel, self.inputs, outputs, self.template | plan.sizes | more, plan.groups, self.place)


def arguments(shape: Shape, structure: Structure, scale: float, **operands: mx.array) -> Arguments:
    """What every kernel that makes scores wants. Raises `UserError` for a mask of another shape."""
    inputs: dict[str, Input] = {**operands, **mask_inputs(structure, shape), "scale": scale}
    template: dict[str, Template] = {
        "Element": shape.dtype,
        "DOCUMENTS": structure.documents is not None,
        "ALLOWED": structure.allowed is not None,
        "BIASED": structure.bias is not None,
    }
    return Arguments(shape, inputs, template, mode.place())


def mask_inputs(structure: Structure, shape: Shape) -> dict[str, mx.array]:
    """The arrays that say who sees whom, made once for all layers; what a mask does not have are zeros, never read."""
    sizes = shape.B, shape.H, shape.T, shape.S
    if sizes not in structure.drawn:
        structure.drawn[sizes] = _mask_inputs(structure, shape)
    return structure.drawn[sizes]


def _mask_inputs(structure: Structure, shape: Shape) -> dict[str, mx.array]:
    queries, keys = structure.documents or (np.zeros((1, 8), np.int32), np.zeros((1, 8), np.int32))
    return {
        "slots": mx.array(structure.numbers),
        "hidden": mx.array(_for_batch("padding", structure.hidden, shape.B)),
        "query_documents": _enough(mx.array(_for_batch("documents", queries, shape.B))),
        "key_documents": _enough(mx.array(_for_batch("documents", keys, shape.B))),
        "allowed": _spread("mask", structure.allowed, mx.bool_, shape),
        "bias": _spread("bias", structure.bias, mx.float32, shape),
    }


def _for_batch(name: str, rows: np.ndarray, B: int) -> np.ndarray:
    if len(rows) not in (1, B):
        raise UserError(f"mask: its {name} are made for {len(rows)} rows, but the batch has {B}.")
    return np.ascontiguousarray(np.broadcast_to(rows, (B, *rows.shape[1:])))


def _spread(name: str, array: mx.array | None, dtype: mx.Dtype, shape: Shape) -> mx.array:
    """An array for every head and row [B, H, T, S], without copying it; eight zeros for none."""
    if array is None:
        return NOTHING[dtype]
    wanted = (shape.B, shape.H, shape.T, shape.S)
    if array.ndim != 4 or any(found not in (1, size) for found, size in zip(array.shape, wanted, strict=True)):
        raise UserError(f"{name}: shape {array.shape} found, wanted one that broadcasts to {wanted}.")
    return _enough(mx.broadcast_to(array.astype(dtype), wanted))


def _enough(array: mx.array) -> mx.array:
    """At least eight elements, behind the first axis: MLX gives smaller arrays in an address space of their own."""
    return array if array.size >= 8 else mx.pad(array, [(0, 8)] + [(0, 0)] * (array.ndim - 1))
