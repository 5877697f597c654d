"""The transformer decoder block in MLX: one block, its masks, caches, generation and training, and what goes wrong.

>>> import mlxdecoder
>>> toy = mlxdecoder.load()
>>> mlxdecoder.translate(toy, ["The black cat sleeps."])
['Le chat noir dort.']

Names are imported when they are first used: the window of the app must start without MLX.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mlxdecoder import blas

blas.prepare()  # before anything imports mlx

if TYPE_CHECKING:
    from mlxdecoder.alignment import align
    from mlxdecoder.attention import attention
    from mlxdecoder.beam import beam_search
    from mlxdecoder.blocks import Block
    from mlxdecoder.cache import KVCache, QuantizedKVCache, RotatingKVCache
    from mlxdecoder.config import ModelConfig
    from mlxdecoder.errors import UserError
    from mlxdecoder.evaluate import evaluate
    from mlxdecoder.generate import Generation, generate, stream_generate
    from mlxdecoder.html import AttentionView
    from mlxdecoder.lesson import DecoderBlock, autoregressive_decode
    from mlxdecoder.maps import AttentionMap
    from mlxdecoder.masks import Causal, Documents, Full, Mask, Padding, Window, build_causal_mask
    from mlxdecoder.models import Encoder, LanguageModel, Translator, make_model
    from mlxdecoder.prompt_cache import (
        can_trim_prompt_cache,
        load_prompt_cache,
        make_prompt_cache,
        save_prompt_cache,
        trim_prompt_cache,
    )
    from mlxdecoder.recipe import RIGHT, Layout, Recipe
    from mlxdecoder.sampling import make_sampler
    from mlxdecoder.show import show
    from mlxdecoder.text.tokenizer import Tokenizer
    from mlxdecoder.trace import Trace, attend
    from mlxdecoder.training.checkpoint import Checkpoint
    from mlxdecoder.translate import load, translate

__version__ = "0.1.0"

_HOMES = {
    "alignment": "align",
    "attention": "attention",
    "beam": "beam_search",
    "blocks": "Block",
    "cache": "KVCache QuantizedKVCache RotatingKVCache",
    "config": "ModelConfig",
    "errors": "UserError",
    "evaluate": "evaluate",
    "generate": "Generation generate stream_generate",
    "html": "AttentionView",
    "lesson": "DecoderBlock autoregressive_decode",
    "maps": "AttentionMap",
    "masks": "Causal Documents Full Mask Padding Window build_causal_mask",
    "models": "Encoder LanguageModel Translator make_model",
    "prompt_cache": "can_trim_prompt_cache load_prompt_cache make_prompt_cache save_prompt_cache trim_prompt_cache",
    "recipe": "RIGHT Layout Recipe",
    "sampling": "make_sampler",
    "show": "show",
    "text.tokenizer": "Tokenizer",
    "trace": "Trace attend",
    "training.checkpoint": "Checkpoint",
    "translate": "load translate",
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "RIGHT",
    "AttentionMap",
    "AttentionView",
    "Block",
    "Causal",
    "Checkpoint",
    "DecoderBlock",
    "Documents",
    "Encoder",
    "Full",
    "Generation",
    "KVCache",
    "LanguageModel",
    "Layout",
    "Mask",
    "ModelConfig",
    "Padding",
    "QuantizedKVCache",
    "Recipe",
    "RotatingKVCache",
    "Tokenizer",
    "Trace",
    "Translator",
    "UserError",
    "Window",
    "align",
    "attend",
    "attention",
    "autoregressive_decode",
    "beam_search",
    "build_causal_mask",
    "can_trim_prompt_cache",
    "evaluate",
    "generate",
    "load",
    "load_prompt_cache",
    "make_model",
    "make_prompt_cache",
    "make_sampler",
    "save_prompt_cache",
    "show",
    "stream_generate",
    "translate",
    "trim_prompt_cache",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Some functions have the name of their module: here the function wins, although Python sets the module."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in _MODULES):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
