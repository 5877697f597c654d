"""A batch that is being decoded: its tokens go in, the logits of the next ones come out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import mlx.core as mx

from mlxdecoder.cache import SelfAttentionCache
from mlxdecoder.checks import check_cache, check_ids
from mlxdecoder.errors import UserError
from mlxdecoder.ids import as_rows, pad_left, pad_right
from mlxdecoder.masks import Padding
from mlxdecoder.models import LanguageModel, Memory, Translator
from mlxdecoder.recipe import Layout
from mlxdecoder.watch import Watch

Model = LanguageModel | Translator
PROMPT_ROOM = 128  # new tokens of a language model, when nobody says how many


class Decoding:
    """A batch that is being decoded: feed it tokens, get the logits of the next one; rows may be copied or dropped."""

    def __init__(
        self,
        model: Model,
        inputs: Sequence[Sequence[int]],
        *,
        cached: bool = True,
        max_kv_size: int | None = None,
        kv_bits: int | None = None,
        kv_group_size: int = 64,
        prompt_cache: Sequence[SelfAttentionCache] | None = None,
        watch: Watch | None = None,
    ) -> None:
        inputs = as_rows(inputs)
        self.model, self.watch = model, watch
        self.cache: Any = model.make_cache(max_kv_size) if cached else None
        if kv_bits is not None and self.cache is not None:
            _check_quantised(model)
            self.cache = [layer.to_quantized(kv_group_size, kv_bits) for layer in self.cache]
        if prompt_cache is not None:
            self.cache = _checked_cache(model, prompt_cache, inputs, kv_bits)
        self._fed = mx.zeros((len(inputs), 0), mx.int32)
        self._inputs = list(range(len(inputs)))  # which of them each row decodes
        self._told = [[model.config.begin_id] for _ in inputs] if isinstance(model, Translator) else inputs
        self._memory: Memory | None = None
        lengths = [len(ids) for ids in inputs]
        padded = len(set(lengths)) > 1
        if max_kv_size is not None and isinstance(model, LanguageModel) and padded:
            raise UserError("max_kv_size: prompts of one length are wanted, or one at a time, for a bounded cache.")
        if isinstance(model, Translator):
            self._layout = Layout(source=Padding.right(lengths, max(lengths))) if padded else Layout()
            self._memory = model.encode(pad_right(inputs, model.config.pad_id), self._layout, watch)
            self.first = mx.full((len(inputs), 1), model.config.begin_id, mx.int32)
        else:
            self._layout = Layout(target=Padding.left(lengths, max(lengths))) if padded else Layout()
            self.first = check_ids("inputs", pad_left(inputs, model.config.pad_id), model.config.target_vocab)

    def feed(self, tokens: mx.array) -> mx.array:
        """Take in token ids [B, T]; gives the logits of what follows [B, V]."""
        if self.cache is None:
            self._fed = tokens = mx.concatenate([self._fed, tokens], axis=1)
        model: Any = self.model
        known = self._layout if self._memory is None else self._memory
        return model.decode_unchecked(tokens, known, self.cache, self.watch)[:, -1]

    def histories(self, said: Sequence[Sequence[int]]) -> list[list[int]]:
        """For each row, what the decoder was given and what it said: its prompt, or the begin mark, and new tokens."""
        return [[*self._told[i], *tokens] for i, tokens in zip(self._inputs, said, strict=True)]

    def reorder(self, rows: Sequence[int]) -> None:
        """Go on with these rows of the batch, in this order."""
        if list(rows) == list(range(len(self.first))):
            return
        before, self._inputs = self._inputs, [self._inputs[row] for row in rows]
        self.first, self._layout = self.first[mx.array(rows)], self._layout.rows(rows)
        if self.cache is None:
            self._fed = self._fed[mx.array(rows)]
        in_place = self._memory is not None and before == self._inputs  # each row has its source already
        for layer in self.cache or ():
            (layer.own if in_place else layer).reorder(rows)
        if self._memory is not None and not in_place:
            self._memory = self._memory.rows(rows)
            for layer in self.cache or ():
                layer.cross.source = self._memory.source


def check_model(model: object) -> None:
    """Raise `UserError` unless this is a model that generates."""
    if not isinstance(model, LanguageModel | Translator):
        hint = "; give its .model" if hasattr(model, "model") else ""
        raise UserError(f"model: {type(model).__name__} found, a language model or a translator wanted{hint}.")


@contextmanager
def generating(model: Model) -> Iterator[None]:
    """Dropout off, unless the recipe leaves it on; afterwards as it was."""
    before = model.training
    changed = before != model.recipe.drops_while_generating
    if changed:  # to tell every module costs as much as a token
        model.train(not before)
    try:
        yield
    finally:
        if changed:
            model.train(before)


def token_limit(model: Model, ids: Sequence[int], max_tokens: int | None) -> int:
    """How many new tokens a source or prompt may get; learned positions leave no more than they were learned for."""
    if max_tokens is not None and max_tokens < 1:
        raise UserError(f"max_tokens = {max_tokens}: at least 1 is wanted.")
    translates = isinstance(model, Translator)
    limit = max_tokens or (2 * len(ids) + 16 if translates else PROMPT_ROOM)
    if model.config.positions != "learned":
        return limit
    room = model.config.max_length - (0 if translates else len(ids) - 1)
    if room < 1:
        raise UserError(f"inputs: {len(ids)} tokens found, but max_length = {model.config.max_length} were learned.")
    return min(limit, room)


def _check_quantised(model: Model) -> None:
    """Raise `UserError` where no argument, but the model itself, bounds the caches."""
    if model.config.window is not None:
        raise UserError(
            f"kv_bits: a bounded cache is not quantised, and this model's window of {model.config.window} tokens "
            "bounds its caches; leave out kv_bits."
        )


def _checked_cache(
    model: Model, cache: Sequence[SelfAttentionCache], inputs: Sequence[Sequence[int]], kv_bits: int | None
) -> Sequence[SelfAttentionCache]:
    if isinstance(model, Translator):
        raise UserError("prompt_cache: is for a language model; a translator's caches belong to their source.")
    if kv_bits is not None:
        raise UserError("kv_bits: is for a new cache; quantise a prompt_cache with to_quantized() of its layers.")
    if len(set(map(len, inputs))) > 1:
        raise UserError("prompt_cache: prompts of one length are wanted, or one at a time.")
    check_cache(cache, model.config, len(inputs))
    return cache
