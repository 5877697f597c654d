"""Plain truths in float64 NumPy, written with loops and without a look at the library's own formulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Rule = Callable[[int, int, int], bool]
"""May the query in slot q of row b attend to the key in slot k?  rule(b, q, k)"""


def full(b: int, q: int, k: int) -> bool:
    return True


def causal(b: int, q: int, k: int) -> bool:
    return k <= q


def window(size: int, keep: int = 0) -> Rule:
    return lambda b, q, k: -size < k - q < size or k < keep


def right_padding(lengths: Sequence[int], width: int) -> Rule:
    return lambda b, q, k: k < lengths[b] or k >= width


def left_padding(lengths: Sequence[int], width: int) -> Rule:
    return lambda b, q, k: k >= width - lengths[b]


def documents(of_queries: Sequence[Sequence[int]], of_keys: Sequence[Sequence[int]] | None = None) -> Rule:
    """Slots before the first count as the first, slots behind the last as the last."""
    keys = of_queries if of_keys is None else of_keys

    def at(row: Sequence[int], slot: int) -> int:
        return row[min(max(slot, 0), len(row) - 1)]

    return lambda b, q, k: at(of_queries[b], q) == at(keys[b], k)


def every(rules: Sequence[Rule]) -> Rule:
    return lambda b, q, k: all(rule(b, q, k) for rule in rules)


def grid(rule: Rule, B: int, queries: Sequence[int], keys: Sequence[int]) -> np.ndarray:
    """The rule for each row, query and key: [B, 1, T, S]."""
    cells = [[[rule(b, q, k) for k in keys] for q in queries] for b in range(B)]
    return np.array(cells, dtype=bool).reshape(B, 1, len(queries), len(keys))


def softmax(scores: np.ndarray) -> np.ndarray:
    """Over the last axis, finite scores only."""
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def log_softmax(scores: np.ndarray) -> np.ndarray:
    return np.log(softmax(scores.astype(np.float64)))


def weights(
    query: np.ndarray, key: np.ndarray, allowed: np.ndarray | None = None, bias: np.ndarray | None = None
) -> np.ndarray:
    """Attention weights [B, H, T, S]; the softmax runs over the allowed keys alone, and an empty row is zeros."""
    B, H, T, width = query.shape
    S, group = key.shape[2], H // key.shape[1]
    seen = np.broadcast_to(np.ones((1, 1, 1, 1), bool) if allowed is None else allowed, (B, H, T, S))
    added = np.broadcast_to(np.zeros((1, 1, 1, 1)) if bias is None else bias, (B, H, T, S))
    result = np.zeros((B, H, T, S))
    for b, h, t in np.ndindex(B, H, T):
        keys = np.flatnonzero(seen[b, h, t])
        if len(keys):
            scores = key[b, h // group, keys].astype(np.float64) @ query[b, h, t].astype(np.float64)
            result[b, h, t, keys] = softmax(scores / math.sqrt(width) + added[b, h, t, keys])
    return result


def attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    allowed: np.ndarray | None = None,
    bias: np.ndarray | None = None,
) -> np.ndarray:
    """[B, H, T, dv]"""
    B, H, T, _ = query.shape
    group = H // key.shape[1]
    mixed = weights(query, key, allowed, bias)
    result = np.zeros((B, H, T, value.shape[3]))
    for b, h in np.ndindex(B, H):
        result[b, h] = mixed[b, h] @ value[b, h // group].astype(np.float64)
    return result


def attention_gradients(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, allowed: np.ndarray | None, upstream: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What `upstream` [B, H, T, dv] gives to query, key and value."""
    B, H, _, width = query.shape
    group = H // key.shape[1]
    query, key, value, upstream = (array.astype(np.float64) for array in (query, key, value, upstream))
    mixed = weights(query, key, allowed)
    to_query, to_key, to_value = np.zeros_like(query), np.zeros_like(key), np.zeros_like(value)
    for b, h in np.ndindex(B, H):
        shared = h // group
        to_value[b, shared] += mixed[b, h].T @ upstream[b, h]
        of_weights = upstream[b, h] @ value[b, shared].T
        of_scores = mixed[b, h] * (of_weights - (mixed[b, h] * of_weights).sum(axis=-1, keepdims=True))
        to_query[b, h] += of_scores @ key[b, shared] / math.sqrt(width)
        to_key[b, shared] += of_scores.T @ query[b, h] / math.sqrt(width)
    return to_query, to_key, to_value


