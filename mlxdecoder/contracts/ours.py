"""The faces of our own models: as an attention function, a decoder or translator, and a maker of batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np

from mlxdecoder.attention import attention
from mlxdecoder.config import ModelConfig
from mlxdecoder.contracts.finding import Finding, Report
from mlxdecoder.contracts.on_attention import attention_findings
from mlxdecoder.contracts.on_batches import batches_findings
from mlxdecoder.contracts.on_decoder import decoder_findings
from mlxdecoder.contracts.on_translator import translator_findings
from mlxdecoder.decoding import generating
from mlxdecoder.masks import Documents, Mask, Padding
from mlxdecoder.models import Encoder, LanguageModel, Memory, Translator
from mlxdecoder.recipe import Layout, Recipe
from mlxdecoder.training.batches import Example, make_batch

ALONE = "not tried, as it is configured so: with window = 1 a token sees itself alone"
UNORDERED = "not tried, as it is configured so: with positions = 'none' the order of tokens need not count"
ONE_MARK = "not tried, as it is configured so: with pad_id = end_id = {} padding cannot be told from an end"
OurModel = Encoder | LanguageModel | Translator


def reports_of(model: OurModel, seed: int = 0, tolerance: float = 1e-4) -> Iterator[Report]:
    """Try the contracts on every face of a model, with its recipe, but none that it is configured not to keep."""
    how: dict[str, Any] = {"seed": seed, "tolerance": tolerance}
    yield attention_findings(AttentionFace(model), arrays="mlx", **how)
    if isinstance(model, Encoder):
        return
    config = model.config
    found = (
        decoder_findings(DecoderFace(model), arrays="mlx", **how)
        if isinstance(model, LanguageModel)
        else translator_findings(TranslatorFace(model), arrays="mlx", **how)
    )
    yield _as_configured(found, config)
    batches = batches_findings(BatchesFace(model), begin=config.begin_id, end=config.end_id, pad=config.pad_id)
    yield _as_configured(batches, config)


def _as_configured(found: Report, config: ModelConfig) -> Report:
    """The report without findings where a model is not meant to do what a contract asks."""
    not_meant = {"T1 reach": ALONE} if config.window == 1 else {}
    not_meant |= {"T10 order": UNORDERED} if config.positions == "none" else {}
    if config.pad_id == config.end_id:  # as GPT-2 has it
        not_meant |= dict.fromkeys(("T4 documents", "T6 end"), ONE_MARK.format(config.pad_id))

    def asked(finding: Finding) -> Finding:
        why = not_meant.get(finding.contract)
        return finding if why is None else replace(finding, holds=None, proof=why, signs=frozenset(), measured={})

    return replace(found, findings=tuple(map(asked, found.findings)))


class AttentionFace:
    """The attention that a model's recipe makes, with the model's heads."""

    mask, rank = "allowed", 4

    def __init__(self, model: OurModel) -> None:
        self.recipe: Recipe = model.recipe
        self.n_heads, self.head_width = model.config.n_heads, model.config.width_per_head
        self.n_kv_heads = model.config.kv_heads if model.config.kv_heads < self.n_heads else None

    def __call__(self, q: mx.array, k: mx.array, v: mx.array, mask: mx.array | None = None) -> mx.array:
        return attention(q, k, v, mask, recipe=self.recipe)


class DecoderFace:
    """A language model that tells padding by its id, and documents by the end mark between them."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.pad, self.separator = marks_of(model.config)
        self.make_cache = model.make_cache

    def __call__(self, tokens: mx.array, cache: Any = None) -> mx.array:
        with generating(self._model):
            target = side_mask(tokens, self.pad, self.separator) if cache is None else None
            return self._model(tokens, cache, Layout() if target is None else Layout(target=target))


class TranslatorFace:
    """A translator that tells padding by its id, and documents by the end mark between them."""

    def __init__(self, model: Translator) -> None:
        self._model = model
        self.pad, self.separator = marks_of(model.config)
        self.vocabulary, self.source_vocabulary = model.config.target_vocab, model.config.n_source_ids

    def __call__(self, source: mx.array, target: mx.array) -> mx.array:
        sides = (side_mask(ids, self.pad, self.separator) for ids in (source, target))
        given = {name: mask for name, mask in zip(("source", "target"), sides, strict=True) if mask is not None}
        with generating(self._model):
            return self._model(source, target, Layout(**given))

    def encode(self, source: mx.array) -> mx.array:
        with generating(self._model):
            return self._model.encode(source).states

    def decode(self, target: mx.array, states: mx.array) -> mx.array:
        with generating(self._model):
            return self._model.decode(target, Memory(states, Layout(), source=object()))

    def stepwise(self, source: mx.array, target: mx.array) -> mx.array:
        cache = self._model.make_cache()
        with generating(self._model):
            memory = self._model.encode(source)
            steps = [self._model.decode(target[:, t : t + 1], memory, cache) for t in range(target.shape[1])]
        return mx.concatenate(steps, axis=1)


class BatchesFace:
    """What a model would be trained on, by its recipe."""

    def __init__(self, model: LanguageModel | Translator) -> None:
        self._model = model

    def __call__(self, sentences: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        examples = [Example(tuple(sentence), tuple(sentence)) for sentence in sentences]
        batch = make_batch(examples, self._model.config, self._model.recipe)
        return batch.inputs, batch.labels, batch.weights


def marks_of(config: ModelConfig) -> tuple[int, int | None]:
    """The padding, and what stands between documents; a model that pads with its end mark keeps none apart."""
    return config.pad_id, None if config.end_id == config.pad_id else config.end_id


def side_mask(ids: mx.array, pad: int, separator: int | None) -> Mask | None:
    """The padding of ids [B, T], or the documents between separators; None where there is neither."""
    found = np.array(ids)
    if separator is not None and (found == separator).any():
        return Documents(tuple(map(tuple, np.cumsum(found == separator, axis=1).tolist())))
    return Padding.of(found, pad) if (found == pad).any() else None
