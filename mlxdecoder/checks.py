"""The checks at the public door of the models: what comes in is right, or is refused with its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import mlx.core as mx
import numpy as np

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError

Ids: TypeAlias = mx.array | np.ndarray | Sequence[Sequence[int]]


def check_ids(name: str, ids: Ids, n_ids: int, batch: int | None = None) -> mx.array:
    """Whole numbers [B, T] from 0 to below `n_ids`, as an array; raises `UserError` for anything else."""
    try:
        found: np.ndarray = np.array(ids)
    except ValueError:
        raise UserError(f"{name}: rows of different lengths found; pad them to one length.") from None
    if found.ndim != 2 or (batch is not None and len(found) != batch):
        raise UserError(f"{name}: shape {found.shape} found, [{'batch' if batch is None else batch}, length] wanted.")
    if found.shape[1] == 0:
        raise UserError(f"{name}: no tokens found; at least one is wanted.")
    if found.size and not np.issubdtype(found.dtype, np.integer):
        raise UserError(f"{name}: {found.dtype} found, whole numbers wanted.")
    if found.size and not 0 <= found.min() <= found.max() < n_ids:
        wrong = found.min() if found.min() < 0 else found.max()
        raise UserError(f"{name}: id {wrong} found, ids from 0 to {n_ids - 1} wanted (the vocabulary has {n_ids}).")
    return mx.array(found.astype(np.int32))


def check_cache(cache: Sequence[Any] | None, config: ModelConfig, batch: int) -> None:
    """Raise `UserError` for a cache of another model or of another batch."""
    if cache is None:
        return
    if len(cache) != config.n_layers:
        raise UserError(f"cache: {len(cache)} layers found, {config.n_layers} wanted; use make_prompt_cache(model).")
    wanted = (batch, config.kv_heads, config.width_per_head)
    if cache[0].fits not in (None, wanted):
        raise UserError(f"cache: made for {cache[0].fits} rows, heads and width, {wanted} wanted; use a new one.")
