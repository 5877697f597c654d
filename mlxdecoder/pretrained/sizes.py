"""Whether a folder holds as much as its configuration asks for, before anything is made of it."""

from __future__ import annotations

import os

import mlx.core as mx

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError, shown
from mlxdecoder.pretrained.family import Family
from mlxdecoder.pretrained.folder import Folder

MOST_LAYERS = 1000  # the largest models that are known have some 130


def least_numbers(config: ModelConfig) -> int:
    """How many numbers a model has at least: its matrices, each counted once."""
    d, translates = config.d_model, config.architecture == "translator"
    attention = 2 * d * (config.n_heads + config.kv_heads) * config.width_per_head
    mlp = (3 if config.is_gated else 2) * d * config.d_ff * max(config.n_experts, 1)
    decoder = config.n_layers * (attention + mlp + attention * translates)
    encoder = config.encoder_layers * (attention + mlp) * translates
    inputs = (config.patch_size or 1) ** 2 * config.image_channels
    ids = inputs if config.n_patches else max(config.target_vocab, config.n_source_ids)
    learned = config.max_length if config.positions == "learned" else 0
    return decoder + encoder + d * (ids + learned + config.n_segments + config.n_classes)


def least_arrays(config: ModelConfig) -> int:
    """How many arrays are stored of it at least: of every layer two of its attention, and two of every MLP in it."""
    layers = config.n_layers + config.encoder_layers * (config.architecture == "translator")
    return layers * (2 + 2 * max(config.n_experts, 1))


def check_size(folder: Folder, family: Family, config: ModelConfig, dtype: mx.Dtype) -> None:
    """Before anything is made, that the weights are those of such a model, and that there is memory for them."""
    deepest = max(config.n_layers, config.encoder_layers)
    which = "n_layers" if deepest == config.n_layers else "n_encoder_layers"
    asked = family.in_its_names(f"{which} = {shown(deepest)}, d_model = {shown(config.d_model)}")
    if deepest > MOST_LAYERS:
        raise UserError(f"{folder.config.name}: {asked}: at most {MOST_LAYERS:,} layers are built.")
    held = sum(entry.count for entry in folder.entries.values())
    for what, least, found in (
        ("arrays", least_arrays(config), len(folder.entries)),
        ("numbers", least_numbers(config), held),
    ):
        if least > found:
            more = f"{least:,} {what} or more" if least < 2**63 else f"more than 2^63 {what}"
            raise UserError(f"{folder.config.name}: asks for {more} ({asked}), but the weights hold {found:,}.")
    room, wanted = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), held * dtype.size
    if wanted > room:
        kind = str(dtype).removeprefix("mlx.core.")
        raise UserError(f"{folder.path}: takes {wanted:,} bytes as {kind}; this machine has {room:,}.")
