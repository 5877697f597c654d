"""T5, Raffel et al. 2019, https://arxiv.org/abs/1910.10683, and its version 1.1: pre-norm with RMSNorm, relative bias.

Its scores are not scaled, which is made up for in the weights of the queries; with a tied head the states are scaled
instead of the logits, which goes into the weight of the last norm. Where these factors are no power of two (heads of
width 128, states of width 512), these weights stay in float32 beside bfloat16: rounded, they would be others when they
are exported. They take twice the bytes, and a token no longer; what they make of halves are halves. So a last norm that
is of halves itself has no such factor in it, and is exported as it is, without the scale.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mlx.core as mx

from mlxdecoder.config import ModelConfig
from mlxdecoder.pretrained.family import Family, told, word
from mlxdecoder.pretrained.generation import START, marks, told_marks
from mlxdecoder.pretrained.settings import Settings
from mlxdecoder.pretrained.table import Row, same, times, turned

ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "silu": "silu",
    "gated-relu": "reglu",
    "gated-gelu": "geglu_tanh",  # by an old mistake, and all trained models have it so
    "gated-gelu_new": "geglu_tanh",
    "gated-silu": "swiglu",
}
DEFAULTS = {
    "vocab_size": 32_128,
    "d_model": 512,
    "d_kv": 64,
    "d_ff": 2048,
    "num_layers": 6,
    "num_decoder_layers": None,
    "num_heads": 8,
    "dropout_rate": 0.1,
    "layer_norm_epsilon": 1e-6,
    "feed_forward_proj": "relu",
    "tie_word_embeddings": True,
}
NAMES = {
    "target_vocab": "vocab_size",
    "d_model": "d_model",
    "n_heads": "num_heads",
    "head_width": "d_kv",
    "d_ff": "d_ff",
    "n_encoder_layers": "num_layers",
    "n_layers": "num_decoder_layers",
    "norm_epsilon": "layer_norm_epsilon",
    "dropout": "dropout_rate",
    "tied": "tie_word_embeddings",
}
HEAD = "lm_head.weight"
LAST = same("decoder.final_layer_norm.weight", "decoder.norm.weight")


def configure(settings: Settings) -> ModelConfig:
    settings.must("is_encoder_decoder", True)
    settings.must("is_decoder", False)
    settings.must("relative_attention_num_buckets", 32)
    settings.must("relative_attention_max_distance", 128)
    layers, vocabulary = settings.whole("num_layers", least=1), settings.whole("vocab_size", least=1)
    return ModelConfig(
        architecture="translator",
        target_vocab=vocabulary,
        d_model=settings.whole("d_model"),
        n_heads=settings.whole("num_heads"),
        head_width=settings.whole("d_kv"),
        d_ff=settings.whole("d_ff"),
        n_layers=settings.whole("num_decoder_layers", layers),
        n_encoder_layers=layers,
        norm_kind="rms",
        norm_epsilon=settings.number("layer_norm_epsilon"),
        activation=settings.choice("feed_forward_proj", ACTIVATIONS),
        bias=False,
        positions="relative",
        tied=HEAD not in settings.stored,
        scaled_embeddings=False,
        dropout=settings.number("dropout_rate"),
        attention_dropout=settings.number("dropout_rate"),
        **marks(settings, vocabulary, START),
    )


def describe(config: ModelConfig) -> dict[str, Any]:
    return {
        "model_type": "t5",
        "architectures": ["T5ForConditionalGeneration"],
        "is_encoder_decoder": True,
        "feed_forward_proj": word(ACTIVATIONS, config, "activation"),
        **told(config, NAMES),
        **told_marks(config, START),
    }


def describe_arrays(config: ModelConfig, arrays: Mapping[str, mx.array]) -> dict[str, Any]:
    norm = arrays.get(LAST.ours[0])
    as_it_is = norm is not None and norm.dtype != mx.float32 and _scaled(config).rounds
    return {"scale_decoder_outputs": config.tied and not as_it_is}


def rows(config: ModelConfig, settings: Settings) -> list[Row]:
    scaled = settings.values.get("scale_decoder_outputs", settings.flag("tie_word_embeddings"))
    return [
        same("shared.weight", "embedding.weight"),
        same("shared.weight", "source_embedding.weight"),
        turned(HEAD, "head.weight"),
        same("encoder.final_layer_norm.weight", "encoder.norm.weight"),
        _scaled(config) if scaled else LAST,
        *_stack_rows("encoder", 1, config),
        *_stack_rows("decoder", 2, config),
        *_attention_rows("decoder.block.*.layer.1", "EncDecAttention", "decoder.blocks.*", "cross", config),
    ]


def _scaled(config: ModelConfig) -> Row:
    """The last norm with the scale of a tied head in it."""
    return times(LAST, config.d_model**-0.5)


def _stack_rows(side: str, mlp: int, config: ModelConfig) -> list[Row]:
    theirs, ours = f"{side}.block.*.layer", f"{side}.blocks.*"
    dense = f"{theirs}.{mlp}.DenseReluDense"
    bias = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    return [
        same(bias, f"{side}.positions.table"),
        *_attention_rows(f"{theirs}.0", "SelfAttention", ours, "attention", config),
        *([turned(f"{dense}.wi_0.weight", f"{ours}.mlp.gate.weight")] if config.is_gated else []),
        turned(f"{dense}.{'wi_1' if config.is_gated else 'wi'}.weight", f"{ours}.mlp.inward.weight"),
        turned(f"{dense}.wo.weight", f"{ours}.mlp.outward.weight"),
        same(f"{theirs}.{mlp}.layer_norm.weight", f"{ours}.mlp_norm.weight"),
    ]


def _attention_rows(theirs: str, name: str, block: str, kind: str, config: ModelConfig) -> list[Row]:
    """One attention of a block and the norm before it; `kind` is "attention" or "cross", as ours are named."""
    ours = f"{block}.cross_attention" if kind == "cross" else f"{block}.attention"
    letters = {"k": "key", "v": "value", "o": "output"}
    return [
        same(f"{theirs}.layer_norm.weight", f"{block}.{kind}_norm.weight"),
        times(turned(f"{theirs}.{name}.q.weight", f"{ours}.query.weight"), config.width_per_head**0.5),
        *(turned(f"{theirs}.{name}.{key}.weight", f"{ours}.{own}.weight") for key, own in letters.items()),
    ]


FAMILY = Family(
    defaults={"t5": DEFAULTS},
    classes=("T5ForConditionalGeneration",),
    configure=configure,
    describe=describe,
    describe_arrays=describe_arrays,
    rows=rows,
    names=NAMES,
    unused=("decoder.block.*.layer.1.EncDecAttention.relative_attention_bias.weight",),
    overflows_in_halves=True,
    aliases={
        "hidden_size": "d_model",
        "num_attention_heads": "num_heads",
        "num_hidden_layers": "num_layers",
        "head_dim": "d_kv",
    },
    copies={"encoder.embed_tokens.weight": "shared.weight", "decoder.embed_tokens.weight": "shared.weight"},
)
