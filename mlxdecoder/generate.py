"""Generation: a batch of sources or prompts to tokens, step by step, with or without caches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack, cast

import mlx.core as mx
import numpy as np

from mlxdecoder.backend import log_softmax
from mlxdecoder.cache import SelfAttentionCache
from mlxdecoder.checks import check_cache, check_ids
from mlxdecoder.errors import UserError
from mlxdecoder.masks import Padding
from mlxdecoder.models import LanguageModel, Memory, Translator
from mlxdecoder.recipe import Layout
from mlxdecoder.sampling import Sampler, block_repeats, keep_rules, make_sampler
from mlxdecoder.watch import Watch

Model = LanguageModel | Translator
PROMPT_ROOM = 128  # new tokens of a language model, when nobody says how many


@dataclass(frozen=True)
class Generation:
    """What became of one source or prompt.

    `tokens` are the new ones, without marks; `logprob` is the sum of their log-probabilities, the end mark's included;
    `finish_reason` is "stop" at the end mark or "length" at the limit; `path` gives its row in the batch at each
    decoder pass, for those who watched; `score` is `logprob` by length, and ranks hypotheses.
    """

    tokens: list[int]
    logprob: float
    finish_reason: str
    path: tuple[int, ...] = ()
    score: float = 0.0


@dataclass(frozen=True)
class Step:
    """One new token for each row that still goes on: `rows` are numbers of inputs, `logprobs` is [rows, V].

    `finish_reasons` holds, for each of these rows, None or why it ends with this step.
    """

    rows: tuple[int, ...]
    tokens: tuple[int, ...]
    logprobs: mx.array
    finish_reasons: tuple[str | None, ...]


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
            self.cache = [layer.to_quantized(kv_group_size, kv_bits) for layer in self.cache]
        if prompt_cache is not None:
            self.cache = _checked_cache(model, prompt_cache, inputs, kv_bits)
        self._fed = mx.zeros((len(inputs), 0), mx.int32)
        self._inputs = list(range(len(inputs)))  # which of them each row decodes
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


@dataclass
class _Row:
    """One input on its way."""

    limit: int
    tokens: list[int] = field(default_factory=list)
    path: list[int] = field(default_factory=list)
    logprob: float = 0.0
    finish_reason: str | None = None

    @property
    def is_last(self) -> bool:
        """Whether the next token is the last one that there is room for."""
        return len(self.tokens) + 1 >= self.limit

    def take(self, token: int, logprob: float, place: int, ends: Sequence[int]) -> None:
        self.logprob += logprob
        self.path.append(place)
        if token in ends:
            self.finish_reason = "stop"
            return
        self.tokens.append(token)
        if len(self.tokens) >= self.limit:
            self.finish_reason = "length"

    def done(self) -> Generation:
        score = self.logprob / max(len(self.path), 1)
        return Generation(self.tokens, self.logprob, self.finish_reason or "length", tuple(self.path), score)


class GenerateOptions(TypedDict, total=False):
    """How tokens are generated.

    `max_tokens` limits each row; by default a translation may be twice as long as its source and 16 tokens more, a
    continuation 128 tokens. `sampler` chooses tokens (default: the most probable). `block_ngrams` forbids to repeat a
    run of so many tokens. `cached` False reads everything again at each step; `max_kv_size` bounds the cache, `kv_bits`
    (8 or 4) keeps it in so many bits a number, with a scale and a bias for each `kv_group_size` of them.
    `prompt_cache` holds what a language model has read before, and takes in all but the last token. `watch` is told
    every array.
    """

    max_tokens: int | None
    sampler: Sampler | None
    block_ngrams: int
    cached: bool
    max_kv_size: int | None
    kv_bits: int | None
    kv_group_size: int
    prompt_cache: Sequence[SelfAttentionCache] | None
    watch: Watch | None


def stream_generate(
    model: Model, inputs: Sequence[Sequence[int]], **options: Unpack[GenerateOptions]
) -> Iterator[Step]:
    """Decode a batch of source or prompt ids together, and yield each step as soon as it is known.

    A row that ends leaves the batch. For the options see `GenerateOptions`. Raises `UserError` for an empty batch, an
    empty row, and options out of range.
    """
    return _Generating(model, inputs, **options).steps()


def generate(model: Model, inputs: Sequence[Sequence[int]], **options: Unpack[GenerateOptions]) -> list[Generation]:
    """Decode a batch to the end; the results stand in the order of the inputs. Options as in `GenerateOptions`."""
    generating = _Generating(model, inputs, **options)
    for _ in generating.steps():
        pass
    return [row.done() for row in generating.rows]


class _Generating:
    """A batch on its way from inputs to the end of its last row."""

    def __init__(
        self,
        model: Model,
        inputs: Sequence[Sequence[int]],
        *,
        max_tokens: int | None = None,
        sampler: Sampler | None = None,
        block_ngrams: int = 0,
        cached: bool = True,
        max_kv_size: int | None = None,
        kv_bits: int | None = None,
        kv_group_size: int = 64,
        prompt_cache: Sequence[SelfAttentionCache] | None = None,
        watch: Watch | None = None,
    ) -> None:
        inputs = as_rows(inputs)
        self.rows = [_Row(token_limit(model, ids, max_tokens)) for ids in inputs]
        self._model, self._sampler, self._block_ngrams = model, sampler or make_sampler(), block_ngrams
        with generating(model):
            self._decoding = Decoding(
                model,
                inputs,
                cached=cached,
                max_kv_size=max_kv_size,
                kv_bits=kv_bits,
                kv_group_size=kv_group_size,
                prompt_cache=prompt_cache,
                watch=watch,
            )

    def steps(self) -> Iterator[Step]:
        live, tokens = list(range(len(self.rows))), self._decoding.first
        while live:
            logprobs = self._logprobs(live, tokens)
            chosen = self._sampler(logprobs)
            reasons = self._take(live, chosen, logprobs)
            yield Step(tuple(live), tuple(chosen.tolist()), logprobs, reasons)
            going = [place for place, reason in enumerate(reasons) if reason is None]
            live, tokens = [live[place] for place in going], chosen[:, None]
            if live and len(going) < len(reasons):
                self._decoding.reorder(going)
                tokens = tokens[mx.array(going)]

    def _logprobs(self, live: list[int], tokens: mx.array) -> mx.array:
        with generating(self._model):  # never while others have their turn
            logits = self._decoding.feed(tokens)
        rows = [self.rows[i] for i in live]
        logprobs = keep_rules(log_softmax(logits), self._model.config, [row.is_last for row in rows])
        return block_repeats(logprobs, [row.tokens for row in rows], self._block_ngrams)

    def _take(self, live: list[int], chosen: mx.array, logprobs: mx.array) -> tuple[str | None, ...]:
        tokens, known = chosen.tolist(), np.array(logprobs, copy=False)
        for place, (i, token) in enumerate(zip(live, tokens, strict=True)):
            self.rows[i].take(token, float(known[place, token]), place, self._model.config.end_ids)
        return tuple(self.rows[i].finish_reason for i in live)


def in_batches(
    inputs: Sequence[Sequence[int]],
    run: Callable[[list[Sequence[int]]], list[Any]],
    batch_size: int = 32,
    progress: Callable[[int], None] | None = None,
) -> list[Any]:
    """Run batches of inputs of like length, longest first; the results stand in the order of the inputs.

    `progress` is told how many inputs each batch has done.
    """
    order = sorted(range(len(inputs)), key=lambda i: -len(inputs[i]))
    results: list[Any] = [None] * len(inputs)
    for begin in range(0, len(order), batch_size):
        chosen = order[begin : begin + batch_size]
        for i, result in zip(chosen, run([inputs[i] for i in chosen]), strict=True):
            results[i] = result
        if progress:
            progress(len(chosen))
    return results


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


def pad_right(rows: Sequence[Sequence[int]], pad: int, width: int | None = None) -> np.ndarray:
    """Rows of ids as one array [B, width], filled up behind; the width is that of the longest row unless given."""
    width = max(map(len, rows)) if width is None else width
    return np.array([[*row, *[pad] * (width - len(row))] for row in rows], dtype=np.int32)


def pad_left(rows: Sequence[Sequence[int]], pad: int) -> np.ndarray:
    """Rows of ids as one array [B, longest], filled up in front."""
    width = max(map(len, rows))
    return np.array([[*[pad] * (width - len(row)), *row] for row in rows], dtype=np.int32)


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


def as_rows(inputs: object) -> list[list[int]]:
    """Ids as lists; raises `UserError` unless there is at least one row, and in each at least one whole number."""
    rows = inputs.tolist() if isinstance(inputs, mx.array | np.ndarray) else list(cast(Any, inputs))
    if not rows:
        raise UserError("inputs: none found; at least one sequence of ids is wanted.")
    if any(isinstance(row, int | float | str) for row in rows):
        raise UserError("inputs: lists of ids are wanted; encode texts first, and put a single one in brackets.")
    rows = [row.tolist() if isinstance(row, mx.array | np.ndarray) else list(row) for row in rows]
    for i, row in enumerate(rows):
        if not row:
            raise UserError(f"inputs: row {i} has no tokens; at least one is wanted.")
        if not all(isinstance(token, int | np.integer) for token in row):
            raise UserError(f"inputs: row {i} has something else than whole numbers; encode the text first.")
    return [[int(token) for token in row] for row in rows]
