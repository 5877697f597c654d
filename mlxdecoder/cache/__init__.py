"""Key/value caches with mlx-lm's names and meaning, and one that keeps the keys and values of a source.

Keys and values are [B, Hkv, T, dh]; `offset` counts all tokens that were ever fed; `nbytes` is the memory held.
"""

from mlxdecoder.cache.crossing import CrossAttentionCache, SelfAttentionCache, Source, TranslatorCache
from mlxdecoder.cache.full import KVCache, QuantizedKVCache
from mlxdecoder.cache.rotating import RotatingKVCache

__all__ = [
    "CrossAttentionCache",
    "KVCache",
    "QuantizedKVCache",
    "RotatingKVCache",
    "SelfAttentionCache",
    "Source",
    "TranslatorCache",
]
