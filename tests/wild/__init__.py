"""Attention, decoders, translators and batches as people write them elsewhere: right ones, and each known mistake."""

from __future__ import annotations

from tests.wild import (
    annotated_wrong,
    attention_mlx,
    attention_numpy,
    collate,
    keras_like,
    llama,
    nano,
    pico,
    seq2seq,
)
from tests.wild.entry import Wild

MODULES = (attention_numpy, attention_mlx, nano, pico, llama, keras_like, seq2seq, annotated_wrong, collate)
WILD: list[Wild] = [entry for module in MODULES for entry in module.ENTRIES]

__all__ = ["WILD", "Wild"]
