"""Toy language models: one for each position scheme, all else equal; a rotary one stretched after its training."""

from __future__ import annotations

from dataclasses import replace

from mlxdecoder.config import ModelConfig, PositionKind, RotaryScaling
from mlxdecoder.models import LanguageModel
from mlxdecoder.training.options import TrainingOptions

LENGTH = 32
FACTOR = 4  # by which scalings stretch the trained length
OPTIONS = TrainingOptions(
    steps=6000,
    tokens_per_batch=1024,
    learning_rate=2e-3,
    warmup=100,
    schedule="cosine",
    label_smoothing=0.0,
)


def toy_config(positions: PositionKind) -> ModelConfig:
    """Four layers, configured for the length at which the model is trained.

    Two are what it takes to look up what followed a token (Olsson et al. 2022, https://arxiv.org/abs/2209.11895).
    Without positions, order has first to be inferred from the causal mask (Haviv et al. 2022,
    https://arxiv.org/abs/2203.16634), which two layers, half as wide, did not learn; so all toys have four.
    """
    return ModelConfig(
        architecture="language_model",
        target_vocab=100,
        d_model=128,
        n_heads=8,
        d_ff=256,
        n_layers=4,
        positions=positions,
        max_length=LENGTH,
    )


def stretched(model: LanguageModel, scaling: RotaryScaling, factor: float = FACTOR) -> LanguageModel:
    """A trained rotary model with its positions scaled afterwards, which promises `factor` times its length."""
    config = replace(
        model.config,
        max_length=int(factor * model.config.max_length),
        rotary_trained_length=model.config.max_length,
        rotary_scaling=scaling,
        rotary_factor=float(factor),
    )
    other = LanguageModel(config, model.recipe)
    other.update(model.parameters())
    other.eval()
    return other
