"""What a mistake does to one sentence, in numbers: weights, next-token probabilities, and what is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mlx.core as mx
import numpy as np

from mlxdecoder.errors import UserError
from mlxdecoder.maps import AttentionMap
from mlxdecoder.mistakes import find, switch_on
from mlxdecoder.mistakes.continuing import PromptScene
from mlxdecoder.mistakes.scene import Scene
from mlxdecoder.mistakes.translating import TranslatorScene
from mlxdecoder.mistakes.view import View
from mlxdecoder.models import Encoder, LanguageModel, Translator
from mlxdecoder.recipe import RIGHT
from mlxdecoder.text.protocol import TextTokenizer
from mlxdecoder.trace import Trace
from mlxdecoder.training.checkpoint import Checkpoint, check_checkpoint

READ = "read at once, as in training"
WRITTEN = "token by token with caches, as in generation"


@dataclass(frozen=True, repr=False)
class Effects:
    """One sentence, or prompt of a language model, with and without mistakes.

    `read` is what the right model writes, read at once as in training; `written` is the same fed token by token through
    caches, as in generation; a language model reads it behind the prompt. `correct` and `mistaken` are the tokens that
    each model writes on its own.
    """

    mistakes: tuple[str, ...]
    read: View
    written: View
    correct: list[int]
    mistaken: list[int]

    def __repr__(self) -> str:
        where = (
            "the same output"
            if self.first_difference is None
            else f"other output from token {self.first_difference + 1}"
        )
        return f"Effects({' + '.join(self.mistakes)}: {where})"

    def _repr_html_(self) -> str:
        titles = " + ".join(find(name).title for name in self.mistakes)
        return self.told.page(titles, self.how)._repr_html_()

    @property
    def how(self) -> str:
        """How the tokens of the view that is told were read."""
        return WRITTEN if self.told is self.written else READ

    @cached_property
    def first_difference(self) -> int | None:
        """The first step, counted from 0, at which other tokens are written; None when all are the same."""
        if self.correct == self.mistaken:
            return None
        pairs = zip(self.correct, self.mistaken, strict=False)
        shorter = min(len(self.correct), len(self.mistaken))
        return next((step for step, (right, wrong) in enumerate(pairs) if right != wrong), shorter)

    @property
    def told(self) -> View:
        """The view in which the mistakes are met: read at once, or written where they live in generation alone."""
        alone = all(found.generates_only for found in map(find, self.mistakes))
        return self.written if alone else self.read

    def to_dict(self) -> dict[str, Any]:
        return {
            "mistakes": list(self.mistakes),
            "correct": self.correct,
            "mistaken": self.mistaken,
            "first_difference": self.first_difference,
            "read": self.read.to_dict(),
            "written": self.written.to_dict(),
        }


def compare(checkpoint: Checkpoint, names: Sequence[str | int], text: str, beside: str | None = None) -> Effects:
    """`effects` for a text in words; `beside` is another one.

    Raises `UserError` for texts without words, and for an encoder.
    """
    check_checkpoint(checkpoint)
    if isinstance(checkpoint.model, Encoder):
        raise UserError(
            f"{checkpoint.path}: holds an encoder, which writes nothing to compare; from Python, switch mistakes on "
            "with model.recipe = mlxdecoder.mistakes.switch_on([...]), and look with mlxdecoder.show."
        )
    source = encoded(checkpoint, "text", text)
    other = None if beside is None else encoded(checkpoint, "beside", beside)
    return effects(checkpoint.model, checkpoint.tokenizer, names, source, other)


def encoded(checkpoint: Checkpoint, name: str, text: str) -> list[int]:
    """What a model reads of a text that has words."""
    if text.strip() and (ids := checkpoint.read(text)):
        return ids
    raise UserError(f"{name}: no words found in it; a sentence is wanted.")


def effects(
    model: LanguageModel | Translator,
    tokenizer: TextTokenizer,
    names: Sequence[str | int],
    source: Sequence[int],
    beside: Sequence[int] | None = None,
    target: Sequence[int] | None = None,
) -> Effects:
    """Compare the model as it should be with the model with these mistakes on, for one source or prompt.

    The circumstances that a mistake needs to show are made: padding, a sentence beside, packed in front, or before, for
    which `beside` serves (default: this sentence, reversed). `target` is what both read (default: what the right model
    writes). Afterwards the model's recipe is what it was.
    """
    switch_on(names)  # says at once what is wrong with the names
    found = [find(name) for name in names]
    concerned = [mistake for mistake in found if mistake.concerns(model.config.architecture)]
    needs = [need for mistake in concerned for need in mistake.needs]
    before = model.recipe
    mx.random.seed(0)  # so that what dropout draws is the same each time
    try:
        model.recipe = RIGHT
        scene: Scene = (
            TranslatorScene.of(model, source, needs, beside)
            if isinstance(model, Translator)
            else PromptScene.of(model, source, needs, beside)
        )
        right = scene.write().tokens
        read = right if target is None else target
        correct = _seen(scene, tokenizer, read)
        model.recipe = switch_on(names)
        mistaken = _seen(scene, tokenizer, read)
        model.recipe = switch_on(names)  # anew, with caches that have seen nothing yet
        said = scene.write().tokens
    finally:
        model.recipe = before
    views = [
        View(one[0], other[0], _divergence(one[1], other[1])) for one, other in zip(correct, mistaken, strict=True)
    ]
    return Effects(tuple(mistake.id for mistake in found), views[0], views[1], right, said)


Seen = tuple[dict[str, AttentionMap], np.ndarray]


def _seen(scene: Scene, tokenizer: TextTokenizer, target: Sequence[int]) -> tuple[Seen, Seen]:
    """Maps and log-probabilities of the target: read at once, and written step by step."""
    at_once, by_steps = Trace(), Trace()
    logprobs = scene.read(target, at_once)
    written = scene.write(target, by_steps)
    return (
        (scene.maps(tokenizer, target, at_once, False), logprobs),
        (scene.maps(tokenizer, target, by_steps, written.stale), written.logprobs),
    )


def _divergence(right: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Kullback-Leibler divergence [T] of log-probabilities [T, V]; never below 0, as rounding would have it."""
    divergence = (np.exp(right) * (right - wrong)).sum(axis=-1)
    return np.where(divergence < 0, 0.0, divergence)
