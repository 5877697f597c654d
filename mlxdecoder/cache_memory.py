"""How many bytes a cache holds: by formula, and in a cache that is made and filled."""

from __future__ import annotations

from dataclasses import dataclass, replace

import mlx.core as mx

from mlxdecoder.cache import KVCache
from mlxdecoder.config import ModelConfig
from mlxdecoder.models import make_self_cache

FORMULA = """\
bytes = 2 L B Hkv dh n b: keys and values of L layers, B rows, Hkv key heads of width dh, n tokens, b bytes a number.
n is the number of tokens rounded up to 32 where a cache grows, or its bound where it has one and that is less.
b is 4 for float32 and 2 for half types; in a quantised cache it is bits / 8, and 2 b / group size for scales."""


@dataclass(frozen=True)
class CacheKind:
    """A way to keep keys and values: of a model of this configuration, at most `bound` tokens, in so many bits."""

    name: str
    config: ModelConfig
    bound: int | None = None
    bits: int | None = None
    group_size: int = 64

    def formula(self, tokens: int, batch: int = 1, number: int = 4) -> int:
        """The bytes that `FORMULA` gives after so many tokens, read at once or one by one; `number` is b."""
        config, bounds = self.config, [bound for bound in (self.bound, self.config.window) if bound is not None]
        n = min(tokens, *bounds) if bounds else -(-tokens // KVCache.step) * KVCache.step
        numbers = 2 * config.n_layers * batch * config.kv_heads * config.width_per_head * n
        if self.bits is None:
            return numbers * number
        return numbers * self.bits // 8 + 2 * numbers // self.group_size * number

    def held(self, tokens: int, batch: int = 1, dtype: mx.Dtype = mx.float32) -> int:
        """The bytes that the caches of all layers hold when they have read so many tokens."""
        new = mx.zeros((batch, self.config.kv_heads, tokens, self.config.width_per_head), dtype)
        held = 0
        for _ in range(self.config.n_layers):
            cache = make_self_cache(self.config, self.bound)
            if self.bits is not None:
                cache = cache.to_quantized(self.group_size, self.bits)
            cache.update_and_fetch(new, new)
            held += cache.nbytes
        return held


def kinds_of(config: ModelConfig, tokens: int) -> list[CacheKind]:
    """The cache of a model beside others: of a key head for each query head, grouped, bounded, quantised.

    What the configuration does not say is supposed: key heads for a quarter of the query heads, a bound of a quarter of
    the tokens. Quantised caches are left out where no group fits into the width of a head.
    """
    heads, own = config.n_heads, config.kv_heads
    fewer = own if own < heads else max(heads // 4, 1)
    kinds = [
        CacheKind(f"full, Hkv = {heads}", replace(config, n_kv_heads=heads, window=None)),
        CacheKind(f"grouped, Hkv = {fewer}", replace(config, n_kv_heads=fewer, window=None)),
    ]
    unbounded, bound = replace(config, window=None), config.window or max(tokens // 4, 1)
    kinds.append(CacheKind(f"bounded to {bound} tokens", unbounded, bound))
    group_size = next((size for size in (64, 32) if config.width_per_head % size == 0), None)
    if group_size is not None:
        kinds += [CacheKind(f"kv_bits={bits}", unbounded, None, bits, group_size) for bits in (8, 4)]
    return kinds
