"""What the cache saves, how the time of a token grows with its prefix, and what watching costs."""

from __future__ import annotations

from functools import partial

import mlx.core as mx
import numpy as np

from mlxdecoder.bench.timing import paired, seconds, shown
from mlxdecoder.config import ModelConfig
from mlxdecoder.decoding import Decoding, generating
from mlxdecoder.models import Translator
from mlxdecoder.trace import Trace
from mlxdecoder.watch import Watch

LENGTHS = (16, 32, 64, 128, 256, 512)
SOURCE = list(range(4, 24))


def cached_and_not(lengths: tuple[int, ...] = LENGTHS) -> list[tuple[int, float, float, float]]:
    """For each number of tokens: seconds with a cache, without, and the first divided by the second."""
    model = make_model()
    rows = []
    for length in lengths:
        cached, uncached = (partial(decode, model, length, cached) for cached in (True, False))
        rows.append((length, *paired(cached, uncached, 3, f"{length} tokens")))
    return rows


def by_prefix(lengths: tuple[int, ...] = LENGTHS, tokens: int = 16) -> list[tuple[int, float]]:
    """Seconds a token for the 16 tokens up to each length, decoded with a cache: the median of five runs."""
    runs = [_token_times(max(lengths)) for _ in shown(5, f"{max(lengths)} tokens")]
    return [(length, float(np.median([np.mean(run[length - tokens : length]) for run in runs]))) for length in lengths]


def tracing(length: int = 32) -> tuple[float, float, float]:
    """Seconds of decoding with the weights of every head recorded, without, and the first divided by the second."""
    model = make_model()
    return paired(lambda: decode(model, length, watch=Trace()), lambda: decode(model, length), 15, f"{length} tokens")


def make_model() -> Translator:
    mx.random.seed(0)
    return Translator(ModelConfig(max_length=1024))


def decode(model: Translator, length: int, cached: bool = True, watch: Watch | None = None) -> None:
    """Greedy decoding of a source of 20 tokens, past every end mark."""
    with generating(model):
        decoding = Decoding(model, [SOURCE], cached=cached, watch=watch)
        tokens = decoding.first
        for _ in range(length):
            tokens = mx.argmax(decoding.feed(tokens), axis=-1)[:, None]
            mx.eval(tokens)


def _token_times(length: int) -> list[float]:
    model = make_model()
    with generating(model):
        decoding = Decoding(model, [SOURCE])
        return [seconds(lambda: mx.eval(decoding.feed(mx.array([[5]])))) for _ in range(length)]
