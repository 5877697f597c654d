"""Rows of token ids: checked, padded to one length, run in batches of like length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import mlx.core as mx
import numpy as np

from mlxdecoder.errors import UserError


def as_rows(inputs: object) -> list[list[int]]:
    """Ids as lists; raises `UserError` unless there is at least one row, and in each at least one whole number."""
    rows = inputs.tolist() if isinstance(inputs, mx.array | np.ndarray) else list(cast(Any, inputs))
    if not rows:
        raise UserError("inputs: none found; at least one sequence of ids is wanted.")
    if any(isinstance(row, int | float | str) for row in rows):
        raise UserError("inputs: lists of ids are wanted; encode texts first, and put a single one in brackets.")
    rows = [row.tolist() if isinstance(row, mx.array | np.ndarray) else list(row) for row in rows]
    for i, row in enumerate(rows):
        if not row:
            raise UserError(f"inputs: row {i} has no tokens; at least one is wanted.")
        if not all(isinstance(token, int | np.integer) for token in row):
            raise UserError(f"inputs: row {i} has something else than whole numbers; encode the text first.")
    return [[int(token) for token in row] for row in rows]


def pad_right(rows: Sequence[Sequence[int]], pad: int, width: int | None = None) -> np.ndarray:
    """Rows of ids as one array [B, width], filled up behind; the width is that of the longest row unless given."""
    width = max(map(len, rows)) if width is None else width
    return np.array([[*row, *[pad] * (width - len(row))] for row in rows], dtype=np.int32)


def pad_left(rows: Sequence[Sequence[int]], pad: int) -> np.ndarray:
    """Rows of ids as one array [B, longest], filled up in front."""
    width = max(map(len, rows))
    return np.array([[*[pad] * (width - len(row)), *row] for row in rows], dtype=np.int32)


def in_batches(
    inputs: Sequence[Sequence[int]],
    run: Callable[[list[Sequence[int]]], list[Any]],
    batch_size: int = 32,
    progress: Callable[[int], None] | None = None,
) -> list[Any]:
    """Run batches of inputs of like length, longest first; the results stand in the order of the inputs.

    `progress` is told how many inputs each batch has done.
    """
    order = sorted(range(len(inputs)), key=lambda i: -len(inputs[i]))
    results: list[Any] = [None] * len(inputs)
    for begin in range(0, len(order), batch_size):
        chosen = order[begin : begin + batch_size]
        for i, result in zip(chosen, run([inputs[i] for i in chosen]), strict=True):
            results[i] = result
        if progress:
            progress(len(chosen))
    return results
