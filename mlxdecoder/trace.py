"""What a watcher sees: the stages of attention for every layer, head and kind, and the shapes on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
import numpy as np

from mlxdecoder.decoding import Model, check_model
from mlxdecoder.errors import UserError
from mlxdecoder.generate import Generation
from mlxdecoder.heads import Grouping
from mlxdecoder.ids import as_rows, pad_right
from mlxdecoder.maps import AttentionMap
from mlxdecoder.masks import Causal, Full, Mask, Window
from mlxdecoder.models import Encoder, LanguageModel, Translator

STAGES = ("scores", "scaled", "masked", "weights")
EMPTY = {"scores": np.nan, "scaled": np.nan, "masked": -np.inf, "weights": 0.0}
PREFIXES = {"encoder": ("encoder", "self"), "decoder": ("decoder", "self"), "cross": ("decoder", "cross")}


class Trace:
    """Records while a model runs: give it as `watch` to a model, `generate`, `stream_generate` or `beam_search`.

    `stages` are the ones to keep, of "scores" (q k^T), "scaled" (with the scale and any bias), "masked" and "weights".
    What is watched is computed beside the way to the output, which stays the same to the bit. A trace serves one batch.
    """

    def __init__(self, stages: Sequence[str] = ("weights",)) -> None:
        unknown = [stage for stage in stages if stage not in STAGES]
        if unknown:
            raise UserError(f"stages: {unknown[0]!r} found; known are {', '.join(STAGES)}.")
        self.stages = tuple(stages)
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.passes: list[dict[str, np.ndarray]] = []
        self._pending: dict[str, mx.array] = {}

    def __call__(self, name: str, array: mx.array) -> None:
        self.shapes[name] = tuple(array.shape)
        if name.rpartition(".")[2] in (*self.stages, "key_slots"):
            self._pending[name] = array
        if name in ("logits", "output"):  # what a translator or language model, or an encoder alone, ends with
            self._close(array)

    def stage(self, kind: str, stage: str = "weights", generation: Generation | None = None) -> np.ndarray:
        """One stage of "encoder", "decoder" or "cross" attention: [L, H, T, S].

        With a `generation`, the passes that made it are put under one another, a row for each token that was read;
        without, the first row of the batch is followed through all passes. Keys that a pass did not have are 0 in the
        weights, -inf in what is masked, NaN before. Raises `UserError` for what was not recorded.
        """
        side, attention = self._recorded(kind, stage)
        passes = self.passes[:1] if kind == "encoder" else self.passes
        rows = (0,) * len(passes) if generation is None else self._rows(kind, generation)
        layers = _layer_count(passes[0], side, attention, stage)
        names = [f"{side}.{layer}.{attention}.{stage}" for layer in range(layers)]
        taken = [_take(seen, names, row) for seen, row in zip(passes, rows, strict=False)]
        if kind != "encoder":
            taken = [part[:, :, -count:] for part, count in zip(taken, _new_rows(passes), strict=False)]
        slots = [seen[f"{side}.key_slots"] for seen in passes] if attention == "self" else []
        return _join(taken, slots, EMPTY[stage])

    def attention_map(
        self,
        kind: str,
        queries: Sequence[str],
        keys: Sequence[str],
        *,
        window: int | None = None,
        generation: Generation | None = None,
    ) -> AttentionMap:
        """The weights of one kind with their labels, without padding: sources have it behind, prompts in front."""
        weights = self.stage(kind, "weights", generation)
        self._check_labels(weights, queries, keys)
        weights = weights[:, :, : len(queries)] if kind == "encoder" else weights[:, :, -len(queries) :]
        weights = weights[..., -len(keys) :] if kind == "decoder" else weights[..., : len(keys)]
        return AttentionMap(
            kind,
            weights,
            intended(kind, len(queries), len(keys), window),
            list(queries),
            list(keys),
            grouping=self._grouping(kind, weights.shape[1]),
        )

    def _check_labels(self, weights: np.ndarray, queries: Sequence[str], keys: Sequence[str]) -> None:
        """One label for each row and column; in a batch of several, padding has none."""
        T, S = weights.shape[2:]
        alone = all(len(x) == 1 for x in self.passes[0].values() if x.ndim == 4)
        if len(queries) > T or len(keys) > S or (alone and (len(queries), len(keys)) != (T, S)):
            raise UserError(f"queries, keys: {len(queries)} and {len(keys)} labels found; {T} and {S} wanted.")

    def _grouping(self, kind: str, heads: int) -> Grouping:
        side, attention = PREFIXES[kind]
        return Grouping(heads, self.shapes[f"{side}.0.{attention}.key"][1])  # [B, Hkv, S, dh]

    def _close(self, logits: mx.array) -> None:
        if self.passes and "encoder.key_slots" in self._pending:
            raise UserError("watch: this trace has recorded another batch already; use a new Trace.")
        mx.eval(logits, self._pending)  # one evaluation a pass, instead of one an array
        self.passes.append({name: np.array(array.astype(mx.float32)) for name, array in self._pending.items()})
        self._pending = {}

    def _recorded(self, kind: str, stage: str) -> tuple[str, str]:
        if kind not in PREFIXES:
            raise UserError(f"kind = {kind!r}: one of {', '.join(PREFIXES)} is wanted.")
        side, attention = PREFIXES[kind]
        if stage not in self.stages or not self.passes or f"{side}.0.{attention}.{stage}" not in self.passes[0]:
            raise UserError(f"{kind} {stage}: not recorded; run the model with this trace, and name it in stages.")
        return side, attention

    def _rows(self, kind: str, generation: Generation) -> tuple[int, ...]:
        return generation.path[:1] if kind == "encoder" else generation.path


def attend(
    model: Model | Encoder, source: Any, target: Sequence[int] = (), stages: Sequence[str] = ("weights",)
) -> Trace:
    """Run a model once over given ids and record it.

    A translator reads a source and its target, begin mark included; a language model the target behind the source, if
    there is one; an encoder the source, which may be an image [height, width, channels]. Raises `UserError` for what
    is no model, and for what are no ids.
    """
    if not isinstance(model, Encoder):
        check_model(model)
    trace = Trace(stages)
    if isinstance(model, Translator):
        model(pad_right(as_rows([source]), 0), pad_right(as_rows([target]), 0), watch=trace)
    elif isinstance(model, LanguageModel):
        model(pad_right(as_rows([[*source, *target]]), 0), watch=trace)
    else:
        model(mx.array(source)[None] if model.config.n_patches else pad_right(as_rows([source]), 0), watch=trace)
    return trace


def shapes(model: Model | Encoder, *inputs: Any) -> list[tuple[str, tuple[int, ...]]]:
    """Every named array of one run of a model, in order, with its shape."""
    seen: list[tuple[str, tuple[int, ...]]] = []
    run: Callable[..., mx.array] = model
    output = run(*inputs, watch=lambda name, array: seen.append((name, tuple(array.shape))))
    mx.eval(output)
    return seen


def intended(kind: str, T: int, S: int, window: int | None = None) -> np.ndarray:
    """Who may attend to whom [T, S], without padding: the mask that a figure outlines."""
    reach: Mask = Full() if window is None else Window(window)
    mask = Causal() & reach if kind == "decoder" else Full()
    return np.array(mask.array(T, S))[0, 0]


def _layer_count(seen: dict[str, np.ndarray], side: str, attention: str, stage: str) -> int:
    return sum(name.startswith(f"{side}.") and name.endswith(f".{attention}.{stage}") for name in seen)


def _new_rows(passes: list[dict[str, np.ndarray]]) -> list[int]:
    """How many tokens each pass read that the one before had not: without a cache, all are read again."""
    slots = [seen["decoder.key_slots"] for seen in passes]
    read = [next(x.shape[2] for name, x in seen.items() if name.startswith("decoder.0.self.")) for seen in passes]
    again = [i > 0 and slots[i][0] == 0 and len(slots[i]) == read[i] for i in range(len(passes))]
    return [read[i] - read[i - 1] if again[i] else read[i] for i in range(len(passes))]


def _take(seen: dict[str, np.ndarray], names: list[str], row: int) -> np.ndarray:
    return np.stack([seen[name][row] for name in names])  # [L, H, T, S]


def _join(taken: list[np.ndarray], slots: list[np.ndarray], empty: float) -> np.ndarray:
    """Put passes [L, H, T, S] under one another; each key goes to the column of its slot."""
    columns = [ids.astype(int) for ids in slots] or [np.arange(part.shape[-1]) for part in taken]
    width = max(int(ids.max()) + 1 for ids in columns[: len(taken)])
    L, H = taken[0].shape[:2]
    joined = np.full((L, H, sum(part.shape[2] for part in taken), width), empty, np.float32)
    row = 0
    for part, ids in zip(taken, columns, strict=False):
        joined[:, :, row : row + part.shape[2], ids] = part
        row += part.shape[2]
    return joined
