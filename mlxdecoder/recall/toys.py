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
    learning_rate=8e-3,
    warmup=100,
    schedule="inverse_sqrt",
    label_smoothing=0.0,
)


def toy_config(positions: PositionKind) -> ModelConfig:
    """Two layers, which is what it takes to look up what followed a token (Olsson et al. 2022,
    https://arxiv.org/abs/2209.11895), configured for the length at which the model is trained."""
    return ModelConfig(
        architecture="language_model",
        target_vocab=100,
        d_model=64,
        n_heads=4,
        d_ff=128,
        n_layers=2,
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
