"""How `mlxdecoder train` works on several machines: the first process reads everything, and the others hear from it."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import mlx.core as mx
import numpy as np

from mlxdecoder import __version__
from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.mistakes import switch_on
from mlxdecoder.text.tokenizer import Tokenizer
from mlxdecoder.training.batches import Example
from mlxdecoder.training.checkpoint import TrainingState
from mlxdecoder.training.options import TrainingOptions
from mlxdecoder.training.peers import Peers
from mlxdecoder.training.prepare import fresh_model
from mlxdecoder.training.trainer import Diverged, Trainer

STATE = "state."  # before the names of a state's arrays


@contextmanager
def preparing(peers: Peers) -> Iterator[None]:
    """Let the others end in peace when what they wait for cannot be prepared."""
    try:
        yield
    except BaseException:
        if peers.size > 1:
            peers.share({}, {})
        raise


def hand_out(trainer: Trainer, peers: Peers) -> None:
    """Give all that the others need to train along, so that they read no file: much like a checkpoint."""
    state = trainer.state()
    arrays = {STATE + name: array for name, array in state.arrays.items()} | _packed(trainer.examples)
    arrays["tokenizer"] = mx.array(np.frombuffer(trainer.tokenizer.files["tokenizer.model"], np.uint8))
    peers.share(arrays, {"version": __version__, "model": asdict(trainer.model.config), "values": state.values})


def train_along(peers: Peers) -> None:
    """What all processes but the first do: train along with it, in silence, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the first process too, which stops all
    arrays, told = peers.share({}, {})
    if not told:
        return
    if told["version"] != __version__:
        found = f"mlxdecoder {__version__} found, the first process has {told['version']}"
        raise UserError(f"{peers.name}: {found}; install the same one on every machine.")
    with suppress(Diverged):  # of which the first process tells
        _trainer(arrays, told, peers.name).run(peers)


def _trainer(arrays: dict[str, mx.array], told: dict[str, Any], name: str) -> Trainer:
    """A trainer in the state of the first process's, without what only that one needs."""
    values = told["values"]
    options = TrainingOptions.from_dict(values["options"], name)
    tokenizer = Tokenizer.from_bytes(np.array(arrays["tokenizer"]).tobytes())
    model = fresh_model(ModelConfig.from_dict(told["model"], name), tokenizer, options.seed)
    model.recipe = switch_on(values["origin"].get("mistakes", ()))
    trainer = Trainer(model, tokenizer, _unpacked(arrays), [], options)
    state = {key.removeprefix(STATE): array for key, array in arrays.items() if key.startswith(STATE)}
    trainer.take_up(TrainingState(values, state), name)
    return trainer


def _packed(examples: Sequence[Example]) -> dict[str, mx.array]:
    """All ids one behind the other, and the lengths of both sides of each example in turn."""
    sides = [side for example in examples for side in (example.source, example.target)]
    ids = [token for side in sides for token in side]
    return {"ids": mx.array(ids, mx.int32), "lengths": mx.array([len(side) for side in sides], mx.int32)}


def _unpacked(arrays: dict[str, mx.array]) -> list[Example]:
    ids, lengths = np.array(arrays["ids"]).tolist(), np.array(arrays["lengths"])
    sides = [tuple(ids[begin:end]) for begin, end in pairwise([0, *lengths.cumsum().tolist()])]
    return [Example(*pair) for pair in zip(sides[::2], sides[1::2], strict=True)]
