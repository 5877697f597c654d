"""Small models of every family as transformers is to make them: names of its classes, and what differs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

VOCABULARY = 24
PAD, BEGIN, END = 0, 1, 2
ENDING, PENALTY = 7, 1.2  # an end mark that is said early, and how much what was said before is disliked


@dataclass(frozen=True)
class Variant:
    """`options` go to the class of the configuration; `kept` variants have their numbers kept as fixtures."""

    name: str
    model: str
    options: dict[str, Any] = field(default_factory=dict)
    kept: bool = False

    @property
    def config(self) -> str:
        """The class of its configuration."""
        for ending in ("LMHeadModel", "ForCausalLM", "MTModel", "ForConditionalGeneration"):
            if self.model.endswith(ending):
                return self.model.removesuffix(ending) + "Config"
        return self.model.partition("For")[0].removesuffix("Model") + "Config"


MARKS = {"vocab_size": VOCABULARY, "pad_token_id": PAD, "bos_token_id": BEGIN, "eos_token_id": END}
GPT2 = {**MARKS, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 96}
LLAMA = {
    **MARKS,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 256,
}


def rope(kind: str, **more: Any) -> dict[str, Any]:
    """Waves that turn within the few tokens of a test."""
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 50.0, **more}, "head_dim": 16}


WINDOW = {"use_sliding_window": True, "sliding_window": 5}
TRAINED = {"original_max_position_embeddings": 64}

LANGUAGE_MODELS = (
    Variant("gpt2", "GPT2LMHeadModel", GPT2, kept=True),
    Variant("gpt2-untied", "GPT2LMHeadModel", {**GPT2, "tie_word_embeddings": False, "n_inner": 20}),
    Variant("gpt2-gelu", "GPT2LMHeadModel", {**GPT2, "activation_function": "gelu"}),
    Variant("llama", "LlamaForCausalLM", LLAMA),
    Variant("llama-tied", "LlamaForCausalLM", {**LLAMA, "tie_word_embeddings": True, "num_key_value_heads": 4}),
    Variant("llama-one-key", "LlamaForCausalLM", {**LLAMA, "num_key_value_heads": 1}),
    Variant("llama-biases", "LlamaForCausalLM", {**LLAMA, "attention_bias": True, "mlp_bias": True}),
    Variant("llama-attention-biases", "LlamaForCausalLM", {**LLAMA, "attention_bias": True}),
    Variant("llama-mlp-biases", "LlamaForCausalLM", {**LLAMA, "mlp_bias": True, "hidden_act": "gelu"}),
    Variant("llama-linear", "LlamaForCausalLM", {**LLAMA, **rope("linear", factor=4.0)}),
    Variant(
        "llama-dynamic",
        "LlamaForCausalLM",
        {**LLAMA, **rope("dynamic", factor=4.0), "max_position_embeddings": 16},
        kept=True,
    ),
    Variant(
        "llama-3",
        "LlamaForCausalLM",
        {**LLAMA, **rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, **TRAINED)},
        kept=True,
    ),
    Variant("llama-yarn", "LlamaForCausalLM", {**LLAMA, **rope("yarn", factor=4.0, **TRAINED)}),
    Variant(
        "llama-yarn-strength",
        "LlamaForCausalLM",
        {
            **LLAMA,
            **rope("yarn", factor=4.0, beta_fast=10.0, beta_slow=2.0, attention_factor=1.3, **TRAINED),
        },
    ),
    Variant("mistral", "MistralForCausalLM", {**LLAMA, "sliding_window": 5}, kept=True),
    Variant("mistral-no-window", "MistralForCausalLM", {**LLAMA, "sliding_window": None, "head_dim": 8}),
    Variant("qwen2", "Qwen2ForCausalLM", {**LLAMA, **rope("yarn", factor=4.0, **TRAINED), "head_dim": 4}, kept=True),
    Variant(
        "qwen2-window",
        "Qwen2ForCausalLM",
        {**LLAMA, "use_sliding_window": True, "sliding_window": 6, "max_window_layers": 0},
    ),
    Variant("qwen3", "Qwen3ForCausalLM", {**LLAMA, "head_dim": 8, "tie_word_embeddings": True}, kept=True),
    Variant("qwen3-window", "Qwen3ForCausalLM", {**LLAMA, **WINDOW, "layer_types": ["sliding_attention"] * 2}),
    Variant(
        "smollm3",
        "SmolLM3ForCausalLM",
        {**LLAMA, "no_rope_layers": [1, 0], "rope_parameters": {"rope_type": "default", "rope_theta": 50.0}},
        kept=True,
    ),
    Variant("smollm3-interval", "SmolLM3ForCausalLM", {**LLAMA, "num_hidden_layers": 5, "attention_bias": True}),
    Variant("qwen3-biases", "Qwen3ForCausalLM", {**LLAMA, "head_dim": 8, "attention_bias": True}),
)

MIXTRAL = {**LLAMA, "num_local_experts": 4}
EXPERTS = (
    Variant("mixtral", "MixtralForCausalLM", MIXTRAL, kept=True),
    Variant(
        "mixtral-window",
        "MixtralForCausalLM",
        {**MIXTRAL, "num_experts_per_tok": 3, "sliding_window": 5, "head_dim": 8},
    ),
    Variant("mixtral-one", "MixtralForCausalLM", {**MIXTRAL, "num_experts_per_tok": 1, "tie_word_embeddings": True}),
)

MARIAN = {
    "vocab_size": VOCABULARY,
    "pad_token_id": VOCABULARY - 1,
    "decoder_start_token_id": VOCABULARY - 1,
    "eos_token_id": END,
    "forced_eos_token_id": END,
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 96,
    "activation_function": "swish",
    "scale_embedding": True,
}
T5 = {
    "vocab_size": VOCABULARY,
    "pad_token_id": PAD,
    "decoder_start_token_id": PAD,
    "eos_token_id": END,
    "d_model": 16,
    "d_kv": 6,
    "d_ff": 24,
    "num_layers": 2,
    "num_heads": 4,
}
TRANSLATORS = (
    Variant("marian", "MarianMTModel", MARIAN, kept=True),
    Variant("marian-plain", "MarianMTModel", {**MARIAN, "scale_embedding": False, "decoder_layers": 1}),
    Variant("marian-untied", "MarianMTModel", {**MARIAN, "tie_word_embeddings": False}),
    Variant(
        "marian-two-vocabularies",
        "MarianMTModel",
        {**MARIAN, "vocab_size": 30, "decoder_vocab_size": VOCABULARY, "share_encoder_decoder_embeddings": False},
    ),
    Variant("t5", "T5ForConditionalGeneration", {**T5, "d_kv": 4}, kept=True),
    Variant("t5-odd-width", "T5ForConditionalGeneration", {**T5, "num_decoder_layers": 1}),
    Variant(
        "t5-gated",
        "T5ForConditionalGeneration",
        {**T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    ),
    Variant(
        "t5-untied",
        "T5ForConditionalGeneration",
        {**T5, "feed_forward_proj": "gated-silu", "tie_word_embeddings": False, "untied": True},
        kept=True,
    ),
)

BERT = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 32,
}
VIT = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "image_size": 12,
    "patch_size": 4,
}
ENCODERS = (
    Variant("bert", "BertForSequenceClassification", {**BERT, "num_labels": 3}, kept=True),
    Variant("bert-states", "BertModel", BERT),
    Variant("bert-words", "BertForMaskedLM", {**BERT, "hidden_act": "relu", "type_vocab_size": 3}),
    Variant("vit", "ViTForImageClassification", {**VIT, "num_labels": 5}, kept=True),
    Variant("vit-states", "ViTModel", {**VIT, "qkv_bias": False, "num_channels": 1}),
)

VARIANTS = (*LANGUAGE_MODELS, *EXPERTS, *TRANSLATORS, *ENCODERS)
KEPT = tuple(variant for variant in VARIANTS if variant.kept)
