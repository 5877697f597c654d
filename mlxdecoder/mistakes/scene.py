"""One text in circumstances in which a mistake can show, and what every kind of model does there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import mlx.core as mx
import numpy as np

from mlxdecoder.config import ModelConfig
from mlxdecoder.maps import AttentionMap
from mlxdecoder.sampling import keep_rules, penalise
from mlxdecoder.text.protocol import TextTokenizer
from mlxdecoder.trace import Trace
from mlxdecoder.watch import Watch


@dataclass(frozen=True)
class Written:
    """Tokens of row 0, log-probabilities [T, V] of what follows each token that was read, and whether the keys of the
    source were those of an earlier one."""

    tokens: list[int]
    logprobs: np.ndarray
    stale: bool = False


class Scene(ABC):
    """What a model is given, the text in question in row 0; the model's recipe at the time is what counts."""

    @abstractmethod
    def read(self, target: Sequence[int], watch: Watch | None = None) -> np.ndarray:
        """Log-probabilities [T, V] of what follows each token, read at once as in training."""

    @abstractmethod
    def write(self, target: Sequence[int] | None = None, watch: Watch | None = None) -> Written:
        """Token by token with caches, up to the end mark: the most probable tokens, or those of `target`."""

    @abstractmethod
    def maps(
        self, tokenizer: TextTokenizer, target: Sequence[int], trace: Trace, stale: bool
    ) -> dict[str, AttentionMap]:
        """The weights that were seen, with the mask of the right recipe and the tokens beside."""


def best(logits: mx.array, config: ModelConfig, read: mx.array, is_last: bool) -> mx.array:
    """The most probable tokens [B, 1] by the rules of the configuration, behind what was `read` [B, T]."""
    histories = read.tolist() if config.repetition_penalty != 1 else []
    logits = penalise(logits.astype(mx.float32), config.repetition_penalty, histories)
    ruled = keep_rules(logits, config, [is_last] * len(logits))
    return mx.argmax(ruled, axis=-1)[:, None]


def log_softmax(logits: mx.array) -> np.ndarray:
    """In float64, so that divergences of nothing are nothing."""
    exact = np.array(logits.astype(mx.float32)).astype(np.float64)
    exact -= exact.max(axis=-1, keepdims=True)
    return np.asarray(exact - np.log(np.exp(exact).sum(axis=-1, keepdims=True)))
