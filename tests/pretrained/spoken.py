"""Folders with a tokenizer, as people have them: the families of the fixtures, with room for the pieces of a text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx.utils import tree_map

import mlxdecoder  # before mlx
from mlxdecoder.models import make_model
from mlxdecoder.pretrained.exporting import export
from mlxdecoder.text.foreign import JsonTokenizer, SentencePieceTokenizer
from mlxdecoder.text.protocol import TextTokenizer
from mlxdecoder.training.checkpoint import Checkpoint
from tests.pretrained.folders import FIXTURES
from tests.text.made import byte_level, json_of, marian_tokenizer, sentence_pieces, unigram, word_pieces

MAKERS: dict[str, Callable[[], TextTokenizer]] = {
    "gpt2": lambda: JsonTokenizer(json_of(byte_level())),
    "llama-3": lambda: SentencePieceTokenizer({"tokenizer.model": sentence_pieces()}, begin=[1]),
    "marian": marian_tokenizer,
    "t5": lambda: JsonTokenizer(json_of(unigram())),
    "bert": lambda: JsonTokenizer(json_of(word_pieces())),
}


def spoken(name: str, to: Path) -> Path:
    """A folder of the family of a fixture that reads and writes text; its weights are random."""
    tokenizer = MAKERS[name]()
    config = mlxdecoder.load(FIXTURES / name).model.config
    changes: dict[str, Any] = {"target_vocab": tokenizer.vocab_size}
    if name == "marian":
        pad = tokenizer.vocab_size - 1
        changes |= {"source_vocab": pad + 1, "begin_id": pad, "pad_id": pad, "banned_ids": (pad,), "end_id": 0}
    mx.random.seed(0)
    model = make_model(replace(config, **changes))
    model.update(tree_map(lambda weight: weight * 2.5 if weight.ndim == 2 else weight, model.parameters()))
    export(Checkpoint(model, tokenizer, to), to)
    return to
