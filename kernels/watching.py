"""What a watcher wants of attention: the weights of some heads and rows, or only what they add up to."""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx
import numpy as np

from mlxdecoder.kernels import plan
from mlxdecoder.kernels.arguments import Arguments, mask_inputs
from mlxdecoder.kernels.launch import Input, Output, launch
from mlxdecoder.kernels.structure import Structure

WANTED = ("query", "key", "lse", "slots", "hidden", "query_documents", "key_documents", "allowed", "bias", "scale")


def weights(given: Arguments, heads: Sequence[int], rows: Sequence[int]) -> mx.array:
    """The weights of these heads and rows: [B, heads, rows, S] in float32. Rows that see nothing are zeros."""
    shape, step = given.shape, plan.weights(given.shape, len(heads), len(rows))
    outputs = {"weights": Output((shape.B, len(heads), len(rows), shape.S), mx.float32)}
    inputs = _chosen(given, heads, rows)
    (found,) = launch("weights", inputs, outputs, given.template | step.sizes, step.groups)
    return found


def mass(given: Arguments, intended: Structure, heads: Sequence[int], rows: Sequence[int]) -> tuple[mx.array, mx.array]:
    """The sum of each row's weights, and what of it lies outside the intended mask: both [B, heads, rows]."""
    shape, step = given.shape, plan.mass(given.shape, len(heads), len(rows))
    outputs = {name: Output((shape.B, len(heads), len(rows)), mx.float32) for name in ("row_sum", "outside")}
    inputs = _chosen(given, heads, rows)
    inputs |= {f"intended_{name}": array for name, array in mask_inputs(intended, shape).items()}
    intention = {
        "INTENDED_DOCUMENTS": intended.documents is not None,
        "INTENDED_ALLOWED": intended.allowed is not None,
    }
    row_sum, outside = launch("mass", inputs, outputs, given.template | intention | step.sizes, step.groups)
    return row_sum, outside


def _chosen(given: Arguments, heads: Sequence[int], rows: Sequence[int]) -> dict[str, Input]:
    chosen = {name: given.inputs[name] for name in WANTED}
    return chosen | {"heads": mx.array(np.array(heads, np.int32)), "rows": mx.array(np.array(rows, np.int32))}
