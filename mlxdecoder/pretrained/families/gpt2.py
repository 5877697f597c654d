"""GPT-2, Radford et al. 2019: pre-norm, learned positions, GELU by its tanh form, the head tied to the embedding."""

from __future__ import annotations

from typing import Any

from mlxdecoder.config import ModelConfig
from mlxdecoder.pretrained.family import Family, told, word
from mlxdecoder.pretrained.generation import marks, told_marks
from mlxdecoder.pretrained.settings import Settings
from mlxdecoder.pretrained.table import Row, norm, same, side_by_side, turned

ACTIVATIONS = {"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu": "gelu", "relu": "relu"}
DEFAULTS = {
    "vocab_size": 50_257,
    "n_embd": 768,
    "n_head": 12,
    "n_inner": None,
    "n_layer": 12,
    "n_positions": 1024,
    "layer_norm_epsilon": 1e-5,
    "activation_function": "gelu_new",
    "tie_word_embeddings": True,
    "resid_pdrop": 0.1,
    "attn_pdrop": 0.1,
    "bos_token_id": 50_256,
}
NAMES = {
    "target_vocab": "vocab_size",
    "d_model": "n_embd",
    "n_heads": "n_head",
    "d_ff": "n_inner",
    "n_layers": "n_layer",
    "max_length": "n_positions",
    "norm_epsilon": "layer_norm_epsilon",
    "tied": "tie_word_embeddings",
    "dropout": "resid_pdrop",
    "attention_dropout": "attn_pdrop",
}


def configure(settings: Settings) -> ModelConfig:
    settings.must("scale_attn_weights", True)
    settings.must("scale_attn_by_inverse_layer_idx", False)
    settings.must("add_cross_attention", False)
    vocabulary = settings.whole("vocab_size", least=1)
    return ModelConfig(
        architecture="language_model",
        target_vocab=vocabulary,
        d_model=settings.whole("n_embd"),
        n_heads=settings.whole("n_head"),
        d_ff=settings.whole("n_inner", 4 * settings.whole("n_embd")),
        n_layers=settings.whole("n_layer"),
        norm_epsilon=settings.number("layer_norm_epsilon"),
        activation=settings.choice("activation_function", ACTIVATIONS),
        positions="learned",
        max_length=settings.whole("n_positions"),
        tied=settings.flag("tie_word_embeddings"),
        scaled_embeddings=False,
        dropout=settings.number("resid_pdrop"),
        attention_dropout=settings.number("attn_pdrop"),
        **marks(settings, vocabulary),
    )


def describe(config: ModelConfig) -> dict[str, Any]:
    return {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "activation_function": word(ACTIVATIONS, config, "activation"),
        **told(config, NAMES),
        **told_marks(config),
    }


def rows(config: ModelConfig, settings: Settings) -> list[Row]:
    theirs, ours = "h.*", "stack.blocks.*"
    projections = tuple(f"{ours}.attention.{name}" for name in ("query", "key", "value"))
    return [
        same("wte.weight", "embedding.weight"),
        same("wpe.weight", "stack.positions.table"),
        *norm(f"{theirs}.ln_1", f"{ours}.attention_norm"),
        *(
            side_by_side(f"{theirs}.attn.c_attn.{name}", tuple(f"{each}.{name}" for each in projections))
            for name in ("weight", "bias")
        ),
        *_conv(f"{theirs}.attn.c_proj", f"{ours}.attention.output"),
        *norm(f"{theirs}.ln_2", f"{ours}.mlp_norm"),
        *_conv(f"{theirs}.mlp.c_fc", f"{ours}.mlp.inward"),
        *_conv(f"{theirs}.mlp.c_proj", f"{ours}.mlp.outward"),
        *norm("ln_f", "stack.norm"),
        turned("lm_head.weight", "head.weight"),
    ]


def _conv(theirs: str, ours: str) -> list[Row]:
    """What GPT-2 calls a convolution has its weight as [in, out], like ours."""
    return [same(f"{theirs}.{name}", f"{ours}.{name}") for name in ("weight", "bias")]


FAMILY = Family(
    defaults={"gpt2": DEFAULTS},
    classes=("GPT2LMHeadModel", "GPT2Model"),
    configure=configure,
    describe=describe,
    rows=rows,
    names=NAMES,
    prefix="transformer.",
    outside=("lm_head.",),
    aliases={
        "hidden_size": "n_embd",
        "max_position_embeddings": "n_positions",
        "num_attention_heads": "n_head",
        "num_hidden_layers": "n_layer",
    },
    copies={"lm_head.weight": "wte.weight"},
    unused=("h.*.attn.bias", "h.*.attn.masked_bias"),
)
