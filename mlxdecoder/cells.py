"""Cells of a map in a picture: the outline about some of them, and what stays of them where there are too many."""

from __future__ import annotations

import numpy as np


def mask_outline(allowed: np.ndarray) -> np.ndarray:
    """The border of the allowed region as straight lines, [N, 2, 2]: (x, y) of both ends of each.

    `allowed` is [T, S] bool; its cell (t, s) is the square of side 1 about x = s, y = t. The lines lie between cells
    that differ and along the rim of the picture.
    """
    padded = np.pad(np.asarray(allowed, dtype=bool), 1)
    across = _runs(padded[:-1, 1:-1] != padded[1:, 1:-1])
    down = _runs((padded[1:-1, :-1] != padded[1:-1, 1:]).T)
    lines = [((start, at), (end, at)) for at, start, end in across] + [
        ((at, start), (at, end)) for at, start, end in down
    ]
    return np.array(lines, dtype=np.float64).reshape(-1, 2, 2) - 0.5


def max_pool(values: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """The largest of each block of `rows` x `columns` cells of `values` [T, S]; a NaN wins over its whole block.

    A thin diagonal stays visible where cells are smaller than pixels. Blocks at the rim may be smaller.
    """
    height, width = values.shape
    filled = np.pad(values, ((0, -height % rows), (0, -width % columns)), constant_values=-np.inf)
    blocks = filled.reshape(filled.shape[0] // rows, rows, filled.shape[1] // columns, columns)
    return np.asarray(blocks.max(axis=(1, 3)))


def _runs(border: np.ndarray) -> list[tuple[int, int, int]]:
    """(row, start, end) of each run of True in the rows of `border`."""
    edges = np.diff(np.pad(border, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    rows, starts = np.nonzero(edges == 1)
    ends = np.nonzero(edges == -1)[1]
    return list(zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True))
