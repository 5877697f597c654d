"""Marian, Junczys-Dowmunt et al. 2018, as the opus-mt translators have it: encoder and decoder with post-norm.

Sines stand before cosines in a position, embeddings are scaled, logits have a bias; decoding begins with the padding
token, which is never said, and the last token that there is room for is the end mark.
"""

from __future__ import annotations

from typing import Any

import mlx.core as mx

from mlxdecoder.config import ModelConfig
from mlxdecoder.positions import sinusoids
from mlxdecoder.pretrained.family import Family, told, word
from mlxdecoder.pretrained.generation import START, marks, told_marks
from mlxdecoder.pretrained.settings import Settings
from mlxdecoder.pretrained.table import Row, linear, norm, reshaped, same, turned

ACTIVATIONS = {
    **dict.fromkeys(("swish", "silu"), "silu"),
    **dict.fromkeys(("gelu_new", "gelu_pytorch_tanh"), "gelu_tanh"),
    "gelu": "gelu",
    "relu": "relu",
}
DEFAULTS = {
    "vocab_size": 58_101,
    "decoder_vocab_size": None,
    "max_position_embeddings": 1024,
    "encoder_layers": 12,
    "decoder_layers": 12,
    "encoder_ffn_dim": 4096,
    "decoder_ffn_dim": 4096,
    "encoder_attention_heads": 16,
    "decoder_attention_heads": 16,
    "activation_function": "gelu",
    "d_model": 1024,
    "dropout": 0.1,
    "attention_dropout": 0.0,
    "scale_embedding": False,
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
}
FINAL_BIAS = "final_logits_bias"
NAMES = {
    "source_vocab": "vocab_size",
    "target_vocab": "decoder_vocab_size",
    "max_length": "max_position_embeddings",
    "n_encoder_layers": "encoder_layers",
    "n_layers": "decoder_layers",
    "d_ff": "encoder_ffn_dim",
    "n_heads": "encoder_attention_heads",
    "d_model": "d_model",
    "dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "scaled_embeddings": "scale_embedding",
    "tied": "tie_word_embeddings",
}


def configure(settings: Settings) -> ModelConfig:
    for key in ("normalize_before", "normalize_embedding", "add_final_layer_norm", "is_decoder"):
        settings.must(key, False)
    settings.must("static_position_embeddings", True)
    settings.must("decoder_ffn_dim", settings.whole("encoder_ffn_dim"))
    settings.must("decoder_attention_heads", settings.whole("encoder_attention_heads"))
    shared, vocab = settings.flag("share_encoder_decoder_embeddings"), settings.whole("vocab_size", least=1)
    target = vocab if shared else settings.maybe_whole("decoder_vocab_size") or vocab
    return ModelConfig(
        architecture="translator",
        source_vocab=vocab,
        target_vocab=target,
        d_model=settings.whole("d_model"),
        n_heads=settings.whole("encoder_attention_heads"),
        d_ff=settings.whole("encoder_ffn_dim"),
        n_layers=settings.whole("decoder_layers"),
        n_encoder_layers=settings.whole("encoder_layers"),
        norm="post",
        activation=settings.choice("activation_function", ACTIVATIONS),
        sinusoid_order="halves",
        max_length=settings.whole("max_position_embeddings"),
        tied=shared and settings.flag("tie_word_embeddings"),
        scaled_embeddings=settings.flag("scale_embedding"),
        head_bias=FINAL_BIAS in settings.stored,
        dropout=settings.number("dropout"),
        attention_dropout=settings.number("attention_dropout"),
        **marks(settings, target, START),
    )


def describe(config: ModelConfig) -> dict[str, Any]:
    return {
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        "is_encoder_decoder": True,
        "decoder_ffn_dim": config.d_ff,
        "decoder_attention_heads": config.n_heads,
        "activation_function": word(ACTIVATIONS, config, "activation"),
        "share_encoder_decoder_embeddings": config.tied,
        **told(config, NAMES),
        "forced_eos_token_id": config.end_id if config.forced_end else None,
        **told_marks(config, START),
    }


def rows(config: ModelConfig, settings: Settings) -> list[Row]:
    tied = settings.flag("tie_word_embeddings")
    apart = not settings.flag("share_encoder_decoder_embeddings")
    apart = apart or (not tied and "decoder.embed_tokens.weight" in settings.stored)
    source, target = ("encoder.embed_tokens", "decoder.embed_tokens") if apart else ("shared", "shared")
    return [
        same(f"{target}.weight", "embedding.weight"),
        same(f"{source}.weight", "source_embedding.weight"),
        turned(f"{target}.weight" if tied else "lm_head.weight", "head.weight"),
        reshaped(FINAL_BIAS, "head_bias", (1, config.target_vocab), (config.target_vocab,)),
        *_layer_rows("encoder"),
        *_layer_rows("decoder"),
        *_attention_rows("decoder.layers.*.encoder_attn", "decoder.blocks.*.cross_attention"),
        *norm("decoder.layers.*.encoder_attn_layer_norm", "decoder.blocks.*.cross_norm"),
    ]


def _layer_rows(side: str) -> list[Row]:
    theirs, ours = f"{side}.layers.*", f"{side}.blocks.*"
    return [
        *_attention_rows(f"{theirs}.self_attn", f"{ours}.attention"),
        *norm(f"{theirs}.self_attn_layer_norm", f"{ours}.attention_norm"),
        *linear(f"{theirs}.fc1", f"{ours}.mlp.inward"),
        *linear(f"{theirs}.fc2", f"{ours}.mlp.outward"),
        *norm(f"{theirs}.final_layer_norm", f"{ours}.mlp_norm"),
    ]


def _attention_rows(theirs: str, ours: str) -> list[Row]:
    return [
        *linear(f"{theirs}.q_proj", f"{ours}.query"),
        *linear(f"{theirs}.k_proj", f"{ours}.key"),
        *linear(f"{theirs}.v_proj", f"{ours}.value"),
        *linear(f"{theirs}.out_proj", f"{ours}.output"),
    ]


def _are_waves(config: ModelConfig, stored: mx.array) -> bool:
    """Whether positions that a folder holds are sinusoids, but for rounding; transformers takes them as they are."""
    if stored.shape != (config.max_length, config.d_model):
        return False
    rounding = {mx.float16: 2**-11, mx.bfloat16: 2**-8}.get(stored.dtype, 1e-6)
    made = sinusoids(config.max_length, config.d_model, config.sinusoid_order)
    return bool((mx.abs(stored.astype(mx.float32) - made).max() <= rounding).item())


FAMILY = Family(
    defaults={"marian": DEFAULTS},
    classes=("MarianMTModel",),
    configure=configure,
    describe=describe,
    rows=rows,
    names=NAMES,
    prefix="model.",
    outside=("lm_head.", FINAL_BIAS),
    unused=("shared.weight",),
    fixed={f"{side}.embed_positions.weight": _are_waves for side in ("encoder", "decoder")},
    aliases={
        "num_attention_heads": "encoder_attention_heads",
        "hidden_size": "d_model",
        "num_hidden_layers": "encoder_layers",
    },
    copies={
        "encoder.embed_tokens.weight": "shared.weight",
        "decoder.embed_tokens.weight": "shared.weight",
        "lm_head.weight": "shared.weight",
    },
)
