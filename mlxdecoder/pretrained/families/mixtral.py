"""Mixtral, Jiang et al. 2024, https://arxiv.org/abs/2401.04088: Mistral with several MLPs and a router that chooses."""

from __future__ import annotations

from typing import Any

from mlxdecoder.config import ModelConfig
from mlxdecoder.pretrained.families import llama, llama_block
from mlxdecoder.pretrained.family import Family, told
from mlxdecoder.pretrained.settings import Settings
from mlxdecoder.pretrained.table import Row, stacked, turned

DEFAULTS = {
    **llama.DEFAULTS["mistral"],
    "rms_norm_eps": 1e-5,
    "default_theta": 1_000_000.0,
    "sliding_window": None,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
}
NAMES = {
    "window": "sliding_window",
    "n_experts": "num_local_experts",
    "experts_per_token": "num_experts_per_tok",
}


def configure(settings: Settings) -> ModelConfig:
    return ModelConfig(
        **llama_block.common_fields(settings),
        window=settings.maybe_whole("sliding_window"),
        n_experts=settings.whole("num_local_experts"),
        experts_per_token=settings.whole("num_experts_per_tok"),
    )


def describe(config: ModelConfig) -> dict[str, Any]:
    return llama_block.described(config) | {
        "model_type": "mixtral",
        "architectures": ["MixtralForCausalLM"],
        **told(config, NAMES),
    }


def rows(config: ModelConfig, settings: Settings) -> list[Row]:
    theirs, ours = "layers.*.block_sparse_moe", "stack.blocks.*.mlp"

    def experts(name: str, own: str) -> Row:
        return stacked(tuple(f"{theirs}.experts.{i}.{name}.weight" for i in range(config.n_experts)), f"{ours}.{own}")

    return [
        *llama_block.block_rows(),
        turned(f"{theirs}.gate.weight", f"{ours}.router.weight"),
        experts("w1", "gate"),
        experts("w3", "inward"),
        experts("w2", "outward"),
    ]


FAMILY = Family(
    defaults={"mixtral": DEFAULTS},
    classes=("MixtralForCausalLM",),
    configure=configure,
    describe=describe,
    rows=rows,
    names={**llama_block.NAMES, **NAMES},
    prefix="model.",
    outside=("lm_head.",),
    unused=llama.FAMILY.unused,
    copies=llama.FAMILY.copies,
    aliases={"num_experts": "num_local_experts"},
)
