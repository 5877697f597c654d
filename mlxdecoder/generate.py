"""Generation: a batch of sources or prompts to tokens, step by step, with or without caches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypedDict, Unpack

import mlx.core as mx
import numpy as np

from mlxdecoder.backend import log_softmax
from mlxdecoder.cache import SelfAttentionCache
from mlxdecoder.decoding import Decoding, Model, check_model, generating, token_limit
from mlxdecoder.ids import as_rows
from mlxdecoder.sampling import Sampler, block_repeats, keep_rules, make_sampler, penalise
from mlxdecoder.watch import Watch


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
        check_model(model)
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
        rows, config = [self.rows[i] for i in live], self._model.config
        said = [row.tokens for row in rows]
        logits = penalise(logits, config.repetition_penalty, self._decoding.histories(said))
        logprobs = keep_rules(log_softmax(logits), config, [row.is_last for row in rows])
        return block_repeats(logprobs, said, self._block_ngrams)

    def _take(self, live: list[int], chosen: mx.array, logprobs: mx.array) -> tuple[str | None, ...]:
        tokens, known = chosen.tolist(), np.array(logprobs, copy=False)
        for place, (i, token) in enumerate(zip(live, tokens, strict=True)):
            self.rows[i].take(token, float(known[place, token]), place, self._model.config.end_ids)
        return tuple(self.rows[i].finish_reason for i in live)


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
