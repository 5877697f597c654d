"""What a watcher wants of attention: the weights of some heads and rows, or only what they add up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import mlx.core as mx
import numpy as np

from mlxdecoder.kernels import plan
from mlxdecoder.kernels.arguments import Arguments, mask_inputs
from mlxdecoder.kernels.launch import Output
from mlxdecoder.kernels.structure import Structure

WANTED = ("query", "key", "lse", "slots", "hidden", "query_documents", "key_documents", "allowed", "bias", "scale")


def weights(given: Arguments, heads: Sequence[int], rows: Sequence[int]) -> mx.array:
    """The weights of these heads and rows: [B, heads, rows, S] in float32. Rows that see nothing are zeros."""
    shape = given.shape
    outputs = {"weights": Output((shape.B, len(heads), len(rows), shape.S), mx.float32)}
    (found,) = _chosen(given, heads, rows).launch(plan.weights(shape, len(heads), len(rows)), outputs)
    return found


def mass(given: Arguments, intended: Structure, heads: Sequence[int], rows: Sequence[int]) -> tuple[mx.array, mx.array]:
    """The sum of each row's weights, and what of it lies outside the intended mask: both [B, heads, rows]."""
    shape = given.shape
    outputs = {name: Output((shape.B, len(heads), len(rows)), mx.float32) for name in ("row_sum", "outside")}
    meant = {f"intended_{name}": array for name, array in mask_inputs(intended, shape).items() if name != "bias"}
    row_sum, outside = (
        _chosen(given, heads, rows)
        .also(**meant)
        .launch(
            plan.mass(shape, len(heads), len(rows)),
            outputs,
            INTENDED_DOCUMENTS=intended.documents is not None,
            INTENDED_ALLOWED=intended.allowed is not None,
        )
    )
    return row_sum, outside


def _chosen(given: Arguments, heads: Sequence[int], rows: Sequence[int]) -> Arguments:
    wanted = replace(given, inputs={name: given.inputs[name] for name in WANTED})
    return wanted.also(heads=mx.array(np.array(heads, np.int32)), rows=mx.array(np.array(rows, np.int32)))
