"""The cross-attention of a translator over given sentence pairs, as weights of words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import mlx.core as mx
import numpy as np

from mlxdecoder.alignment.sentences import Sentence, SentencePair
from mlxdecoder.config import ModelConfig
from mlxdecoder.decoding import generating
from mlxdecoder.ids import pad_right
from mlxdecoder.masks import Padding
from mlxdecoder.models import Translator
from mlxdecoder.recipe import Layout
from mlxdecoder.translate import longest
from mlxdecoder.words import merge

LARGEST_BATCH = 2**16  # pairs of pieces, padding included


@dataclass(frozen=True)
class Place:
    """Which weights are looked at: a layer, and one of its heads or, None, their mean.

    A row of attention belongs to the piece that was just read, and serves to choose the next one. A piece of the target
    is aligned by the row that chooses it (Bahdanau et al. 2015, Garg et al. 2019) or, `shifted`, by the next one, which
    has read it (Chen et al. 2020, https://aclanthology.org/2020.emnlp-main.42).
    """

    layer: int
    head: int | None = None
    shifted: bool = False

    def describe(self) -> str:
        head = "mean of the heads" if self.head is None else f"head {self.head}"
        row = "has read" if self.shifted else "chooses"
        return f"layer {self.layer}, {head}, the row that {row} a word"


def places_of(config: ModelConfig) -> list[Place]:
    """Every place of a translator."""
    heads = (None, *range(config.n_heads))
    return [
        Place(layer, head, shifted) for shifted in (False, True) for layer in range(config.n_layers) for head in heads
    ]


def fits(model: Translator, pair: SentencePair) -> bool:
    """Whether a pair can be aligned: neither side is blank or too long for the model."""
    return all(len(side.ids) <= longest(model.config, marks=1) and side.real.any() for side in pair)


def word_weights(
    model: Translator,
    pairs: Sequence[SentencePair],
    places: Sequence[Place],
    progress: Callable[[int], None] | None = None,
) -> list[np.ndarray]:
    """The weights of target words on source words at some places, while the model reads the pairs: each [places, J, I].

    What lies on marks is left out. The model reads the target that is given, in batches of like length. `progress` is
    told how many pairs each batch has done. The pairs are those that `fits` takes.
    """
    results: list[np.ndarray] = [np.zeros(0)] * len(pairs)
    for batch in _batches(pairs):
        for number, weights in zip(batch, _read([pairs[number] for number in batch], model, places), strict=True):
            results[number] = weights
        if progress:
            progress(len(batch))
    return results


def _batches(pairs: Sequence[SentencePair]) -> Iterator[list[int]]:
    """Numbers of pairs that are read together, so that little is padded."""
    sizes = [(len(target.ids) + 1, len(source.ids)) for source, target in pairs]
    batch: list[int] = []
    width = 0
    for number in sorted(range(len(pairs)), key=lambda number: sizes[number]):
        width = max(width, sizes[number][1])
        if batch and (len(batch) + 1) * sizes[number][0] * width > LARGEST_BATCH:
            yield batch
            batch, width = [], sizes[number][1]
        batch.append(number)
    if batch:
        yield batch


def _read(pairs: Sequence[SentencePair], model: Translator, places: Sequence[Place]) -> Iterator[np.ndarray]:
    layers = _attention(pairs, model, {place.layer for place in places})
    for row, (source, target) in enumerate(pairs):
        rows, columns = np.flatnonzero(target.real), np.flatnonzero(source.real)
        taken = []
        for place in places:
            heads = layers[place.layer][row][:, rows + place.shifted][..., columns]  # [H, T, S]
            taken.append(heads.mean(axis=0) if place.head is None else heads[place.head])
        words = target.words[rows], source.words[columns]
        yield _spread(merge(np.stack(taken), *words), source, target)


def _attention(pairs: Sequence[SentencePair], model: Translator, layers: set[int]) -> dict[int, np.ndarray]:
    """The cross-attention of some layers [B, H, T + 1, S]; nothing that they do not need is computed."""
    names = {f"decoder.{layer}.cross.weights": layer for layer in layers}
    seen: dict[int, mx.array] = {}

    def watch(name: str, array: mx.array) -> None:
        if name in names:
            seen[names[name]] = array.astype(mx.float32)

    config, lengths = model.config, [len(source.ids) for source, _ in pairs]
    sources = pad_right([source.ids for source, _ in pairs], config.pad_id)
    targets = pad_right([[config.begin_id, *target.ids] for _, target in pairs], config.pad_id)
    with generating(model):
        model(sources, targets, Layout(source=Padding.right(lengths, max(lengths))), watch)
    mx.eval(seen)
    return {layer: np.array(array) for layer, array in seen.items()}


def _spread(weights: np.ndarray, source: Sentence, target: Sentence) -> np.ndarray:
    """Give words that no piece begins in, as may be in another vocabulary, rows and columns of zeros: [..., J, I]."""
    spread = np.zeros((*weights.shape[:-2], len(target.begins), len(source.begins)), weights.dtype)
    rows, columns = (np.unique(side.words[side.real]) for side in (target, source))
    spread[..., rows[:, None], columns] = weights
    return spread
