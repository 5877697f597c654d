"""mlx-lm's way with prompts of several lengths in a batch, as a function of tokens for the contracts.

Its generator merges the caches, feeds the prompts padded on the right, and rolls the padding to the left side of the
caches; then the rows go on a token at a time.
"""

from __future__ import annotations

from collections.abc import Callable

import mlx.core as mx
import numpy as np
from mlx import nn

PAD = 0
STEPS = 4  # tokens of each row that come one at a time, after the prompts


def batched(model: nn.Module) -> Callable[[mx.array], mx.array]:
    """A decoder of tokens that are padded on the left; the logits of padding are zeros."""
    from mlx_lm.models.cache import make_prompt_cache

    def decode(tokens: mx.array) -> mx.array:
        rows = [[int(token) for token in row if token != PAD] for row in np.array(tokens)]
        cache = [layer[0].merge(layer) for layer in zip(*(make_prompt_cache(model) for _ in rows), strict=True)]
        prompts, width = _prompts(model, rows, cache), tokens.shape[1] - STEPS
        prompts = [mx.pad(logits, [(width - len(logits), 0), (0, 0)]) for logits in prompts]
        steps = [model(mx.array([[row[step]] for row in rows]), cache=cache) for step in range(-STEPS, 0)]
        return mx.concatenate([mx.stack(prompts), *steps], axis=1)

    return decode


def can_merge(model: nn.Module) -> bool:
    """What mlx-lm's server asks before it puts requests into one batch."""
    from mlx_lm.models.cache import make_prompt_cache

    return all(hasattr(layer, "merge") for layer in make_prompt_cache(model))


def _prompts(model: nn.Module, rows: list[list[int]], cache: list) -> list[mx.array]:
    """Feed what comes before the steps; gives each row's logits without padding."""
    lengths = [len(row) - STEPS for row in rows]
    padding = [max(lengths) - length for length in lengths]
    if any(padding):
        for layer in cache:
            layer.prepare(lengths=lengths, right_padding=padding)
    fed = [row[:-STEPS] + [PAD] * count for row, count in zip(rows, padding, strict=True)]
    logits = model(mx.array(fed), cache=cache)
    if any(padding):
        for layer in cache:
            layer.finalize()
    return [row[:length] for row, length in zip(logits, lengths, strict=True)]
