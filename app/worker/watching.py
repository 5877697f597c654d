"""One pass of a model, watched: the stages of attention of every kind, and what each key brings into the sum."""

from __future__ import annotations

from typing import TypeAlias

import mlx.core as mx
import numpy as np

from mlxdecoder.masks import Full, Window
from mlxdecoder.models import Encoder, LanguageModel, Stack, Translator
from mlxdecoder.recipe import RIGHT, Layout
from mlxdecoder.trace import PREFIXES, STAGES, Trace

AnyModel: TypeAlias = Encoder | LanguageModel | Translator
LARGEST_HALF = float(np.finfo(np.float16).max)


class Watcher:
    """Give it as `watch` to one pass of a model, with one row in the batch; afterwards it knows the arrays."""

    def __init__(self, model: AnyModel) -> None:
        self._model = model
        self._trace = Trace(STAGES)
        self._told: dict[str, mx.array] = {}

    def __call__(self, name: str, array: mx.array) -> None:
        if name.endswith((".key", ".value")):
            self._told[name] = array
        self._trace(name, array)

    @property
    def slots(self) -> np.ndarray:
        """Which tokens the keys of the decoder's self-attention belong to, counted from 0: [S]."""
        return self._trace.passes[0]["decoder.key_slots"].astype(int)

    def stages(self, kind: str) -> dict[str, np.ndarray]:
        """All stages of one kind as frames carry them, [L, H, T, S] each, and the intended mask [T, S]."""
        seen = {stage: self._trace.stage(kind, stage) for stage in STAGES}
        if kind == "decoder":
            seen = {stage: array[..., self.slots] for stage, array in seen.items()}  # a cache may have forgotten some
        # |weight| |v W_O|, Kobayashi et al. 2020, https://aclanthology.org/2020.emnlp-main.574
        norms = np.abs(seen["weights"]) * self._sizes(kind)[:, :, None]
        T, S = norms.shape[2:]
        told = {stage: compact(array) for stage, array in seen.items() if stage != "weights"}
        told |= {"weights": seen["weights"], "norms": compact(norms), "intended": intended(self._model, kind, T, S)}
        return {f"{kind}.{name}": array for name, array in told.items()}

    def bytes_of(self, *attentions: str) -> tuple[int, int]:
        """The bytes of the keys and values that the decoder read, and of one slot of them; "self" or "cross"."""
        arrays = [
            array
            for name, array in self._told.items()
            if name.startswith("decoder.") and name.split(".")[2] in attentions
        ]
        return sum(array.nbytes for array in arrays), sum(array.nbytes // array.shape[2] for array in arrays)

    def _sizes(self, kind: str) -> np.ndarray:
        """How long the value of each key is once its head's part of the output matrix has turned it: [L, H, S]."""
        side, attention = PREFIXES[kind]
        sizes = []
        for layer, block in enumerate(stack_of(self._model, kind).blocks):
            module = block.cross_attention if kind == "cross" else block.attention
            value = self._told[f"{side}.{layer}.{attention}.value"]
            value = self._model.recipe.share_heads(value, module.n_heads)[0].astype(mx.float32)  # [H, S, dh]
            output = module.output.weight.reshape(module.n_heads, value.shape[-1], -1)  # [H, dh, d]
            output = output.astype(mx.float32)
            # |v W|^2 = v W W^T v^T: with a matrix as small as a head, in a fifth of the time that v W takes.
            squared = ((value @ (output @ output.swapaxes(-1, -2))) * value).sum(axis=-1)
            sizes.append(mx.sqrt(mx.maximum(squared, 0.0)))
        return np.array(mx.stack(sizes))


def stack_of(model: AnyModel, kind: str) -> Stack:
    """The blocks in which a kind of attention happens."""
    if not isinstance(model, Translator):
        return model.stack
    return model.encoder if kind == "encoder" else model.decoder


def kinds_of(model: AnyModel) -> tuple[str, ...]:
    """The kinds of attention that a model has."""
    if isinstance(model, Translator):
        return tuple(PREFIXES)
    return ("encoder",) if isinstance(model, Encoder) else ("decoder",)


def intended(model: AnyModel, kind: str, T: int, S: int) -> np.ndarray:
    """Who may attend to whom by the right recipe [T, S]; the last query stands at the last key."""
    narrow = model.config.window is not None and not (kind == "encoder" and isinstance(model, Translator))
    layout = Layout(window=Window(model.config.window) if narrow and model.config.window else Full())
    masks = {"encoder": RIGHT.encoder_mask, "decoder": RIGHT.decoder_mask, "cross": RIGHT.cross_mask}
    return np.array(masks[kind](layout).array(T, S))[0, 0]


def compact(array: np.ndarray) -> np.ndarray:
    """In half the bytes, where the largest number allows it."""
    finite = array[np.isfinite(array)]
    small = float(np.abs(finite).max(initial=0)) <= LARGEST_HALF
    return array.astype(np.float16) if small else array
