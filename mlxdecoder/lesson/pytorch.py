"""PyTorch's weights into the lesson's modules, and PyTorch's figures for the lesson's worked examples.

The figures were computed once with PyTorch 2.13.0 on a CPU, seed 42, and lie in `assets/lesson/lesson85.npz`. What
begins with `self.`, `cross.`, `block.`, `tiny.` or `stack.` is one worked example: its inputs, weights and results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx.utils import tree_flatten

from mlxdecoder.errors import UserError
from mlxdecoder.lesson.translator import DecoderBlock, TinyTranslator

Figures = Mapping[str, np.ndarray]

OUR_NAMES = {
    "masked_attn.": "attention.",
    "cross_attn.": "cross_attention.",
    "out_proj.": "output.",
    "ffn.0.": "mlp.inward.",
    "ffn.2.": "mlp.outward.",
    "norm1.": "attention_norm.",
    "norm2.": "cross_norm.",
    "norm3.": "mlp_norm.",
    "embed.": "embedding.",
}


def pytorch_figures() -> dict[str, np.ndarray]:
    """All arrays of the lesson, by name."""
    with (files("mlxdecoder.assets") / "lesson" / "lesson85.npz").open("rb") as file:
        return dict(np.load(file, allow_pickle=False))


def load_pytorch(module: nn.Module, state: Figures) -> None:
    """Load a PyTorch `state_dict` of the lesson's block or translator; arrays and CPU tensors serve alike.

    Raises `UserError` that names the first weight that is missing, unknown or of another shape; nothing is loaded then.
    """
    found = dict(pair for name, array in state.items() for pair in _ours(name, np.asarray(array)))
    wanted = dict(tree_flatten(module.parameters()))
    for name in sorted(found.keys() ^ wanted.keys()):
        raise UserError(f"state: {name} is {'missing' if name in wanted else 'no weight of this module'}.")
    for name, array in found.items():
        if array.shape != wanted[name].shape:
            raise UserError(f"state: {name} has shape {array.shape}, {wanted[name].shape} wanted.")
    module.load_weights(list(found.items()))


def head_weights(figures: Figures, example: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The query, key and value weights [d, d] of "self" or "cross", the examples of one head."""
    return figures[f"{example}.wq"], figures[f"{example}.wk"], figures[f"{example}.wv"]


def lesson_block(figures: Figures) -> DecoderBlock:
    """The block of the third worked example."""
    block = DecoderBlock(d_model=16, n_heads=2, d_ff=32)
    load_pytorch(block, _state(figures, "block.weights.", ("",)))
    return block


def lesson_translator(figures: Figures, name: str, n_layers: int) -> TinyTranslator:
    """The translator of the fourth worked example: "tiny" of one block, "stack" of two."""
    model = TinyTranslator(vocab=20, d_model=16, n_heads=2, d_ff=32, n_layers=n_layers)
    load_pytorch(model, _state(figures, f"{name}.", ("embed.", "blocks.", "head.")))
    return model


def _state(figures: Figures, prefix: str, parts: tuple[str, ...]) -> dict[str, np.ndarray]:
    begins = tuple(prefix + part for part in parts)
    return {name.removeprefix(prefix): figures[name] for name in figures if name.startswith(begins)}


def _ours(name: str, array: np.ndarray) -> Iterator[tuple[str, mx.array]]:
    """The weights of ours that one of PyTorch's holds."""
    for theirs, ours in OUR_NAMES.items():
        name = name.replace(theirs, ours)
    if array.ndim == 2 and not name.startswith("embedding."):
        array = array.T  # PyTorch keeps linear maps as [outputs, inputs]
    before, packed, kind = name.partition("in_proj_")
    if not packed:
        yield name, mx.array(array)
        return
    for part, share in zip(("query", "key", "value"), np.split(array, 3, axis=-1), strict=True):
        yield f"{before}{part}.{kind}", mx.array(share)
