"""What a batch holds: mistakes about padding, the source, packed documents and the labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlxdecoder.masks import Causal, Documents, Padding
from mlxdecoder.mistakes.entry import Mistake, instead, signs
from mlxdecoder.mistakes.masking import Turned, dropping, putting


def unshifted(framed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return framed[:, :-1], framed[:, :-1]


def shifted_again(shift_targets: Any) -> Any:
    def shift(framed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        inputs, labels = shift_targets(framed)
        return inputs[:, :-1], labels[:, 1:]

    return shift


def without_end(frame_target: Any) -> Any:
    return lambda ids, begin, end: frame_target(ids, begin, end)[:-1]


def everything_counts(labels: np.ndarray, pad: int) -> np.ndarray:
    return np.ones(labels.shape, np.float32)


PADDED = {"training": {"pad_multiple": 16, "tokens_per_batch": 2048}}

BATCHING = (
    Mistake(
        9,
        "no-source-padding-mask",
        "No padding mask for the source",
        "padding",
        {"encoder_mask": dropping(Padding), "cross_mask": dropping(Padding)},
        right="allowed = (source != pad)[:, None, None, :]  # for the encoder and for cross-attention",
        wrong="allowed = None",
        heatmap="Weight on padding, in the encoder and in cross-attention.",
        curves="All are normal, as long as the padding at the test is that of the training.",
        generation=(
            "Right with the padding of the training; many sentences go wrong alone. Forgotten in inference "
            "only, it is the other way round."
        ),
        contracts=("T3 padding",),
        signs=(signs("source.padding decoder.padding"),),
        needs=("padding",),
        setting=PADDED,
        sources=("https://github.com/keras-team/keras-io/issues/1046",),
    ),
    Mistake(
        10,
        "padding-on-queries",
        "Padding mask on the axis of the queries",
        "padding",
        {"encoder_mask": putting(Padding, Turned), "cross_mask": dropping(Padding)},
        right="allowed = (source != pad)[:, None, None, :]  # [B, 1, 1, S]",
        wrong="allowed = (source != pad)[:, None, :, None]  # [B, 1, S, 1]",
        heatmap="Rows of padding are empty, columns of padding are not: everybody sees padding.",
        curves="All are normal, as long as the padding at the test is that of the training.",
        generation=(
            "Right with the padding of the training; many sentences go wrong alone. Made in inference only, it "
            "is the other way round."
        ),
        contracts=("T3 padding",),
        signs=(signs("source.padding decoder.padding"),),
        needs=("padding",),
        setting=PADDED,
        sources=("https://github.com/hyunwoongko/transformer/issues/40",),
    ),
    Mistake(
        17,
        "causal-cross-attention",
        "Causal mask on cross-attention",
        "cross",
        {"cross_mask": lambda before: lambda layout: Causal() & before(layout)},
        right="context = attention(query, source_keys, source_values, source_padding)",
        wrong="context = attention(query, source_keys, source_values, causal & source_padding)",
        heatmap="A triangle in cross-attention: the first words see only the beginning of the source.",
        curves="Nearly normal: the loss ends at about twice what it should.",
        generation=(
            "Nearly all right when trained so, for the encoder learns to carry the whole source in its first "
            "states. Switched on after a right training, two of three sentences go wrong."
        ),
        contracts=("T8 crossing",),
        signs=(signs("cross.future_blind documents.positions"),),
        sources=("https://github.com/huggingface/transformers/issues/46111",),
    ),
    Mistake(
        14,
        "documents-mixed",
        "Packed documents see each other",
        "documents",
        {name: dropping(Documents) for name in ("encoder_mask", "decoder_mask", "cross_mask")},
        right="allowed = causal & (document[:, None, :, None] == document[:, None, None, :])",
        wrong="allowed = causal",
        heatmap="Weight on the other documents of the row.",
        curves="The loss stays far above where it should end: there is three times as much to look through.",
        generation="Words from nowhere: a sentence alone is not what the model was trained on.",
        contracts=("T4 documents",),
        signs=(signs("documents.mixed"),),
        needs=("packing",),
        setting={"training": {"pack": 3}},
        sources=("https://github.com/huggingface/transformers/issues/46634",),
    ),
    Mistake(
        12,
        "labels-unshifted",
        "Labels not shifted",
        "labels",
        {"shift_targets": instead(unshifted)},
        right="inputs, labels = framed[:, :-1], framed[:, 1:]",
        wrong="inputs, labels = framed[:, :-1], framed[:, :-1]",
        heatmap="A legal triangle: each token looks at itself.",
        curves="The loss falls to nothing at once: the model only has to repeat what it reads.",
        generation="Repeats the begin mark, and never stops.",
        contracts=("T6 targets",),
        signs=(signs("labels.unshifted labels.no_end"),),
        sources=("https://github.com/huggingface/transformers/issues/47394",),
    ),
    Mistake(
        13,
        "labels-shifted-twice",
        "Labels shifted twice",
        "labels",
        {"shift_targets": shifted_again},
        right="loss = cross_entropy(logits[:, :-1], tokens[:, 1:])  # once, here or in the data",
        wrong="loss = cross_entropy(logits[:, :-1], labels[:, 1:])  # labels were tokens[:, 1:] already",
        heatmap="Normal.",
        curves="Learns more slowly, and ends well. Told the prefix, it is right, by its own count.",
        generation="The first word is missing, and others after it: each token is followed by the one after the next. "
        "It seldom stops where it should.",
        contracts=("T6 targets",),
        signs=(signs("labels.twice"),),
        sources=("https://github.com/huggingface/transformers/issues/47394",),
    ),
    Mistake(
        21,
        "no-end-mark",
        "No end mark in the targets",
        "labels",
        {"frame_target": without_end},
        right="framed = [begin, *tokens, end]",
        wrong="framed = [begin, *tokens]",
        heatmap="Normal.",
        curves="Normal.",
        generation="All words are right, and then it never stops.",
        contracts=("T6 end",),
        signs=(signs("labels.no_end"),),
        sources=("https://github.com/openai/gpt-2/issues/121",),
    ),
    Mistake(
        23,
        "padding-in-loss",
        "Padding counted in the loss",
        "labels",
        {"loss_weights": instead(everything_counts)},
        right="weights = labels != pad",
        wrong="weights = mx.ones(labels.shape)",
        heatmap="Normal.",
        curves=(
            "The loss looks better than it is, most of all at the start: padding is easy. Runs with other "
            "padding cannot be compared."
        ),
        generation="Normal here.",
        contracts=("T6 padding",),
        signs=(signs("labels.padding"),),
        setting=PADDED,
        sources=("https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html",),
    ),
)
