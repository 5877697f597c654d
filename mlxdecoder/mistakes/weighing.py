"""From scores to weights, and heads apart: mistakes in the scale, the softmax and the shape of heads."""

from __future__ import annotations

from typing import Any

import mlx.core as mx

from mlxdecoder.mistakes.entry import Mistake, instead, signs
from mlxdecoder.mistakes.seeing import ATTENTION_PAPER

GROUPED_PAPER = "https://arxiv.org/abs/2305.13245"


def leave_unmasked(scores: mx.array, allowed: mx.array) -> mx.array:
    return scores


def zero_after_softmax(scores: mx.array, allowed: mx.array | None) -> mx.array:
    weights = mx.softmax(scores, axis=-1)
    return weights if allowed is None else mx.where(allowed, weights, 0)


def infinity_after_softmax(scores: mx.array, allowed: mx.array | None) -> mx.array:
    weights = mx.softmax(scores, axis=-1)
    return weights if allowed is None else mx.where(allowed, weights, -mx.inf)


def over_queries(normalise: Any) -> Any:
    """The same along the other axis."""

    def along_queries(masked: mx.array, allowed: mx.array | None) -> mx.array:
        turned = None if allowed is None else allowed.swapaxes(-1, -2)
        return normalise(masked.swapaxes(-1, -2), turned).swapaxes(-1, -2)

    return along_queries


def reshape_alone(x: mx.array, n_heads: int) -> mx.array:
    """[B, T, H * dh] to [B, H, T, dh] without a transpose: a row is a piece of some token, not a token's piece."""
    B, T, _ = x.shape
    return x.reshape(B, n_heads, T, -1)


def reshape_back(x: mx.array) -> mx.array:
    """[B, H, T, dh] to [B, T, H * dh] without a transpose."""
    B, _, T, _ = x.shape
    return x.reshape(B, T, -1)


def read_sequence_first(split_heads: Any) -> Any:
    """The memory of [B, T, d] read as if it were [T, B, d]: rows of the batch are mixed."""

    def split(x: mx.array, n_heads: int) -> mx.array:
        B, T, _ = x.shape
        return split_heads(x.reshape(T, B, -1).swapaxes(0, 1), n_heads)

    return split


