"""Functions that know what they do, to be asked as models are."""

from __future__ import annotations

import numpy as np

from mlxdecoder.config import ModelConfig

N_IDS = 80


def config(length: int = 16) -> ModelConfig:
    return ModelConfig(architecture="language_model", target_vocab=N_IDS, max_length=length)


def looks_up(tokens: np.ndarray, reach: int = 10_000) -> np.ndarray:
    """Logits of what followed the same token when it was last seen, no more than `reach` tokens back."""
    logits = np.zeros((*tokens.shape, N_IDS), np.float32)
    for row, t in np.ndindex(*tokens.shape):
        before = [s for s in range(max(t - reach, 0), t) if tokens[row, s] == tokens[row, t]]
        if before:
            logits[row, t, tokens[row, before[-1] + 1]] = 1
    return logits


def guesses(tokens: np.ndarray) -> np.ndarray:
    return np.random.default_rng(int(tokens.sum())).random((*tokens.shape, N_IDS), np.float32)
