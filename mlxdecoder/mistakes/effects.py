"""What a mistake does to one sentence, in numbers: weights, next-token probabilities, and what is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mlx.core as mx
import numpy as np

from mlxdecoder.errors import UserError
from mlxdecoder.html import AttentionView
from mlxdecoder.maps import TOLERANCE, AttentionMap
from mlxdecoder.mistakes import find, switch_on
from mlxdecoder.mistakes.continuing import PromptScene
from mlxdecoder.mistakes.scene import Scene
from mlxdecoder.mistakes.translating import TranslatorScene
from mlxdecoder.models import Encoder, LanguageModel, Translator
from mlxdecoder.recipe import RIGHT
from mlxdecoder.text.protocol import TextTokenizer
from mlxdecoder.trace import Trace
from mlxdecoder.training.checkpoint import Checkpoint

READ = "read at once, as in training"
WRITTEN = "token by token with caches, as in generation"


@dataclass(frozen=True)
class HeadNumbers:
    """One head: its smallest and largest row sum, mean weight outside the intended mask, mean entropy (nats), NaNs."""

    kind: str
    layer: int
    head: int
    least_sum: float
    largest_sum: float
    outside: float
    entropy: float
    not_finite: int


@dataclass(frozen=True, repr=False)
class View:
    """The right model and the mistaken one on the same tokens: maps by kind, and how far their predictions are apart.

    `divergence` [T] is the Kullback-Leibler divergence of the mistaken next-token distribution from the right one, in
    nats, after each token that was read; NaN where the mistaken one is no distribution.
    """

    correct: dict[str, AttentionMap]
    mistaken: dict[str, AttentionMap]
    divergence: np.ndarray

    def _repr_html_(self) -> str:
        """Both side by side, as an interactive page."""
        return self.page()._repr_html_()

    def __repr__(self) -> str:
        return f"View({', '.join(self.correct)}; {len(self.divergence)} steps)"

    def page(self, title: str = "", note: str = "") -> AttentionView:
        """Correct, mistaken and their difference: shows itself in a notebook, saves itself for a browser."""
        first = self.most_changed()[0]
        kinds = sorted(self.correct, key=lambda kind: kind != first)
        sides = {"correct": self.correct, "mistaken": self.mistaken}
        return AttentionView({name: [maps[kind] for kind in kinds] for name, maps in sides.items()}, title, note)

    def most_changed(self) -> tuple[str, int, int]:
        """Kind, layer and head that show most: weights that are illegal, or else those that differ most."""
        shown = {kind: illegal(self.mistaken[kind]) for kind in self.mistaken}
        if max(float(head.max()) for head in shown.values()) <= TOLERANCE:
            shown = {kind: change_of(self.correct[kind], self.mistaken[kind]) for kind in self.correct}
        kind = max(shown, key=lambda kind: float(shown[kind].max()))
        layer, head = np.unravel_index(int(shown[kind].argmax()), shown[kind].shape)
        return kind, int(layer), int(head)


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
        views = {"read": self.read, "written": self.written}
        return {
            "mistakes": list(self.mistakes),
            "correct": self.correct,
            "mistaken": self.mistaken,
            "first_difference": self.first_difference,
            **{name: _view_to_dict(view) for name, view in views.items()},
        }


def compare(checkpoint: Checkpoint, names: Sequence[str | int], text: str, beside: str | None = None) -> Effects:
    """`effects` for a text in words; `beside` is another one.

    Raises `UserError` for texts without words, and for an encoder.
    """
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


def head_numbers(maps: dict[str, AttentionMap]) -> Iterator[HeadNumbers]:
    """The numbers of every head, kind by kind."""
    for kind, attention in maps.items():
        sums, outside, entropy = attention.row_sums(), attention.mass_outside(), attention.entropy()
        broken = ~np.isfinite(attention.weights)
        for layer, head in np.ndindex(sums.shape[:2]):
            one = (layer, head)
            yield HeadNumbers(
                kind,
                attention.layers[layer],
                attention.heads[head],
                float(sums[one].min()),
                float(sums[one].max()),
                float(outside[one].mean()),
                float(entropy[one].mean()),
                int(broken[one].sum()),
            )


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


def change_of(correct: AttentionMap, mistaken: AttentionMap) -> np.ndarray:
    """The largest change of a weight in each head [L, H]."""
    change = np.abs(mistaken.weights - correct.weights)
    return np.asarray(np.where(np.isfinite(change), change, np.inf).max(axis=(2, 3)))


def illegal(attention: AttentionMap) -> np.ndarray:
    """How much is wrong in a row of each head [L, H]: weight outside the mask, a sum that is off; NaN is worst."""
    wrong = attention.mass_outside() + attention.row_sum_errors()
    return np.asarray(np.where(np.isfinite(wrong), wrong, np.inf).max(axis=2))


def _view_to_dict(view: View) -> dict[str, Any]:
    def finite(number: Any) -> Any:
        return number if not isinstance(number, float) or np.isfinite(number) else None

    def rows(maps: dict[str, AttentionMap]) -> list[dict[str, Any]]:
        return [{name: finite(value) for name, value in vars(one).items()} for one in head_numbers(maps)]

    return {
        "divergence": [finite(float(value)) for value in view.divergence],
        "correct": rows(view.correct),
        "mistaken": rows(view.mistaken),
    }
