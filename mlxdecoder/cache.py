"""Key/value caches with mlx-lm's names and meaning, and one that keeps the keys and values of a source.

Keys and values are [B, Hkv, T, dh]; `offset` counts all tokens that were ever fed; `nbytes` is the memory held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import mlx.core as mx
import numpy as np

from mlxdecoder.errors import UserError
from mlxdecoder.masks import Causal, Full, Mask, Window

KeysAndValues = tuple[mx.array, mx.array]


class _Cache:
    """What the caches share: two arrays that are there or not."""

    keys: mx.array | None = None
    values: mx.array | None = None
    offset: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of memory held, room not yet used included."""
        return 0 if self.keys is None or self.values is None else self.keys.nbytes + self.values.nbytes

    def __repr__(self) -> str:
        return f"{type(self).__name__}(offset={self.offset}, nbytes={self.nbytes})"

    @property
    def fits(self) -> tuple[int, int, int] | None:
        """Rows, heads and width of what is held; None while nothing is."""
        return None if self.keys is None else (self.keys.shape[0], self.keys.shape[1], self.keys.shape[3])

    def reorder(self, rows: Sequence[int]) -> None:
        """Make the batch of these rows, in this order; a row may be taken more than once, or dropped."""
        if self.keys is not None and self.values is not None:
            chosen = mx.array(rows)
            self.keys, self.values = self.keys[chosen], self.values[chosen]


class KVCache(_Cache):
    """Keeps everything, in room that grows by 256 tokens at a time."""

    step = 256

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> KeysAndValues:
        """Append keys and values of new tokens; gives all of them, old and new."""
        first, last = self.offset, self.offset + keys.shape[2]
        if self.keys is None or self.values is None or last > self.keys.shape[2]:
            self._grow(keys, values)
        assert self.keys is not None and self.values is not None
        self.keys[..., first:last, :] = keys
        self.values[..., first:last, :] = values
        self.offset = last
        return self.keys[..., :last, :], self.values[..., :last, :]

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
        return _causal_mask(self, N, window_size)

    def _grow(self, keys: mx.array, values: mx.array) -> None:
        rounded = -(-keys.shape[2] // self.step) * self.step
        kept = self.state if self.offset else None
        grown = []
        for i, new in enumerate((keys, values)):
            room = mx.zeros((*new.shape[:2], rounded, new.shape[3]), new.dtype)
            grown.append(room if kept is None else mx.concatenate([kept[i], room], axis=2))
        self.keys, self.values = grown


class RotatingKVCache(_Cache):
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
        return _causal_mask(self, N, window_size)

    def _newest(self, x: mx.array, count: int) -> mx.array:
        if x.shape[2] <= count:
            return x
        recent = x[..., x.shape[2] - (count - self.keep) :, :]
        return recent if self.keep == 0 else mx.concatenate([x[..., : self.keep, :], recent], axis=2)


class Source(Protocol):
    """An encoded source: its states [B, S, d], and what tells it from every other one."""

    @property
    def states(self) -> mx.array: ...

    @property
    def source(self) -> object: ...


Keeps = Callable[[object, object], bool]


class CrossAttentionCache(_Cache):
    """Keeps the keys and values of one source; those of another source take their place, they never mix."""

    source: object = None

    def serves(self, current: Source, keeps: Keeps) -> bool:
        """Whether what is kept will be used for `current`: when `keeps(kept source, current source)`."""
        fits = self.keys is not None and len(self.keys) == len(current.states)
        return fits and keeps(self.source, current.source)

    def key_slots(self, current: Source, keeps: Keeps) -> np.ndarray:
        """The slots of the keys that queries will be given: [S]."""
        kept = self.offset if self.serves(current, keeps) else current.states.shape[1]
        return np.arange(kept)

    def fetch(self, current: Source, project: Callable[[], KeysAndValues], keeps: Keeps) -> KeysAndValues:
        """The keys and values of a source: kept ones when they serve, else projected anew."""
        if self.keys is None or self.values is None or not self.serves(current, keeps):
            self.keys, self.values = project()
            self.source, self.offset = current.source, self.keys.shape[2]
        return self.keys, self.values


SelfAttentionCache = KVCache | RotatingKVCache


@dataclass
class TranslatorCache:
    """The two caches of a decoder layer that crosses."""

    own: SelfAttentionCache
    cross: CrossAttentionCache

    @property
    def offset(self) -> int:
        return self.own.offset

    @property
    def nbytes(self) -> int:
        return self.own.nbytes + self.cross.nbytes

    def is_trimmable(self) -> bool:
        return self.own.is_trimmable()

    def trim(self, n: int) -> int:
        return self.own.trim(n)

    @property
    def fits(self) -> tuple[int, int, int] | None:
        return self.own.fits

    def reorder(self, rows: Sequence[int]) -> None:
        self.own.reorder(rows)
        self.cross.reorder(rows)


def _causal_mask(cache: SelfAttentionCache, N: int, window_size: int | None) -> mx.array | None:
    mask = Causal() & cache.reach & (Full() if window_size is None else Window(window_size))
    drawn = mask.allowed(np.arange(cache.offset, cache.offset + N), cache.key_slots(N))
    return None if drawn.all() else mx.array(drawn)
