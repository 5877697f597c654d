"""BERT, Devlin et al. 2018, https://arxiv.org/abs/1810.04805: an encoder with post-norm that knows two kinds of text.

Served are its states, and the classes of a sequence; a head that fills masked words in is left out.
"""

from __future__ import annotations

from typing import Any

from mlxdecoder.config import ModelConfig
from mlxdecoder.pretrained.family import Family, labels, n_labels, told, word
from mlxdecoder.pretrained.generation import padding
from mlxdecoder.pretrained.settings import Settings
from mlxdecoder.pretrained.table import Row, linear, norm, same

ACTIVATIONS = {
    "gelu": "gelu",
    "relu": "relu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "silu",
}
DEFAULTS = {
    "vocab_size": 30_522,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
}
BODY = {  # of encoders of text and of images
    "d_model": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "d_ff": "intermediate_size",
    "norm_epsilon": "layer_norm_eps",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
}
NAMES = {
    **BODY,
    "target_vocab": "vocab_size",
    "n_segments": "type_vocab_size",
    "max_length": "max_position_embeddings",
    "pad_id": "pad_token_id",
}


def configure(settings: Settings) -> ModelConfig:
    settings.must("is_decoder", False)
    settings.must("add_cross_attention", False)
    settings.must("position_embedding_type", "absolute")
    vocabulary = settings.whole("vocab_size")
    return ModelConfig(
        architecture="encoder",
        target_vocab=vocabulary,
        d_model=settings.whole("hidden_size"),
        n_heads=settings.whole("num_attention_heads"),
        d_ff=settings.whole("intermediate_size"),
        n_layers=settings.whole("num_hidden_layers"),
        norm="post",
        norm_epsilon=settings.number("layer_norm_eps"),
        activation=settings.choice("hidden_act", ACTIVATIONS),
        embedding_norm=True,
        positions="learned",
        max_length=settings.whole("max_position_embeddings"),
        n_segments=settings.whole("type_vocab_size"),
        scaled_embeddings=False,
        dropout=settings.number("hidden_dropout_prob"),
        attention_dropout=settings.number("attention_probs_dropout_prob"),
        pad_id=padding(settings, vocabulary, 0),
        **_classes(settings),
    )


def _classes(settings: Settings) -> dict[str, Any]:
    if "classifier.weight" not in settings.stored:
        return {}
    return {"pooling": "cls", "pooler": True, "n_classes": n_labels(settings)}


def describe(config: ModelConfig) -> dict[str, Any]:
    return {
        "model_type": "bert",
        "architectures": ["BertForSequenceClassification" if config.n_classes else "BertModel"],
        "hidden_act": word(ACTIVATIONS, config, "activation"),
        **labels(config),
        **told(config, NAMES),
    }


def rows(config: ModelConfig, settings: Settings) -> list[Row]:
    theirs, ours = "encoder.layer.*", "stack.blocks.*"
    attention = f"{theirs}.attention.self"
    return [
        same("embeddings.word_embeddings.weight", "embedding.weight"),
        same("embeddings.token_type_embeddings.weight", "segments.weight"),
        same("embeddings.position_embeddings.weight", "stack.positions.table"),
        *norm("embeddings.LayerNorm", "stack.embedding_norm"),
        *linear(f"{attention}.query", f"{ours}.attention.query"),
        *linear(f"{attention}.key", f"{ours}.attention.key"),
        *linear(f"{attention}.value", f"{ours}.attention.value"),
        *linear(f"{theirs}.attention.output.dense", f"{ours}.attention.output"),
        *norm(f"{theirs}.attention.output.LayerNorm", f"{ours}.attention_norm"),
        *linear(f"{theirs}.intermediate.dense", f"{ours}.mlp.inward"),
        *linear(f"{theirs}.output.dense", f"{ours}.mlp.outward"),
        *norm(f"{theirs}.output.LayerNorm", f"{ours}.mlp_norm"),
        *linear("pooler.dense", "pooler"),
        *linear("classifier", "classifier"),
    ]


FAMILY = Family(
    defaults={"bert": DEFAULTS},
    classes=("BertModel", "BertForMaskedLM", "BertForPreTraining", "BertForSequenceClassification"),
    configure=configure,
    describe=describe,
    rows=rows,
    names=NAMES,
    prefix="bert.",
    outside=("cls.", "classifier."),
    unused=("embeddings.position_ids",),
    left_out=("cls.*", "pooler.*"),
)
