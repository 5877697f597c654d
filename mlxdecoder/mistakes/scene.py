"""One sentence in circumstances in which a mistake can show: with padding, company, a packed neighbour, a past."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mlx.core as mx
import numpy as np

from mlxdecoder.errors import UserError
from mlxdecoder.generate import generating, pad_right, token_limit
from mlxdecoder.masks import Documents, Padding
from mlxdecoder.mistakes.entry import Circumstance
from mlxdecoder.models import Translator
from mlxdecoder.recipe import Layout
from mlxdecoder.watch import Watch

PADDING = 4  # slots behind a padded sentence


@dataclass(frozen=True)
class Scene:
    """What a translator is given: source rows [B, S] with their layout, the sentence in question in row 0.

    `prefix` is what the decoder has read before the begin mark of that sentence, [B, P]; `earlier` is a source that is
    translated before, with the same recipe; `keys` are the tokens of row 0, None for padding.
    """

    source: np.ndarray
    layout: Layout
    prefix: np.ndarray
    keys: tuple[int | None, ...]
    earlier: tuple[int, ...] | None = None


def set_scene(
    model: Translator, source: Sequence[int], needs: Sequence[Circumstance], beside: Sequence[int] | None = None
) -> Scene:
    """The scene in which all of `needs` are given; `beside` is the other sentence (default: this one, reversed).

    Raises `UserError` for needs that no scene has together.
    """
    other = tuple(beside or reversed(source))
    if "packing" in needs:
        if beyond := {"padding", "company", "earlier sentence"} & set(needs):
            raise UserError(f"mistakes: one needs packing, another {min(beyond)}; compare them apart.")
        return _packed(model, source, other)
    rows = [list(source), list(other)] if "company" in needs else [list(source)]
    width = max(map(len, rows)) + (PADDING if "padding" in needs else 0)
    padded = any(len(row) < width for row in rows)
    layout = Layout(source=Padding.right([len(row) for row in rows], width)) if padded else Layout()
    keys = (*source, *[None] * (width - len(source)))
    prefix = np.zeros((len(rows), 0), np.int32)
    earlier = other if "earlier sentence" in needs else None
    return Scene(pad_right(rows, model.config.pad_id, width), layout, prefix, keys, earlier)


def _packed(model: Translator, source: Sequence[int], other: Sequence[int]) -> Scene:
    """The other sentence and its translation stand before this one, as documents of the same row."""
    alone = set_scene(model, other, ())
    before = [model.config.begin_id, *write(model, alone).tokens[: model.config.max_length - 2], model.config.end_id]
    of_source = (0,) * len(other) + (1,) * len(source)
    layout = Layout(Documents((of_source,)), Documents(((0,) * len(before) + (1,),)))
    keys = (*other, *source)
    return Scene(np.array([keys], np.int32), layout, np.array([before], np.int32), keys)


@dataclass(frozen=True)
class Written:
    """Tokens of row 0, log-probabilities [T, V] of what follows each token that was read, and whether the keys of the
    source were those of an earlier one."""

    tokens: list[int]
    logprobs: np.ndarray
    stale: bool


def read(model: Translator, scene: Scene, target: Sequence[int], watch: Watch | None = None) -> np.ndarray:
    """Log-probabilities [T, V] of what follows each token of `target`, read at once as in training."""
    rows = np.repeat([[model.config.begin_id, *target]], len(scene.source), axis=0)
    with generating(model):
        logits = model(scene.source, np.concatenate([scene.prefix, rows], axis=1), scene.layout, watch)
    return _log_softmax(logits[0, scene.prefix.shape[1] :])


def write(model: Translator, scene: Scene, target: Sequence[int] | None = None, watch: Watch | None = None) -> Written:
    """Token by token with caches, up to the end mark: the most probable tokens, or those of `target`."""
    if scene.earlier is not None:
        rows = np.repeat([scene.earlier], len(scene.source), axis=0)  # what is kept serves as many rows only
        write(model, Scene(rows, Layout(), np.zeros((len(rows), 0), np.int32), scene.earlier))
    cache = model.make_cache()
    with generating(model):
        memory = model.encode(scene.source, scene.layout, watch)
    begin = np.full((len(scene.source), 1), model.config.begin_id, np.int32)
    tokens = mx.array(np.concatenate([scene.prefix, begin], axis=1))
    limit = _limit(model, scene) if target is None else len(target)
    said: list[int] = []
    steps: list[np.ndarray] = []
    while True:
        with generating(model):
            logits = model.decode(tokens, memory, cache, watch)[:, -1]  # [B, V]
        steps.append(_log_softmax(logits[:1])[0])
        tokens = mx.argmax(logits, axis=-1)[:, None]
        if target is not None and len(said) < limit:
            tokens = mx.full(tokens.shape, target[len(said)])
        if len(said) == limit or (target is None and tokens[0, 0].item() == model.config.end_id):
            return Written(said, np.stack(steps), stale=cache[0].cross.source is not memory.source)
        said.append(int(tokens[0, 0].item()))


def _limit(model: Translator, scene: Scene) -> int:
    """How many tokens may be written, so that all of them can be read too."""
    limit = token_limit(model, scene.source[0].tolist(), None)
    return min(limit, model.config.max_length - 1) if model.config.positions == "learned" else limit


def _log_softmax(logits: mx.array) -> np.ndarray:
    """In float64, so that divergences of nothing are nothing."""
    exact = np.array(logits.astype(mx.float32)).astype(np.float64)
    exact -= exact.max(axis=-1, keepdims=True)
    return np.asarray(exact - np.log(np.exp(exact).sum(axis=-1, keepdims=True)))
