"""Opening a model: the packaged one, a checkpoint, or the best one of a training run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mlx.utils import tree_flatten

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.worker.engine import Engine
from mlxdecoder.app.worker.link import Link
from mlxdecoder.app.worker.watching import kinds_of
from mlxdecoder.models import Encoder
from mlxdecoder.training.checkpoint import Checkpoint
from mlxdecoder.translate import load


def open_model(engine: Engine, message: Message, link: Link) -> None:
    """The job: loads a model in the place of the one that is open, and tells `model`."""
    path = None if message["path"] is None else os.path.abspath(message["path"])
    engine.checkpoint = load(path)
    link.tell("model", **_fields(engine.checkpoint, path))


def _fields(checkpoint: Checkpoint, path: str | None) -> dict[str, Any]:
    model, config = checkpoint.model, checkpoint.model.config
    reads_only = isinstance(model, Encoder)
    kinds = kinds_of(model)
    return {
        "name": "Packaged model" if path is None else Path(path).name,
        "path": path,
        "fingerprint": checkpoint.fingerprint,
        "architecture": config.architecture,
        "layers": 0 if reads_only else config.n_layers,
        "encoder_layers": config.n_layers if reads_only else config.encoder_layers if "encoder" in kinds else 0,
        "heads": config.n_heads,
        "kv_heads": config.kv_heads,
        "width": config.d_model,
        "vocab": config.target_vocab,
        "parameters": sum(array.size for _, array in tree_flatten(model.parameters())),
        "kinds": list(kinds),
    }
