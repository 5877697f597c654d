"""The shape of an attention, and what the kernels can do of it."""

from __future__ import annotations

from dataclasses import dataclass

import mlx.core as mx

from mlxdecoder.errors import UserError

WIDTHS = range(8, 257, 8)
TYPES = (mx.float32, mx.float16, mx.bfloat16)
MOST_DECODED = 8  # queries that the decoding kernel takes


@dataclass(frozen=True)
class Shape:
    """Batch, query heads, key heads, queries, keys, widths of keys and values, and the element type."""

    B: int
    H: int
    Hkv: int
    T: int
    S: int
    dk: int
    dv: int
    dtype: mx.Dtype

    @classmethod
    def of(cls, query: mx.array, key: mx.array, value: mx.array) -> Shape:
        """The shape of query [B, H, T, dk], key [B, Hkv, S, dk] and value [B, Hkv, S, dv]."""
        B, H, T, dk = query.shape
        return cls(B, H, key.shape[1], T, key.shape[2], dk, value.shape[3], query.dtype)

    @property
    def n_sharing(self) -> int:
        """How many query heads share a key head."""
        return self.H // self.Hkv

    @property
    def bytes(self) -> int:
        """Bytes of an element."""
        return int(self.dtype.size)

    @property
    def obstacle(self) -> str | None:
        """Why the kernels cannot serve this shape; None where they can."""
        if self.dtype not in TYPES:
            return f"{self.dtype}: wanted float32, float16 or bfloat16"
        for name, width in (("key", self.dk), ("value", self.dv)):
            if width not in WIDTHS:
                return f"{name} width {width}: wanted 8 to 256 in steps of 8"
        if 0 in (self.B, self.T, self.S):
            return "nothing to attend to" if self.S == 0 else "nobody attends"
        return None


def check(query: mx.array, key: mx.array, value: mx.array) -> Shape:
    """The shape of these operands; raises `UserError` for what does not fit together, or the kernels."""
    for name, array in (("query", query), ("key", key), ("value", value)):
        if array.ndim != 4:
            raise UserError(f"{name}: shape {array.shape} found, [batch, heads, length, width] wanted.")
        if array.dtype != query.dtype:
            raise UserError(f"{name}: {array.dtype} found, {query.dtype} wanted, as the query has it.")
    shape = Shape.of(query, key, value)
    if key.shape[0] != shape.B or key.shape[3] != shape.dk or not shape.Hkv or shape.H % shape.Hkv:
        wanted = f"batch {shape.B}, width {shape.dk} and a divisor of {shape.H} heads"
        raise UserError(f"key: shape {key.shape} found, wanted {wanted}.")
    if value.shape[:3] != key.shape[:3]:
        raise UserError(f"value: shape {value.shape} found, wanted {key.shape[:3]} and any width, as the key has it.")
    if shape.obstacle:
        raise UserError(f"attention: {shape.obstacle}; MLXDECODER_KERNELS=off computes it in plain MLX.")
    return shape
