"""Sentences a second beside transformers and CTranslate2, which translate with the very same weights."""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import median

import mlx.core as mx
import numpy as np

from mlxdecoder.bench.peer import Ids, peer, translating
from mlxdecoder.config import ModelConfig
from mlxdecoder.decoding import Decoding
from mlxdecoder.errors import UserError
from mlxdecoder.models import Translator
from mlxdecoder.prepared import prepare

END = 0
LENGTH = 20  # tokens of a source
TOKENS = 32  # of a translation
ALONE = {"MLXDECODER_BLAS": "off", "HF_HUB_OFFLINE": "1"}  # our BLAS would slow PyTorch down
NEEDED = ("torch", "transformers", "ctranslate2")


@dataclass(frozen=True)
class Size:
    """A MarianMT; `pad`, which begins translations too, is its last id. Each batch is timed `rounds` times."""

    d_model: int
    d_ff: int
    n_heads: int
    n_encoder_layers: int
    n_layers: int
    vocab: int
    rounds: int

    @property
    def pad(self) -> int:
        return self.vocab - 1


SIZES = {"small": Size(128, 512, 4, 3, 2, 2_500, rounds=9), "opus": Size(512, 2_048, 8, 6, 6, 32_000, rounds=3)}
BEAMS = (1, 4)
BATCHES = (1, 8, 32)


@dataclass(frozen=True)
class Figures:
    """Of one batch: sentences a second of each, ours against theirs, and the share of rows that all translate alike."""

    size: str
    beam: int
    batch: int
    ours: float
    transformers: float
    ctranslate2: float
    to_transformers: float
    to_ctranslate2: float
    same: float


def measure(sizes: tuple[str, ...] = tuple(SIZES)) -> Iterator[Figures]:
    """Each batch in turn by the three, a process each; nothing where one of the others is not installed."""
    if any(find_spec(name) is None for name in NEEDED):
        return
    for name in sizes:
        with tempfile.TemporaryDirectory() as folder:
            make(name, folder)
            yield from compare(name, folder)


def make(name: str, folder: str) -> None:
    command = [sys.executable, "-m", "mlxdecoder.bench.marian", "make", name, folder]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        raise UserError(f"bench: MarianMT could not be made: {made.stderr.strip().splitlines()[-1]}")


def compare(name: str, folder: str) -> Iterator[Figures]:
    random = np.random.default_rng(0)
    with ExitStack() as stack:
        others = [
            stack.enter_context(peer("mlxdecoder.bench.marian", other, folder, **ALONE))
            for other in ("transformers", "ctranslate2")
        ]
        all_three = [stack.enter_context(peer("mlxdecoder.bench.marian_ours", folder)), *others]
        for beam in BEAMS:
            for batch in BATCHES:
                sources: Ids = random.integers(1, SIZES[name].pad, (batch, LENGTH)).tolist()
                targets = [translating(ask, sources, beam)[1] for ask in all_three]  # what happens once is not timed
                rounds = [[translating(ask, sources, beam)[0] for ask in all_three] for _ in range(SIZES[name].rounds)]
                yield figures(name, beam, rounds, targets)


def figures(name: str, beam: int, rounds: list[list[float]], targets: list[Ids]) -> Figures:
    """From the seconds of the three in each round, and what each of them translated."""
    batch = len(targets[0])
    ours, transformers, ctranslate2 = (batch / median(times) for times in zip(*rounds, strict=True))
    to_transformers, to_ctranslate2 = (median(times[i] / times[0] for times in rounds) for i in (1, 2))
    same = [ours == first == second for ours, first, second in zip(*targets, strict=True)]
    speeds = (ours, transformers, ctranslate2)
    return Figures(name, beam, batch, *speeds, to_transformers, to_ctranslate2, float(np.mean(same)))


def operations(name: str) -> tuple[int, int]:
    """How many operations MLX evaluates for a token, by a model of that size as it is and as it is prepared."""
    size = SIZES[name]
    config = ModelConfig(
        d_model=size.d_model,
        d_ff=size.d_ff,
        n_heads=size.n_heads,
        n_layers=size.n_layers,
        target_vocab=size.vocab,
        n_encoder_layers=size.n_encoder_layers,
        norm="post",
    )
    model = Translator(config)
    model.eval()
    return count_operations(model), count_operations(prepare(model))


def count_operations(model: Translator) -> int:
    """From a token to the logits of the next, behind one that has been evaluated."""
    decoding = Decoding(model, [list(range(4, 4 + LENGTH))])
    mx.eval(decoding.feed(decoding.first))
    graph = io.StringIO()
    mx.export_to_dot(graph, decoding.feed(decoding.first))
    return graph.getvalue().count("shape=rectangle")
