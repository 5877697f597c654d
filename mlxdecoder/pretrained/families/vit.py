"""ViT, Dosovitskiy et al. 2020, https://arxiv.org/abs/2010.11929: an encoder with pre-norm that reads image patches."""

from __future__ import annotations

from typing import Any

from mlxdecoder.config import ModelConfig
from mlxdecoder.config_checks import LARGEST
from mlxdecoder.pretrained.families.bert import ACTIVATIONS, BODY
from mlxdecoder.pretrained.family import Family, labels, n_labels, told, word
from mlxdecoder.pretrained.settings import Settings
from mlxdecoder.pretrained.table import Row, convolution, linear, norm, reshaped, same

DEFAULTS = {
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "layer_norm_eps": 1e-12,
    "image_size": 224,
    "patch_size": 16,
    "num_channels": 3,
    "qkv_bias": True,
}
NAMES = {
    **BODY,
    "image_size": "image_size",
    "patch_size": "patch_size",
    "image_channels": "num_channels",
    "qkv_bias": "qkv_bias",
}


def configure(settings: Settings) -> ModelConfig:
    size, patch = settings.whole("image_size"), settings.whole("patch_size")
    places = (size // max(patch, 1)) ** 2 + 1
    if places > LARGEST:
        raise settings.refused("image_size", f"at most {LARGEST:,} patches are wanted")
    return ModelConfig(
        architecture="encoder",
        d_model=settings.whole("hidden_size"),
        n_heads=settings.whole("num_attention_heads"),
        d_ff=settings.whole("intermediate_size"),
        n_layers=settings.whole("num_hidden_layers"),
        norm_epsilon=settings.number("layer_norm_eps"),
        activation=settings.choice("hidden_act", ACTIVATIONS),
        qkv_bias=settings.flag("qkv_bias"),
        positions="learned",
        max_length=places,
        scaled_embeddings=False,
        image_size=size,
        patch_size=patch,
        image_channels=settings.whole("num_channels"),
        pooling="cls",
        n_classes=n_labels(settings) if "classifier.weight" in settings.stored else 0,
        dropout=settings.number("hidden_dropout_prob"),
        attention_dropout=settings.number("attention_probs_dropout_prob"),
    )


def describe(config: ModelConfig) -> dict[str, Any]:
    return {
        "model_type": "vit",
        "architectures": ["ViTForImageClassification" if config.n_classes else "ViTModel"],
        "hidden_act": word(ACTIVATIONS, config, "activation"),
        **labels(config),
        **told(config, NAMES),
    }


def rows(config: ModelConfig, settings: Settings) -> list[Row]:
    theirs, ours = "encoder.layer.*", "stack.blocks.*"
    patches, table = "embeddings.patch_embeddings.projection", (config.max_length, config.d_model)
    attention = f"{theirs}.attention.attention"
    return [
        convolution(f"{patches}.weight", "patches.weight", config.image_channels, config.patch_size or 1),
        same(f"{patches}.bias", "patches.bias"),
        same("embeddings.cls_token", "class_token"),
        reshaped("embeddings.position_embeddings", "stack.positions.table", (1, *table), table),
        *norm(f"{theirs}.layernorm_before", f"{ours}.attention_norm"),
        *linear(f"{attention}.query", f"{ours}.attention.query"),
        *linear(f"{attention}.key", f"{ours}.attention.key"),
        *linear(f"{attention}.value", f"{ours}.attention.value"),
        *linear(f"{theirs}.attention.output.dense", f"{ours}.attention.output"),
        *norm(f"{theirs}.layernorm_after", f"{ours}.mlp_norm"),
        *linear(f"{theirs}.intermediate.dense", f"{ours}.mlp.inward"),
        *linear(f"{theirs}.output.dense", f"{ours}.mlp.outward"),
        *norm("layernorm", "stack.norm"),
        *linear("classifier", "classifier"),
    ]


FAMILY = Family(
    defaults={"vit": DEFAULTS},
    classes=("ViTForImageClassification", "ViTModel"),
    configure=configure,
    describe=describe,
    rows=rows,
    names=NAMES,
    prefix="vit.",
    outside=("classifier.",),
    left_out=("pooler.*",),
)
