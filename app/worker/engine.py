"""What the worker has open: a checkpoint, and how to run its model with mistakes for a while."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mlxdecoder.errors import UserError
from mlxdecoder.mistakes import switch_on
from mlxdecoder.models import Encoder, LanguageModel, Translator
from mlxdecoder.training.checkpoint import Checkpoint


class Engine:
    """The model at hand; a job takes `checkpoint` once and keeps to it, for another may be opened meanwhile."""

    def __init__(self) -> None:
        self._checkpoint: Checkpoint | None = None

    @property
    def checkpoint(self) -> Checkpoint:
        if self._checkpoint is None:
            raise UserError("No model is open; open one first.")
        return self._checkpoint

    @checkpoint.setter
    def checkpoint(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint


@contextmanager
def mistaken(model: Encoder | LanguageModel | Translator, mistakes: Sequence[str]) -> Iterator[None]:
    """The model with these mistakes on, afterwards as it was; without any, the right model."""
    before = model.recipe
    model.recipe = switch_on(mistakes)
    try:
        yield
    finally:
        model.recipe = before
