"""What a decoder layer keeps that attends to a source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import mlx.core as mx
import numpy as np

from mlxdecoder.cache.full import KVCache, QuantizedKVCache
from mlxdecoder.cache.rotating import RotatingKVCache
from mlxdecoder.cache.shared import Cache, KeysAndValues

SelfAttentionCache = KVCache | QuantizedKVCache | RotatingKVCache


class Source(Protocol):
    """An encoded source: its states [B, S, d], and what tells it from every other one."""

    @property
    def states(self) -> mx.array: ...

    @property
    def source(self) -> object: ...


Keeps = Callable[[object, object], bool]


class CrossAttentionCache(Cache):
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
            self.keys, self.values = (mx.contiguous(x) for x in project())
            self.source, self.offset = current.source, self.keys.shape[2]
        return self.keys, self.values


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

    def to_quantized(self, group_size: int = 64, bits: int = 4) -> TranslatorCache:
        """The same with the target in fewer bytes; what is kept of the source stays as it is."""
        return TranslatorCache(self.own.to_quantized(group_size, bits), self.cross)

    @property
    def fits(self) -> tuple[int, int, int] | None:
        return self.own.fits

    def reorder(self, rows: Sequence[int]) -> None:
        self.own.reorder(rows)
        self.cross.reorder(rows)
