"""A cache of bounded size."""

from __future__ import annotations

from typing import NoReturn

import mlx.core as mx
import numpy as np

from mlxdecoder.cache.shared import Cache, KeysAndValues, causal_mask
from mlxdecoder.errors import UserError
from mlxdecoder.masks import Mask, Window


class RotatingKVCache(Cache):
    """Keeps the first `keep` tokens and the newest ones, `max_size` in all, in the order in which they came.

    Several tokens at once still see all that one at a time would have seen: what is too old is dropped afterwards.
    """

    def __init__(self, max_size: int, keep: int = 0) -> None:
        if not 0 <= keep < max_size:
            raise UserError(f"keep = {keep}: wanted from 0 to below max_size = {max_size}.")
        self.max_size, self.keep = max_size, keep

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> KeysAndValues:
        """Append keys and values of new tokens; gives the remembered ones and the new ones."""
        self.offset += keys.shape[2]
        if self.keys is not None and self.values is not None:
            keys = mx.concatenate([self._newest(self.keys, self.max_size - 1), keys], axis=2)
            values = mx.concatenate([self._newest(self.values, self.max_size - 1), values], axis=2)
        self.keys, self.values = (mx.contiguous(self._newest(x, self.max_size)) for x in (keys, values))
        return keys, values

    @property
    def reach(self) -> Mask:
        """What is remembered for a query, as a mask."""
        return Window(self.max_size - self.keep, self.keep)

    def key_slots(self, T: int) -> np.ndarray:
        """The slots of the keys that the next `T` queries will be given: [S]."""
        if self.offset < self.max_size:
            return np.arange(self.offset + T)
        recent = np.arange(self.offset - (self.max_size - 1 - self.keep), self.offset + T)
        return np.concatenate([np.arange(self.keep), recent])

    @property
    def state(self) -> KeysAndValues | None:
        """What is remembered: keys and values of up to `max_size` tokens."""
        return None if self.keys is None or self.values is None else (self.keys, self.values)

    @state.setter
    def state(self, state: KeysAndValues) -> None:
        self.keys, self.values = state

    @property
    def meta_state(self) -> tuple[str, ...]:
        return str(self.keep), str(self.max_size), str(self.offset)

    @meta_state.setter
    def meta_state(self, meta: tuple[str, ...]) -> None:
        self.keep, self.max_size, self.offset = map(int, meta)

    def is_trimmable(self) -> bool:
        """Only while nothing has been forgotten."""
        return self.offset < self.max_size

    def trim(self, n: int) -> int:
        """Forget the last `n` tokens while that is possible; gives how many were forgotten."""
        n = min(self.offset, max(n, 0)) if self.is_trimmable() else 0
        if n and self.keys is not None and self.values is not None:
            self.offset -= n
            self.keys, self.values = self.keys[..., : self.offset, :], self.values[..., : self.offset, :]
        if self.offset == 0:
            self.keys = self.values = None
        return n

    def make_mask(self, N: int, window_size: int | None = None) -> mx.array | None:
        """The causal mask [1, 1, N, S] of the next `N` queries, True = may attend; None when they see everything."""
        queries = np.arange(self.offset, self.offset + N)
        return causal_mask(queries, self.key_slots(N), self.reach, window_size)

    def to_quantized(self, group_size: int = 64, bits: int = 4) -> NoReturn:
        raise UserError("to_quantized: a bounded cache is not quantised; leave out the bound, or the bits.")

    def _newest(self, x: mx.array, count: int) -> mx.array:
        if x.shape[2] <= count:
            return x
        recent = x[..., x.shape[2] - (count - self.keep) :, :]
        return recent if self.keep == 0 else mx.concatenate([x[..., : self.keep, :], recent], axis=2)
