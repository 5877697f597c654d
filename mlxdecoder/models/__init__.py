"""The three architectures, all of the same block: `Encoder`, `LanguageModel`, `Translator`."""

from __future__ import annotations

from typing import Any

import mlx.core as mx

from mlxdecoder.config import ModelConfig
from mlxdecoder.models.base import make_embedding, make_self_cache
from mlxdecoder.models.encoder import Encoder, cut_patches
from mlxdecoder.models.language_model import LanguageModel
from mlxdecoder.models.stack import Stack
from mlxdecoder.models.translator import Memory, Translator
from mlxdecoder.recipe import RIGHT, Recipe

__all__ = [
    "Encoder",
    "LanguageModel",
    "Memory",
    "Stack",
    "Translator",
    "cut_patches",
    "make_embedding",
    "make_model",
    "make_self_cache",
    "plan_model",
]


def make_model(config: ModelConfig, recipe: Recipe = RIGHT) -> Encoder | LanguageModel | Translator:
    """The model that a configuration describes, with fresh weights from `mx.random`."""
    model = plan_model(config, recipe)
    mx.eval(model.parameters())  # another thread may use it, and could not compute what was begun here
    return model


def plan_model(config: ModelConfig, recipe: Recipe = RIGHT) -> Encoder | LanguageModel | Translator:
    """The same without its weights, which take no memory before they are used: for those who bring others."""
    kinds: dict[str, Any] = {"encoder": Encoder, "language_model": LanguageModel, "translator": Translator}
    model: Encoder | LanguageModel | Translator = kinds[config.architecture](config, recipe)
    return model
