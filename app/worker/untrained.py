"""Write an untrained translator of six layers and eight heads: what `mlxdecoder bench` has the window draw."""

from __future__ import annotations

import sys
from pathlib import Path

from mlxdecoder.config import ModelConfig
from mlxdecoder.training.checkpoint import save_checkpoint
from mlxdecoder.training.prepare import fresh_model
from mlxdecoder.translate import load


def write(path: Path) -> None:
    """A checkpoint with the tokenizer of the packaged model."""
    from mlx.utils import tree_flatten

    tokenizer = load().tokenizer
    config = ModelConfig(target_vocab=load().model.config.target_vocab, d_model=64, n_heads=8, n_layers=6, d_ff=128)
    weights = dict(tree_flatten(fresh_model(config, tokenizer, 0).parameters()))
    save_checkpoint(path, config, weights, tokenizer)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