def tile_heads(x: mx.array, n_heads: int) -> mx.array:
    """k0 k1 k0 k1 where k0 k0 k1 k1 is right."""
    return mx.tile(x, (1, n_heads // x.shape[1], 1, 1))


WEIGHING = (
    Mistake(
        11,
        "no-scale",
        "Scores not divided by sqrt(dh)",
        "scale",
        {"scale": instead(lambda head_width: 1.0)},
        right="scores = q @ k.swapaxes(-1, -2) / math.sqrt(head_width)",
        wrong="scores = q @ k.swapaxes(-1, -2)",
        heatmap="Nearly one-hot rows: the softmax is saturated, and passes little gradient.",
        curves=(
            "The loss falls slowly and stays far above where it should end; the wider the head, the worse. One "
            "head of 64 features is used here."
        ),
        generation="What was learnt by then; a longer training hides the mistake better.",
        contracts=("T7 scale",),
        signs=(signs("scale.none"),),
        setting={"model": {"n_heads": 1}},
        sources=(ATTENTION_PAPER + " section 3.2.1",),
    ),
    Mistake(
        30,
        "scaled-by-width",
        "Divided by dh instead of its root",
        "scale",
        {"scale": instead(lambda head_width: 1 / head_width)},
        right="scores = q @ k.swapaxes(-1, -2) / math.sqrt(head_width)",
        wrong="scores = q @ k.swapaxes(-1, -2) / head_width",
        heatmap="Rows are blurred at the start: all scores are small, so all keys look alike.",
        curves="Normal: queries and keys grow until it is made up for.",
        generation="Normal, when trained so. A model that was trained rightly looks too widely, and half of its "
        "sentences go wrong.",
        contracts=("T7 scale",),
        signs=(signs("scale.other"),),
        sources=(ATTENTION_PAPER,),
    ),
    Mistake(
        5,
        "zeroed-after-softmax",
        "Zeroed after the softmax, not renormalised",
        "softmax",
        {"apply_mask": instead(leave_unmasked), "normalise": instead(zero_after_softmax)},
        right="weights = mx.softmax(mx.where(allowed, scores, -mx.inf), axis=-1)",
        wrong="weights = mx.where(allowed, mx.softmax(scores, axis=-1), 0)",
        heatmap="A perfect triangle. Only the row sums, far below 1 in the upper rows, tell: later tokens are in the "
        "denominator, and so they leak.",
        curves="All look healthy, the accuracy when told the prefix above all. Exact match is 0%.",
        generation="Nonsense: row sums mean something else as soon as there are no later tokens.",
        contracts=("T2 rows", "T1 causal"),
        signs=(
            signs(
                "attention.future attention.padding rows.short future future.far future.weak"
                " cache.differs documents.mixed source.padding decoder.padding"
            ),
        ),
        sources=("https://github.com/pytorch/pytorch/issues/103963",),
    ),
    Mistake(
        6,
        "infinity-after-softmax",
        "-inf written after the softmax",
        "softmax",
        {"apply_mask": instead(leave_unmasked), "normalise": instead(infinity_after_softmax)},
        right="weights = mx.softmax(mx.where(allowed, scores, -mx.inf), axis=-1)",
        wrong="weights = mx.where(allowed, mx.softmax(scores, axis=-1), -mx.inf)",
        heatmap="Infinite weights, and NaN in all that follows.",
        curves="NaN at the first step.",
        generation="Nothing can be learnt. Switched on after a right training it does nothing, as long as no token is "
        "hidden: one at a time, all that is cached may be seen.",
        contracts=("T5 finite",),
        signs=(signs("nan.masked nan"),),
        sources=(ATTENTION_PAPER,),
    ),
    Mistake(
        15,
        "softmax-over-queries",
        "Softmax over the queries instead of the keys",
        "softmax",
        {"normalise": over_queries},
        right="weights = mx.softmax(scores, axis=-1)",
        wrong="weights = mx.softmax(scores, axis=-2)",
        heatmap="A legal triangle whose columns sum to 1 instead of its rows; cross-attention can look ideal.",
        curves="All look healthy. Exact match is 0%.",
        generation="Nonsense: alone, a query gives every key the weight 1.",
        contracts=("T2 rows", "T15 queries", "T1 causal"),
        signs=(
            signs(
                "rows.columns queries.mixed future future.far future.weak future.recent cache.differs source.padding"
            ),
            signs(
                "rows.columns queries.mixed support.leak attention.future attention.padding"
                " future future.far cache.differs source.padding"
            ),
        ),
        sources=(ATTENTION_PAPER,),
    ),
    Mistake(
        16,
        "heads-without-transpose",
        "Heads split by reshape without transpose",
        "heads",
        {"split_heads": instead(reshape_alone)},
        right="q = x.reshape(B, T, n_heads, head_width).swapaxes(1, 2)",
        wrong="q = x.reshape(B, n_heads, T, head_width)",
        heatmap="Fully legal. But a row is no longer a token: it is some piece of some token.",
        curves="The loss falls, more slowly than it should; exact match is 0%.",
        generation="Nonsense. No heatmap shows why.",
        contracts=("T1 causal", "T9 cache"),
        signs=(signs("future future.far future.patchy cache.differs documents.mixed source.padding decoder.padding"),),
        sources=("https://github.com/karpathy/nanoGPT/blob/master/model.py",),
    ),
    Mistake(
        31,
        "heads-reshaped-both-ways",
        "Heads split and merged by reshape, both without transpose",
        "heads",
        {"split_heads": instead(reshape_alone), "merge_heads": instead(reshape_back)},
        right="y = context.swapaxes(1, 2).reshape(B, T, -1)  # and split with swapaxes too",
        wrong="y = context.reshape(B, T, -1)  # x.reshape(B, n_heads, T, head_width) is undone, so shapes fit",
        heatmap="Fully legal. But each head sees one stretch of the sentence, cut into pieces.",
        curves="The loss settles far above where it should end: much of the source and of what was written is out of "
        "sight.",
        generation="Nonsense, for one token at a time is split otherwise than many.",
        contracts=("T1 reach", "T9 cache"),
        signs=(
            signs("past.partly cross.blind cache.differs source.padding"),
            signs(
                "past.partly cross.blind documents.positions future future.far future.patchy cache.differs"
                " source.padding decoder.padding"
            ),
        ),
        sources=("https://github.com/karpathy/nanoGPT/blob/master/model.py",),
    ),
    Mistake(
        18,
        "batch-sequence-exchanged",
        "Batch and sequence axes exchanged",
        "heads",
        {"split_heads": read_sequence_first},
        right="x = x.swapaxes(0, 1)  # [B, T, d] to [T, B, d]",
        wrong="x = x.reshape(T, B, d)  # the right shape, with the sentences of a batch mixed",
        heatmap="Plausible, but rows and columns belong to several sentences. With one sentence alone, all is right.",
        curves="The loss settles far above where it should end: the source is that of other sentences.",
        generation="A fluent sentence that has nothing to do with the source.",
        contracts=("T4 apart",),
        signs=(signs("batch.mixed"),),
        needs=("company",),
        sources=("https://docs.pytorch.org/docs/stable/generated/torch.nn.Transformer.html",),
    ),
    Mistake(
        26,
        "heads-tiled",
        "Grouped heads tiled instead of repeated",
        "heads",
        {"share_heads": instead(tile_heads)},
        right="k = mx.repeat(k, n_heads // n_kv_heads, axis=1)  # k0 k0 k1 k1",
        wrong="k = mx.tile(k, (1, n_heads // n_kv_heads, 1, 1))  # k0 k1 k0 k1",
        heatmap="Normal.",
        curves="Normal when trained so from the start: it is only another naming of the heads.",
        generation="Normal, until weights come from elsewhere: then heads look with the wrong keys.",
        contracts=("T12 groups",),
        signs=(signs("groups.tiled"),),
        needs=("shared heads",),
        setting={"model": {"n_kv_heads": 2}},
        sources=(GROUPED_PAPER, "https://github.com/onnx/onnx/issues/7274"),
    ),
)
