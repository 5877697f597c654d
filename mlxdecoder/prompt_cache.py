"""The caches of all layers of a model together: made, trimmed, saved and loaded, with mlx-lm's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import mlx.core as mx
from mlx.utils import tree_flatten

from mlxdecoder.cache import KVCache, QuantizedKVCache, RotatingKVCache, SelfAttentionCache, TranslatorCache
from mlxdecoder.errors import UserError
from mlxdecoder.safetensors import load_safetensors, save_safetensors

PromptCache = Sequence[SelfAttentionCache] | Sequence[TranslatorCache]


def make_prompt_cache(model: CachedModel, max_kv_size: int | None = None) -> PromptCache:
    """An empty cache for each decoder layer of a model; `max_kv_size` tokens at most, of which the first 4 are kept."""
    return model.make_cache(max_kv_size)


def can_trim_prompt_cache(cache: PromptCache) -> bool:
    return all(layer.is_trimmable() for layer in cache)


def trim_prompt_cache(cache: PromptCache, num_tokens: int) -> int:
    """Forget the last `num_tokens` in every layer; gives how many were forgotten, 0 where a cache cannot."""
    if not cache or not can_trim_prompt_cache(cache):
        return 0
    trimmed = [layer.trim(num_tokens) for layer in cache]
    return trimmed[0]


def save_prompt_cache(path: Path | str, cache: Sequence[SelfAttentionCache]) -> None:
    """Write the caches of a language model to a safetensors file, whole or not at all."""
    arrays: dict[str, mx.array] = {}
    metadata: dict[str, str] = {"layers": str(len(cache))}
    for i, layer in enumerate(cache):
        if not isinstance(layer, SelfAttentionCache):
            raise UserError(f"cache: layer {i} is bound to a source; only caches of a language model can be saved.")
        metadata[f"{i}.class"] = type(layer).__name__
        metadata[f"{i}.meta"] = ",".join(layer.meta_state)
        if layer.state is not None:
            keys, values = layer.state
            arrays |= tree_flatten({f"{i}.keys": keys, f"{i}.values": values}, destination={})
    save_safetensors(path, arrays, metadata)


def load_prompt_cache(path: Path | str) -> list[SelfAttentionCache]:
    """Read what `save_prompt_cache` wrote; raises `UserError` for another file."""
    arrays, metadata = load_safetensors(path)
    if "layers" not in metadata:
        raise UserError(f"{path}: no prompt cache; wanted a file that save_prompt_cache wrote.")
    try:
        return [_load_layer(i, arrays, metadata) for i in range(int(metadata["layers"]))]
    except (KeyError, ValueError) as error:
        raise UserError(f"{path}: a damaged prompt cache ({error}).") from None


class CachedModel(Protocol):
    def make_cache(self, max_kv_size: int | None = None) -> PromptCache: ...


def _load_layer(i: int, arrays: dict[str, mx.array], metadata: dict[str, str]) -> SelfAttentionCache:
    kinds: dict[str, Callable[[], SelfAttentionCache]] = {
        "KVCache": KVCache,
        "QuantizedKVCache": QuantizedKVCache,
        "RotatingKVCache": lambda: RotatingKVCache(max_size=1),
    }
    layer = kinds[metadata[f"{i}.class"]]()
    if any(name.startswith(f"{i}.") for name in arrays):
        layer.state = _held(f"{i}.keys", arrays), _held(f"{i}.values", arrays)
    layer.meta_state = tuple(part for part in metadata[f"{i}.meta"].split(",") if part)
    return layer


def _held(name: str, arrays: dict[str, mx.array]) -> Any:
    """One array, or the three of a quantised one."""
    return arrays[name] if name in arrays else tuple(arrays[f"{name}.{part}"] for part in range(3))
