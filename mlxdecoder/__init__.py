"""The transformer decoder block in MLX: one block, its masks, caches, generation and training, and what goes wrong.

>>> import mlxdecoder
>>> toy = mlxdecoder.load()
>>> mlxdecoder.translate(toy, ["The black cat sleeps."])
['Le chat noir dort.']
"""

from mlxdecoder import blas

blas.prepare()  # before anything imports mlx

from mlxdecoder.attention import attention
from mlxdecoder.beam import beam_search
from mlxdecoder.blocks import Block
from mlxdecoder.cache import KVCache, RotatingKVCache
from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
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
    "Recipe",
    "RotatingKVCache",
    "Tokenizer",
    "Trace",
    "Translator",
    "UserError",
    "Window",
    "attend",
    "attention",
    "autoregressive_decode",
    "beam_search",
    "build_causal_mask",
    "can_trim_prompt_cache",
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
