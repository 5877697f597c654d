"""What a model reads of a sentence, and which sentences it does not read."""

from __future__ import annotations

from collections.abc import Sequence

from mlxdecoder.commands.translate import UNUSUAL
from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.models import Translator
from mlxdecoder.training.checkpoint import Checkpoint
from mlxdecoder.translate import longest

MOST_CELLS = 5_000_000  # weights of one kind, of all layers and heads; their five stages take some 60 MB


def encoded(checkpoint: Checkpoint, sentence: str) -> list[int]:
    """What a model reads: the ids of a sentence, behind a begin mark where a language model goes on from it.

    Raises `UserError` where there is nothing to read, or more than can be watched.
    """
    model = checkpoint.model
    if model.config.n_patches:
        raise UserError(
            "model: it reads images, which the app does not show; from Python, "
            "mlxdecoder.show(mlxdecoder.load(folder), image) does."
        )
    read = checkpoint.read(sentence)
    if not read:
        raise UserError("sentence: no words found in it; a sentence is wanted.")
    if isinstance(model, Translator):
        check_length("sentence", read, model.config)
    heads = model.config.n_heads * max(model.config.n_layers, model.config.encoder_layers)
    most = int((MOST_CELLS / heads) ** 0.5)
    if len(read) > most:
        raise UserError(f"sentence: {len(read):,} tokens found; at most {most:,} can be watched with this model.")
    return read


def check_length(name: str, ids: Sequence[int], config: ModelConfig) -> None:
    """Raise `UserError` for a sentence with more pieces than `mlxdecoder translate` takes, in its words."""
    if len(ids) > longest(config):
        raise UserError(f"{name}: {UNUSUAL['too long']}.")
