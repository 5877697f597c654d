"""Who may see whom: mistakes in the causal mask, and in how a mask is laid over the scores."""

from __future__ import annotations

import mlx.core as mx

from mlxdecoder.masks import Causal
from mlxdecoder.mistakes.entry import Mistake, instead, signs
from mlxdecoder.mistakes.masking import Ahead, Turned, dropping, putting

FILL, TOO_SMALL = -1e9, -1e-9
ATTENTION_PAPER = "https://arxiv.org/abs/1706.03762"
PYTORCH_ATTENTION = (
    "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html"
)
PYTORCH_LAYER = "https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html"


def fill(scores: mx.array, allowed: mx.array) -> mx.array:
    """A large negative number for what may not be seen; a row that sees nothing becomes uniform."""
    return mx.where(allowed, scores, mx.array(FILL, mx.float32).astype(scores.dtype))


def fill_too_small(scores: mx.array, allowed: mx.array) -> mx.array:
    return mx.where(allowed, scores, mx.array(TOO_SMALL, scores.dtype))


def block_the_allowed(scores: mx.array, allowed: mx.array) -> mx.array:
    return mx.where(allowed, mx.array(-mx.inf, scores.dtype), scores)


SEEING = (
    Mistake(
        1,
        "no-causal-mask",
        "No causal mask",
        "mask",
        {"decoder_mask": dropping(Causal)},
        right="scores = mx.where(mx.tril(mx.ones((T, T), mx.bool_)), scores, -mx.inf)",
        wrong="pass  # the scores go into the softmax as they are",
        heatmap="The whole square is filled; most of the weight lies right of the diagonal.",
        curves=(
            "From about step 100 on, the loss falls too fast, because the next token is there to be copied. Told the "
            "prefix, it is perfect; on its own it is lost."
        ),
        generation=(
            "Ends at once, or goes wrong at the first word: there is no next token to copy any more. Switched "
            "on after a right training it does nothing, as long as a cache feeds one token at a time."
        ),
        contracts=("T1 causal",),
        signs=(
            signs("future future.far cache.differs"),
            signs("support.leak attention.future"),
            signs("future future.far cache.differs documents.mixed decoder.padding"),  # no mask of any kind
        ),
        sources=(ATTENTION_PAPER,),
    ),
    Mistake(
        2,
        "causal-transposed",
        "Causal mask transposed",
        "mask",
        {"decoder_mask": putting(Causal, Turned)},
        right="allowed = mx.tril(mx.ones((T, T), mx.bool_))",
        wrong="allowed = mx.triu(mx.ones((T, T), mx.bool_))",
        heatmap="The triangle stands on its head: everything on and right of the diagonal, nothing left of it.",
        curves=(
            "As without a mask, and faster: the loss is lower than the right one from the start, exact match "
            "stays at nothing."
        ),
        generation="One word for ever: a new token sees itself and what is not there yet, never what was written.",
        contracts=("T1 causal", "T1 reach"),
        signs=(
            signs("future future.far future.instead past.blind cache.differs cache.blind"),
            signs("support.leak attention.future"),
        ),
        sources=(ATTENTION_PAPER,),
    ),
    Mistake(
        3,
        "causal-off-by-one",
        "Causal mask off by one: sees the next token",
        "mask",
        {"decoder_mask": putting(Causal, lambda part: Ahead(1))},
        right="allowed = mx.arange(T)[None] <= mx.arange(T)[:, None]",
        wrong="allowed = mx.arange(T)[None] <= mx.arange(T)[:, None] + 1",
        heatmap="A triangle with one diagonal too many, and that one is where the weight gathers.",
        curves="The fastest of the wrong masks: one token ahead is all that there is to copy.",
        generation=(
            "One word for ever, once trained so. Switched on after a right training it does nothing while a "
            "cache feeds one token at a time."
        ),
        contracts=("T1 causal",),
        signs=(signs("future future.near cache.differs"),),
        sources=(ATTENTION_PAPER,),
    ),
    Mistake(
        4,
        "causal-strict",
        "Causal mask too strict: a token cannot see itself",
        "mask",
        {"decoder_mask": putting(Causal, lambda part: Ahead(-1)), "apply_mask": instead(fill)},
        right="allowed = mx.arange(T)[None] <= mx.arange(T)[:, None]",
        wrong="allowed = mx.arange(T)[None] < mx.arange(T)[:, None]  # and -1e9 for the rest",
        heatmap="An empty diagonal; the first row sees nothing and becomes uniform over everything, later tokens "
        "included (with -inf it would be NaN).",
        curves="Look normal. With -inf as the fill value, the loss is NaN at the first step.",
        generation=(
            "Goes wrong at the first word, whose row could look ahead in training; what follows may be right again."
        ),
        contracts=("T1 causal", "T5 finite"),
        signs=(
            signs("future future.far future.first cache.differs documents.mixed decoder.padding"),
            signs("nan nan.first"),
        ),
        sources=("https://github.com/pytorch/pytorch/issues/103963",),
    ),
    Mistake(
        7,
        "fill-too-small",
        "Fill value too small to hide anything",
        "mask",
        {"apply_mask": instead(fill_too_small)},
        right="scores = mx.where(allowed, scores, -mx.inf)",
        wrong="scores = mx.where(allowed, scores, -1e-9)  # or scores * allowed",
        heatmap="Weight right of the diagonal and on padding, as if there were no mask.",
        curves="From about step 100 on, the loss falls a little too fast. Told the prefix, it is perfect; on its own "
        "it is lost.",
        generation="One word for ever, though the mask is there and has the right shape.",
        contracts=("T1 causal", "T8 support"),
        signs=(
            signs(
                "attention.future attention.padding support.leak future future.far cache.differs"
                " documents.mixed source.padding decoder.padding"
            ),
            signs("attention.future attention.padding support.leak future future.far future.faint cache.differs"),
        ),
        sources=(ATTENTION_PAPER,),
    ),
    Mistake(
        8,
        "mask-inverted",
        "Boolean mask inverted: True meant the opposite",
        "mask",
        {"apply_mask": instead(block_the_allowed)},
        right="F.scaled_dot_product_attention(q, k, v, allowed)  # True = may attend",
        wrong="F.scaled_dot_product_attention(q, k, v, blocked)  # True = blocked, as nn.MultiheadAttention has it",
        heatmap="Weight only where there may be none: above the diagonal, or on padding. The last row is empty.",
        curves="The loss falls far too fast; exact match stays at nothing.",
        generation="One word for ever, once trained so; a rightly trained model breaks on padded sources.",
        contracts=("T1 causal", "T8 support", "T3 padding"),
        signs=(
            signs(
                "attention.future attention.padding support.inverted future future.far"
                " future.instead past.blind cache.differs documents.mixed source.padding"
                " decoder.padding"
            ),
            signs("nan nan.first"),
        ),
        sources=(PYTORCH_ATTENTION, PYTORCH_LAYER),
    ),
)
