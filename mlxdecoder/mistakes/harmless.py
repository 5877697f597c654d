"""What looks like a mistake and is none."""

from __future__ import annotations

import mlx.core as mx

from mlxdecoder.backend import masked_softmax
from mlxdecoder.masks import Causal, Full, Mask, Padding
from mlxdecoder.mistakes.entry import Mistake, instead
from mlxdecoder.mistakes.masking import dropping, putting
from mlxdecoder.mistakes.seeing import ATTENTION_PAPER
from mlxdecoder.mistakes.weighing import leave_unmasked


def zero_and_renormalise(scores: mx.array, allowed: mx.array | None) -> mx.array:
    weights = masked_softmax(scores)  # zeros where another mistake has left a row no key
    weights = weights if allowed is None else mx.where(allowed, weights, 0)
    total = weights.sum(axis=-1, keepdims=True)
    return weights / mx.where(total == 0, 1, total)


def is_left(padding: Mask) -> bool:
    return isinstance(padding, Padding) and not any(padding.starts)


HARMLESS = (
    Mistake(
        27,
        "zeroed-and-renormalised",
        "Zeroed after the softmax, and renormalised",
        "softmax",
        {"apply_mask": instead(leave_unmasked), "normalise": instead(zero_and_renormalise)},
        right="weights = mx.softmax(mx.where(allowed, scores, -mx.inf), axis=-1)",
        wrong="weights = mx.where(allowed, weights, 0); weights /= mx.maximum(weights.sum(-1, keepdims=True), 1e-30)",
        heatmap="The same.",
        curves="The same.",
        generation="The same, except where what is seen is so far below what is hidden that the softmax rounds it to "
        "nothing.",
        sources=(ATTENTION_PAPER,),
        harmless=True,
    ),
    Mistake(
        28,
        "no-target-padding-mask",
        "No padding mask for a target that is padded at the right",
        "padding",
        {"decoder_mask": putting(Padding, lambda part: part if is_left(part) else Full())},
        right="allowed = causal & (target != pad)[:, None, None, :]",
        wrong="allowed = causal",
        heatmap="The same in all rows that count: padding comes after them, and the causal mask hides it already.",
        curves="The same: rows of padding do not count in the loss. The batches of this library go without that mask.",
        generation="The same. Padding at the left is another matter, and does need its mask.",
        sources=(ATTENTION_PAPER,),
        harmless=True,
    ),
    Mistake(
        29,
        "no-causal-mask-with-cache",
        "No causal mask while generating with a cache",
        "cache",
        {"decoder_mask": dropping(Causal)},
        right="allowed = causal if T > 1 else None",
        wrong="allowed = None",
        heatmap="The same: a single new token sees all that is cached, and there is nothing after it.",
        curves="None: this is about generation with a model that was trained rightly.",
        generation="The same, token by token with a cache. Without one, or several tokens at once, it is mistake 1.",
        sources=(ATTENTION_PAPER,),
        harmless=True,
    ),
)
