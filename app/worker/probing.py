"""The pinned sentence: what a model that is being trained makes of it, and where it looks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from mlxdecoder.app.worker.engine import Engine, mistaken
from mlxdecoder.app.worker.reading import check_length
from mlxdecoder.app.worker.watching import compact
from mlxdecoder.commands.train_text import Text
from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.generate import generate
from mlxdecoder.maps import AttentionMap
from mlxdecoder.models import Translator
from mlxdecoder.text.protocol import TextTokenizer
from mlxdecoder.trace import attend


class Probe:
    """Tries the pieces of one sentence on a model.

    The weights are those of one wording of the translation, read at once as in training, so that pictures of different
    steps have the same rows; without a wording, of what the model writes.
    """

    def __init__(
        self, source: Sequence[int], tokenizer: TextTokenizer, model: Translator, wording: Sequence[int] | None
    ) -> None:
        self._source, self._tokenizer, self._model, self._wording = source, tokenizer, model, wording

    def look(self, step: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What the model writes now and where it looks: fields and arrays of a `probe` message."""
        tokens = generate(self._model, [self._source])[0].tokens
        target = tokens if self._wording is None else self._wording
        told: dict[str, Any] = {"step": step, "translation": self._tokenizer.decode(tokens), "queries": {}, "keys": {}}
        arrays: dict[str, np.ndarray] = {}
        for seen in self._maps(target):
            told["queries"][seen.kind], told["keys"][seen.kind] = seen.queries, seen.keys
            arrays[f"{seen.kind}.weights"] = compact(seen.weights)
            arrays[f"{seen.kind}.intended"] = np.asarray(seen.intended)
        return told, arrays

    def _maps(self, target: Sequence[int]) -> Iterator[AttentionMap]:
        config = self._model.config
        read = [config.begin_id, *target][: config.max_length]
        trace = attend(self._model, self._source, read)
        source, written = self._tokenizer.pieces(self._source), self._tokenizer.pieces(read)
        yield trace.attention_map("encoder", source, source)
        yield trace.attention_map("decoder", written, written, window=config.window)
        yield trace.attention_map("cross", written, source)


def source_of(sentence: str, tokenizer: TextTokenizer, config: ModelConfig) -> list[int]:
    """The pieces of a sentence; raises `UserError` for one that is blank or too long."""
    source = tokenizer.encode(sentence)
    if not source:
        raise UserError("probe: no words found in it; a sentence is wanted.")
    check_length("probe", source, config)
    return source


def wording_of(
    sentence: str, source: Sequence[int], text: Text, tokenizer: TextTokenizer, engine: Engine
) -> list[int] | None:
    """The translation of a sentence in a corpus; or by the open model, if it reads the same tokens; or None."""
    for pair in chain(text.train, text.validation):
        if pair.source == sentence.strip():
            return tokenizer.encode_target(pair.target)
    try:
        checkpoint = engine.checkpoint
    except UserError:
        return None
    if not isinstance(checkpoint.model, Translator) or checkpoint.tokenizer.fingerprint != tokenizer.fingerprint:
        return None
    with mistaken(checkpoint.model, ()):
        return generate(checkpoint.model, [source])[0].tokens
