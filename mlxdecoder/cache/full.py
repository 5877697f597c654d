"""Caches that keep everything: as it is, or in fewer bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import mlx.core as mx
import numpy as np

from mlxdecoder.cache.shared import Cache, KeysAndValues, causal_mask
from mlxdecoder.errors import UserError
from mlxdecoder.masks import Full, Mask

Quantised = tuple[mx.array, mx.array, mx.array]
"""Packed numbers [B, Hkv, T, dh * bits / 32], and the scale and the bias of each group [B, Hkv, T, dh / group_size]."""


class KVCache(Cache):
    """Keeps everything, in room that grows by 32 tokens at a time."""

    step = 32

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> KeysAndValues:
        """Append keys and values of new tokens; gives all of them, old and new."""
        first, last = self.offset, self.offset + keys.shape[2]
        if self.keys is None or self.values is None or last > self.keys.shape[2]:
            self._grow(keys, values)
        assert self.keys is not None and self.values is not None
        self.keys[:, :, first:last] = keys
        self.values[:, :, first:last] = values
        self.offset = last
        return self.keys[:, :, :last], self.values[:, :, :last]

    def key_slots(self, T: int) -> np.ndarray:
        """The slots of the keys that the next `T` queries will be given: [S]."""
        return np.arange(self.offset + T)

    @property
    def reach(self) -> Mask:
        """What is remembered for a query, as a mask: everything."""
        return Full()

    @property
    def state(self) -> KeysAndValues | None:
        """What is filled: keys and values [B, Hkv, offset, dh]."""
        if self.keys is None or self.values is None:
            return None
        return self.keys[..., : self.offset, :], self.values[..., : self.offset, :]

    @state.setter
    def state(self, state: KeysAndValues) -> None:
        self.keys, self.values = state
        self.offset = state[0].shape[2]

    @property
    def meta_state(self) -> tuple[str, ...]:
        return ()

    @meta_state.setter
    def meta_state(self, meta: tuple[str, ...]) -> None:
        if meta:
            raise ValueError("a KVCache has no meta state")

    def to_quantized(self, group_size: int = 64, bits: int = 4) -> QuantizedKVCache:
        """A cache with the same tokens in fewer bytes."""
        cache = QuantizedKVCache(group_size, bits)
        if self.state is not None:
            cache.update_and_fetch(*self.state)
        return cache

    def is_trimmable(self) -> bool:
        return True

    def trim(self, n: int) -> int:
        """Forget the last `n` tokens; gives how many there were to forget."""
        n = min(self.offset, max(n, 0))
        self.offset -= n
        if self.offset == 0:
            self.keys = self.values = None
        return n

    def make_mask(self, N: int, window_size: int | None = None) -> mx.array | None:
        """The causal mask [1, 1, N, S] of the next `N` queries, True = may attend; None when they see everything."""
        queries = np.arange(self.offset, self.offset + N)
        return causal_mask(queries, self.key_slots(N), self.reach, window_size)

    def _grow(self, keys: mx.array, values: mx.array) -> None:
        rounded = -(-keys.shape[2] // self.step) * self.step
        kept = self.state if self.offset else None
        grown = []
        for i, new in enumerate((keys, values)):
            room = mx.zeros((*new.shape[:2], rounded, new.shape[3]), new.dtype)
            grown.append(room if kept is None else mx.concatenate([kept[i], room], axis=2))
        self.keys, self.values = grown


class QuantizedKVCache:
    """Keeps everything in fewer bits: each group of features of a key or a value has its own scale and bias.

    What is handed out is unpacked again, so that attention is the same as over any cache. No number is off by more than
    one step, which is the range of its group divided by 2^bits - 1. The first tokens raise `UserError` when the head
    width is no multiple of `group_size`.
    """

    def __init__(self, group_size: int = 64, bits: int = 8) -> None:
        for name, value, known in (("group_size", group_size, (32, 64, 128)), ("bits", bits, (2, 3, 4, 5, 6, 8))):
            if value not in known:
                raise UserError(f"{name} = {value}: wanted one of {', '.join(map(str, known))}.")
        self.group_size, self.bits = group_size, bits
        self._packed, self._scales, self._biases = KVCache(), KVCache(), KVCache()

    @property
    def _parts(self) -> tuple[KVCache, KVCache, KVCache]:
        return self._packed, self._scales, self._biases

    @property
    def offset(self) -> int:
        return self._packed.offset

    @property
    def nbytes(self) -> int:
        """Bytes of memory held, room not yet used included."""
        return sum(part.nbytes for part in self._parts)

    def __repr__(self) -> str:
        how = f"group_size={self.group_size}, bits={self.bits}"
        return f"{type(self).__name__}({how}, offset={self.offset}, nbytes={self.nbytes})"

    @property
    def fits(self) -> tuple[int, int, int] | None:
        """Rows, heads and width of what is held; None while nothing is."""
        if self._scales.fits is None:
            return None
        B, Hkv, n_groups = self._scales.fits
        return B, Hkv, n_groups * self.group_size

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> KeysAndValues:
        """Append keys and values of new tokens; gives all of them, old and new, as they are remembered."""
        new = zip(self._quantise(keys), self._quantise(values), strict=True)
        for part, (of_keys, of_values) in zip(self._parts, new, strict=True):
            part.update_and_fetch(of_keys, of_values)
        assert self.state is not None
        held_keys, held_values = self.state
        return self._dequantise(held_keys), self._dequantise(held_values)

    def key_slots(self, T: int) -> np.ndarray:
        """The slots of the keys that the next `T` queries will be given: [S]."""
        return self._packed.key_slots(T)

    @property
    def reach(self) -> Mask:
        """What is remembered for a query, as a mask: everything."""
        return Full()

    @property
    def state(self) -> tuple[Quantised, Quantised] | None:
        """What is filled: keys and values, three arrays each."""
        packed, scales, biases = (part.state for part in self._parts)
        if packed is None or scales is None or biases is None:
            return None
        return (packed[0], scales[0], biases[0]), (packed[1], scales[1], biases[1])

    @state.setter
    def state(self, state: tuple[Quantised, Quantised]) -> None:
        for part, of_keys, of_values in zip(self._parts, *state, strict=True):
            part.state = of_keys, of_values

    @property
    def meta_state(self) -> tuple[str, ...]:
        return str(self.group_size), str(self.bits)

    @meta_state.setter
    def meta_state(self, meta: tuple[str, ...]) -> None:
        self.group_size, self.bits = map(int, meta)

    def is_trimmable(self) -> bool:
        return True

    def trim(self, n: int) -> int:
        """Forget the last `n` tokens; gives how many there were to forget."""
        return max(part.trim(n) for part in self._parts)

    def reorder(self, rows: Sequence[int]) -> None:
        """Make the batch of these rows, in this order; a row may be taken more than once, or dropped."""
        for part in self._parts:
            part.reorder(rows)

    def make_mask(self, N: int, window_size: int | None = None) -> mx.array | None:
        """The causal mask [1, 1, N, S] of the next `N` queries, True = may attend; None when they see everything."""
        queries = np.arange(self.offset, self.offset + N)
        return causal_mask(queries, self.key_slots(N), self.reach, window_size)

    def to_quantized(self, group_size: int = 64, bits: int = 4) -> NoReturn:
        raise UserError(f"to_quantized: quantised to {self.bits} bits already; start from the cache as it was.")

    def _quantise(self, x: mx.array) -> Quantised:
        if x.shape[-1] % self.group_size:
            raise UserError(
                f"group_size = {self.group_size}: a divisor of the head width {x.shape[-1]} is wanted; "
                "the smallest that there is is 32."
            )
        packed, scales, biases = mx.quantize(x, self.group_size, self.bits)
        return packed, scales, biases

    def _dequantise(self, held: Quantised) -> mx.array:
        return mx.dequantize(*held, self.group_size, self.bits)
