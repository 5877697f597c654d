"""What the cache saves: each step of one sentence timed with it and without."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import mlx.core as mx

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.worker.choosing import Stopped
from mlxdecoder.app.worker.engine import Engine
from mlxdecoder.app.worker.link import Link
from mlxdecoder.app.worker.reading import encoded
from mlxdecoder.app.worker.shapes import read_by_decoder
from mlxdecoder.decoding import Decoding, generating
from mlxdecoder.errors import UserError
from mlxdecoder.models import Encoder, LanguageModel, Translator
from mlxdecoder.watch import Watch

ROUNDS, ENOUGH = 5, 1.0  # seconds after which no further round is begun


def tell_cost(engine: Engine, message: Message, link: Link) -> None:
    """The job: tells `cost`, of the most probable tokens; the first step of a translator reads the source too."""
    course = _course(engine.checkpoint.model, encoded(engine.checkpoint, message["sentence"]))
    with_cache, without = course.compare(link.stopped)
    if link.stopped():
        return
    rows = [[step, *pair] for step, pair in enumerate(zip(with_cache, without, strict=True))]
    link.tell("cost", rows=rows, read=course.bytes_read(), recomputed=course.recomputed())


@dataclass(frozen=True)
class Course:
    """One generation, told beforehand: what is encoded or prompted, and the tokens that each step feeds."""

    model: LanguageModel | Translator
    read: list[int]
    chunks: list[list[int]]

    def compare(self, stopped: Stopped) -> tuple[list[float], list[float]]:
        """Milliseconds of each step with a cache and without, medians over the rounds."""
        rounds: dict[bool, list[list[float]]] = {True: [], False: []}
        began = time.perf_counter()
        while len(rounds[True]) < ROUNDS and (not rounds[True] or time.perf_counter() - began < ENOUGH):
            for cached in (True, False):  # in turn, so that whatever else the machine does falls on both
                rounds[cached].append(list(self.milliseconds(cached, stopped)))
        with_cache, without = ([median(times) for times in zip(*rounds[cached], strict=False)] for cached in rounds)
        return with_cache, without

    def milliseconds(self, cached: bool, stopped: Stopped) -> Iterator[float]:
        """The time of each step; none of those after a stop."""
        with generating(self.model):
            began = time.perf_counter()
            decoding = Decoding(self.model, [self.read], cached=cached)
            for chunk in self.chunks:
                if stopped():
                    return
                mx.eval(decoding.feed(mx.array([chunk])))
                yield 1e3 * (time.perf_counter() - began)
                began = time.perf_counter()

    def bytes_read(self) -> list[int]:
        """The bytes of keys and values, of all layers, that each step reads with a cache."""
        steps: list[int] = []
        with generating(self.model):
            decoding = Decoding(self.model, [self.read], watch=_counting(steps))
            for chunk in self.chunks:
                steps.append(0)
                mx.eval(decoding.feed(mx.array([chunk])))
        return steps

    def recomputed(self) -> list[int]:
        """How many keys each layer makes again in each step without a cache: of earlier tokens, and of the source."""
        source = len(self.read) if isinstance(self.model, Translator) else 0
        before = [sum(map(len, self.chunks[:step])) for step in range(len(self.chunks))]
        return [tokens + (source if step else 0) for step, tokens in enumerate(before)]


def _course(model: Encoder | LanguageModel | Translator, read: list[int]) -> Course:
    if isinstance(model, Encoder):
        raise UserError("cost: an encoder generates nothing, so that it needs no cache.")
    fed = read_by_decoder(model, read)
    first = 1 if isinstance(model, Translator) else len(read)
    return Course(model, read, [fed[:first], *([token] for token in fed[first:])])


def _counting(steps: list[int]) -> Watch:
    def watch(name: str, array: mx.array) -> None:
        if name.startswith("decoder.") and name.endswith((".key", ".value")):
            steps[-1] += array.nbytes

    return watch
