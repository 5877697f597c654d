"""Which token comes next: one that was asked for, the one of the best hypothesis of a beam, or what a sampler takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import mlx.core as mx

from mlxdecoder.errors import UserError
from mlxdecoder.models import LanguageModel, Translator
from mlxdecoder.sampling import make_sampler

Stopped: TypeAlias = Callable[[], bool]
Choose: TypeAlias = Callable[[int, mx.array], int]


class Interrupted(Exception):
    """Somebody asked to stop in the middle of a search."""


def make_choice(
    model: LanguageModel | Translator,
    read: Sequence[int],
    forced: Mapping[int, int],
    sampling: Mapping[str, Any],
    max_tokens: int | None,
    stopped: Stopped,
) -> Choose:
    """From a step and log-probabilities [1, V] to a token id.

    With a beam above 1, the path of its best hypothesis is taken up to the first forced token, and after that the most
    probable tokens. Raises `UserError` for a forced token that does not exist and for sampling out of range,
    `Interrupted` when `stopped` holds during the search.
    """
    _check(forced, model.config.target_vocab)
    searches = sampling["beam"] != 1
    temperature = 0.0 if searches else sampling["temperature"]
    sampler = make_sampler(temperature, top_p=sampling["top_p"], top_k=sampling["top_k"], seed=sampling["seed"])
    path = _best_path(model, read, sampling["beam"], max_tokens, stopped) if searches else []
    given = dict(enumerate(path[: min(forced, default=len(path))])) | dict(forced)

    def choose(step: int, logprobs: mx.array) -> int:
        return given[step] if step in given else int(sampler(logprobs).item())

    return choose


def _best_path(
    model: LanguageModel | Translator, read: Sequence[int], beam: int, max_tokens: int | None, stopped: Stopped
) -> list[int]:
    """The tokens of the best hypothesis, the end mark included."""
    from mlxdecoder.beam import beam_search  # the first picture needs none

    def watch(name: str, array: mx.array) -> None:
        if stopped():
            raise Interrupted

    best = beam_search(model, [read], beam=beam, max_tokens=max_tokens, watch=watch)[0][0]
    return [*best.tokens, model.config.end_id] if best.finish_reason == "stop" else best.tokens


def _check(forced: Mapping[int, int], vocabulary: int) -> None:
    for step, token in forced.items():
        if step < 0 or not 0 <= token < vocabulary:
            wanted = f"a step from 0 and ids from 0 to {vocabulary - 1} wanted"
            raise UserError(f"forced: id {token} at step {step} found; {wanted}.")
