"""What can be seen of an implementation from outside, with the truth of attention beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tests.wild.entry import Wild

Array = NDArray[Any]
ToArray = Callable[[Array], Any]
SEED = 3


def ids(*shape: int, seed: int = 0) -> Array:
    """Ids that are neither padding nor separator anywhere in the collection."""
    return np.random.default_rng(seed).integers(4, 20, shape)


def told(f: Any, *inputs: Array, array: ToArray = mx.array, **keywords: Any) -> Array:
    """What f gives for inputs that are turned into its arrays."""
    out = f(*map(array, inputs), **keywords)
    return np.array(out.detach().numpy() if hasattr(out, "detach") else out, dtype=np.float64)


def apart(a: Array, b: Array) -> float:
    """The largest difference, in standard deviations of the first; infinite where one is not finite."""
    difference = np.abs(a - b).max() / a.std()
    return float(difference) if np.isfinite(difference) else np.inf


def truth(q: Array, k: Array, v: Array, allowed: Array) -> Array:
    """Attention with loops; each query head h has key head h // (H / Hkv)."""
    B, H, T, d = q.shape
    out = np.zeros((B, H, T, v.shape[-1]))
    for b, h, t in np.ndindex(B, H, T):
        seen = np.flatnonzero(allowed[b, 0, t])
        scores = [q[b, h, t] @ k[b, h * k.shape[1] // H, s] / d**0.5 for s in seen]
        powers = np.exp(np.array(scores) - max(scores))
        out[b, h, t] = powers / powers.sum() @ v[b, h * v.shape[1] // H, seen]
    return out


def through_cache(f: Any, tokens: Array, sizes: list[int], array: ToArray) -> Array:
    cache, ends = f.make_cache(), np.cumsum(sizes)
    chunks = [tokens[:, end - size : end] for size, end in zip(sizes, ends, strict=True)]
    return np.concatenate([told(f, chunk, array=array, cache=cache) for chunk in chunks], axis=1)


def packed(a: Array, b: Array, separator: int) -> Array:
    return np.concatenate([a, np.full((len(a), 1), separator), b], axis=1)


def decoded(entry: Wild, array: ToArray = mx.array) -> Iterator[Array]:
    """All that can be seen of a decoder."""
    f, tokens = entry.make(SEED), ids(3, 9)
    yield told(f, tokens, array=array)
    if "pad" in entry.options:
        yield told(f, np.pad(tokens, ((0, 0), (2, 0)), constant_values=entry.options["pad"]), array=array)[:, 2:]
    if "separator" in entry.options:
        yield told(f, packed(ids(3, 4, seed=1), tokens, entry.options["separator"]), array=array)[:, 5:]
    if getattr(f, "make_cache", None):
        yield through_cache(f, tokens, [1] * 9, array)
        yield through_cache(f, tokens, [3, 1, 5], array)


def translated(entry: Wild, array: ToArray = mx.array) -> Iterator[Array]:
    """All that can be seen of a translator, for a short sentence after a longer one of another shape or the same."""
    f, source, target = entry.make(SEED), ids(2, 5), ids(2, 6, seed=1)
    yield told(f, source, target, array=array)
    if f.pad is not None:
        yield told(f, np.pad(source, ((0, 0), (0, 3)), constant_values=f.pad), target, array=array)
    if "separator" in entry.options:
        separator, before = entry.options["separator"], ids(2, 3, seed=2)
        yield told(f, packed(before, source, separator), packed(before[:, 1:], target, separator), array=array)[:, 3:]
    if getattr(f, "decode", None):
        yield told(f.decode, target, told(f.encode, source, array=array).astype(np.float32), array=array)
    if getattr(f, "stepwise", None):
        for earlier in (ids(2, 5, seed=4), ids(2, 7, seed=5)):
            told(f.stepwise, earlier, target, array=array)
            yield told(f.stepwise, source, target, array=array)
