"""How the next token is chosen from its log-probabilities, with mlx-lm's names and meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mlx.core as mx
import numpy as np

from mlxdecoder.backend import argmax, log_softmax
from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError

Sampler = Callable[[mx.array], mx.array]
Filter = Callable[[mx.array], mx.array]

ROUNDING = 1e-6  # of a cumulative sum in float32


def make_sampler(
    temp: float = 0.0, *, top_p: float = 1.0, min_p: float = 0.0, top_k: int = 0, seed: int | None = None
) -> Sampler:
    """A function from log-probabilities [B, V] to token ids [B].

    `temp` 0 takes the most probable token. Else one is drawn at that temperature from what the filters leave: the
    `top_k` best (0: all), the smallest set that holds `top_p` of the mass, those with at least `min_p` of the best
    probability. With a `seed`, the same draws come again. Raises `UserError` for values out of range.
    """
    _check(temp, top_p, min_p, top_k, seed)
    if temp == 0:
        return argmax
    filters: list[Filter] = []
    if top_p < 1:
        filters.append(lambda logprobs: keep_top_p(logprobs, top_p))
    if min_p:
        filters.append(lambda logprobs: keep_min_p(logprobs, min_p))
    if top_k:
        filters.append(lambda logprobs: keep_top_k(logprobs, top_k))
    keys = [mx.random.key(int(np.random.default_rng(seed).integers(2**32)))]

    def sample(logprobs: mx.array) -> mx.array:
        for keep in filters:
            logprobs = keep(logprobs)
        keys[0], key = mx.random.split(keys[0])
        below = logprobs - logprobs.max(axis=-1, keepdims=True)  # so that the best one survives any temperature
        return mx.random.categorical(below / temp, key=key)

    return sample


def keep_top_k(logprobs: mx.array, k: int) -> mx.array:
    """-inf for all but the k most probable tokens [B, V]."""
    if k >= logprobs.shape[-1]:
        return logprobs
    rest = mx.argpartition(-logprobs, kth=k - 1, axis=-1)[..., k:]
    return mx.put_along_axis(logprobs, rest, mx.array(-mx.inf, logprobs.dtype), axis=-1)


def keep_top_p(logprobs: mx.array, p: float) -> mx.array:
    """-inf outside the smallest set of tokens whose probabilities sum to p, Holtzman et al. 2019."""
    order = mx.argsort(-logprobs, axis=-1)  # [B, V]
    probabilities = mx.softmax(mx.take_along_axis(logprobs, order, axis=-1).astype(mx.float32), axis=-1)
    before = mx.cumsum(probabilities, axis=-1) - probabilities
    needed = before < max(p - ROUNDING, ROUNDING)  # the best one in any case
    kept = mx.put_along_axis(mx.zeros(logprobs.shape, mx.bool_), order, needed, axis=-1)
    return mx.where(kept, logprobs, -mx.inf)


def keep_min_p(logprobs: mx.array, p: float) -> mx.array:
    """-inf for tokens less probable than p times the best one, Nguyen et al. 2024."""
    best = logprobs.max(axis=-1, keepdims=True)
    return mx.where(logprobs >= best + float(np.log(p)), logprobs, -mx.inf)


def keep_rules(logprobs: mx.array, config: ModelConfig, last: Sequence[bool]) -> mx.array:
    """What the configuration says of generation, for log-probabilities [B, V].

    -inf for tokens that the model never says; with `forced_end`, rows at their `last` token can only end; with
    `renormalized`, the probabilities of the others add up to 1 again.
    """
    ending = [i for i, is_last in enumerate(last) if is_last] if config.forced_end else []
    if config.banned_ids or ending:
        ruled = np.array(logprobs)
        ruled[:, list(config.banned_ids)] = -np.inf
        ruled[ending] = -np.inf
        ruled[ending, config.end_id] = 0
        logprobs = mx.array(ruled)
    return log_softmax(logprobs) if config.renormalized else logprobs


def penalise(scores: mx.array, penalty: float, histories: Sequence[Sequence[int]]) -> mx.array:
    """Make each token of its row's history less likely: positive scores [B, V] / `penalty`, negative ones times it.

    Keskar et al. 2019, section 4.1, https://arxiv.org/abs/1909.05858; as transformers does it, negative scores too.
    """
    if penalty == 1:
        return scores
    made = np.array(scores.astype(mx.float32))
    for row, history in zip(made, histories, strict=True):
        said = list(set(history))
        row[said] = np.where(row[said] < 0, row[said] * penalty, row[said] / penalty)
    return mx.array(made)


def block_repeats(logprobs: mx.array, histories: Sequence[Sequence[int]], n: int) -> mx.array:
    """-inf for each token that would repeat a run of `n` tokens of its row's history; `n` 0 blocks nothing."""
    if n < 0:
        raise UserError(f"block_ngrams = {n}: wanted 0 or more.")
    banned = [_would_repeat(history, n) for history in histories] if n else []
    if not any(banned):
        return logprobs
    free = np.ones(logprobs.shape, dtype=bool)
    for row, tokens in zip(free, banned, strict=True):
        row[list(tokens)] = False
    return mx.where(mx.array(free), logprobs, -mx.inf)


def _would_repeat(history: Sequence[int], n: int) -> set[int]:
    tail = tuple(history[len(history) - n + 1 :]) if n > 1 else ()
    starts = range(len(history) - n + 1)
    return {history[i + n - 1] for i in starts if tuple(history[i : i + n - 1]) == tail}


def _check(temp: float, top_p: float, min_p: float, top_k: int, seed: int | None) -> None:
    wanted = {
        "temp": (temp, temp == 0 or 1e-4 <= temp < float("inf"), "0, or 0.0001 and more"),
        "seed": (seed, seed is None or seed >= 0, "0 or more"),
        "top_p": (top_p, 0 < top_p <= 1, "above 0, up to 1"),
        "min_p": (min_p, 0 <= min_p <= 1, "from 0 to 1"),
        "top_k": (top_k, top_k >= 0 and int(top_k) == top_k, "a whole number, 0 or more"),
    }
    for name, (value, holds, range_) in wanted.items():
        if not holds:
            raise UserError(f"{name} = {value}: wanted {range_}.")