def turn(x: np.ndarray, positions: np.ndarray, base: float = 10_000.0) -> np.ndarray:
    """Rotary embedding of x [T, dh]: features i and i + dh/2 are a complex number, turned by p * base^(-2i/dh)."""
    half = x.shape[-1] // 2
    numbers = x[:, :half].astype(np.float64) + 1j * x[:, half:]
    rates = np.array([base ** (-2 * i / x.shape[-1]) for i in range(half)])
    turned = numbers * np.exp(1j * np.asarray(positions, dtype=np.float64)[:, None] * rates)
    return np.concatenate([turned.real, turned.imag], axis=-1)


def sinusoid(position: int, feature: int, width: int) -> float:
    """Vaswani et al. 2017, section 3.5."""
    angle = position / 10_000 ** ((feature - feature % 2) / width)
    return math.sin(angle) if feature % 2 == 0 else math.cos(angle)


def t5_bucket(distance: int, bidirectional: bool, n_buckets: int = 32, longest: int = 128) -> int:
    """The bucket of key position minus query position, in whole numbers, so that no logarithm rounds."""
    first = 0
    if bidirectional:
        n_buckets //= 2
        first = n_buckets if distance > 0 else 0
        away = abs(distance)
    else:
        away = max(-distance, 0)
    exact = n_buckets // 2
    if away < exact:
        return first + away
    # The largest k with (away / exact) ** (n_buckets - exact) >= (longest / exact) ** k.
    wide, k = n_buckets - exact, 0
    while k < wide and away**wide * exact ** (k + 1) >= longest ** (k + 1) * exact**wide:
        k += 1
    return first + min(exact + k, n_buckets - 1)


def language_model(config: Any, parameters: dict[str, np.ndarray], ids: Sequence[int], rule: Rule) -> np.ndarray:
    """Logits [T, V] of a tied decoder-only model without positions, for one row of ids, from its named weights."""
    named = {name: array.astype(np.float64) for name, array in parameters.items()}
    x = named["embedding.weight"][list(ids)] * (math.sqrt(config.d_model) if config.scaled_embeddings else 1)
    for layer in range(config.n_layers):
        block = {
            name.split(".", 3)[3]: array for name, array in named.items() if name.startswith(f"stack.blocks.{layer}.")
        }
        branches = [
            ("attention_norm", lambda x, block=block: _self_attention(config, block, x, rule)),
            ("mlp_norm", lambda x, block=block: _mlp(config, block, x)),
        ]
        for norm, branch in branches:
            if config.norm == "pre":
                x = x + branch(_norm(config, block, norm, x))
            else:
                x = _norm(config, block, norm, x + branch(x))
    if config.norm == "pre":
        x = _norm(config, named, "stack.norm", x)
    return np.asarray(x @ named["embedding.weight"].T)


def _linear(named: dict[str, np.ndarray], name: str, x: np.ndarray) -> np.ndarray:
    return np.asarray(x @ named[f"{name}.weight"] + named.get(f"{name}.bias", 0.0))


def _norm(config: Any, named: dict[str, np.ndarray], name: str, x: np.ndarray) -> np.ndarray:
    if config.norm_kind == "layer":
        x = x - x.mean(axis=-1, keepdims=True)
    x = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + config.norm_epsilon)
    return np.asarray(x * named[f"{name}.weight"] + named.get(f"{name}.bias", 0.0))


def _self_attention(config: Any, block: dict[str, np.ndarray], x: np.ndarray, rule: Rule) -> np.ndarray:
    T = len(x)
    width = config.head_width or config.d_model // config.n_heads

    def heads(name: str, count: int) -> np.ndarray:
        features = _linear(block, f"attention.{name}", x)
        return np.stack([features[:, h * width : (h + 1) * width] for h in range(count)])[None]

    shared = config.n_kv_heads or config.n_heads
    allowed = grid(rule, 1, range(T), range(T))
    mixed = attention(heads("query", config.n_heads), heads("key", shared), heads("value", shared), allowed)[0]
    return _linear(block, "attention.output", np.concatenate(list(mixed), axis=-1))


def _mlp(config: Any, block: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    inward = _linear(block, "mlp.inward", x)
    if config.activation in ("swiglu", "geglu"):
        gate = _linear(block, "mlp.gate", x)
        hidden = ACTIVATIONS["silu" if config.activation == "swiglu" else "gelu"](gate) * inward
    else:
        hidden = ACTIVATIONS[config.activation](inward)
    return _linear(block, "mlp.outward", hidden)


ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "silu": lambda x: x / (1 + np.exp(-x)),
}
