"""Jobs asked as the window asks them, without a process: what is told is a list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx.utils import tree_flatten

from mlxdecoder.app.protocol import Decoder, Message, encode
from mlxdecoder.app.session.recording import Recording
from mlxdecoder.app.worker.engine import Engine
from mlxdecoder.app.worker.link import Inbox, Link
from mlxdecoder.app.worker.loop import JOBS
from mlxdecoder.config import ModelConfig
from mlxdecoder.models import make_model
from mlxdecoder.training.checkpoint import Checkpoint, save_checkpoint
from mlxdecoder.translate import load

SENTENCE = "The black cat sleeps."
GREEDY: dict[str, Any] = {"temperature": 0.0, "top_k": 0, "top_p": 1.0, "beam": 1, "seed": 0}
RUN = 7
SMALL: dict[str, Any] = {"d_model": 16, "n_heads": 4, "n_kv_heads": 2, "d_ff": 24, "n_layers": 3}


def ask(engine: Engine, kind: str, /, stop_after: int | None = None, **fields: Any) -> list[Message]:
    """Everything that a job tells, as it comes over the pipe; the request is stopped after so many messages."""
    inbox, told = Inbox(), list[Message]()
    message = Message(kind, RUN, fields)
    inbox.put(message)

    def send(sent: Message) -> None:
        told.extend(Decoder().feed(encode(sent)))
        inbox.put(Message("seen", fields={"of": RUN}))
        if len(told) == stop_after:
            inbox.put(Message("stop", fields={"of": RUN}))

    JOBS[kind](engine, message, Link(RUN, inbox, send))
    return told


def generate(engine: Engine, sentence: str = SENTENCE, stop_after: int | None = None, **wishes: Any) -> list[Message]:
    """A generation with the most probable tokens, unless `wishes` say otherwise; sampling may be told in part."""
    sampling = {**GREEDY, **wishes.pop("sampling", {})}
    fields = {"forced": {}, "mistakes": [], "max_tokens": None, **wishes}
    return ask(engine, "generate", stop_after, sentence=sentence, sampling=sampling, **fields)


def tokens_of(told: list[Message]) -> list[Message]:
    return [message for message in told if message.kind == "token"]


def ids_of(told: list[Message]) -> list[int]:
    return [message["id"] for message in tokens_of(told)]


def recorded(told: list[Message]) -> Recording:
    recording = Recording()
    for message in told:
        recording.take(message)
    return recording


def engine_with(checkpoint: Checkpoint) -> Engine:
    engine = Engine()
    engine.checkpoint = checkpoint
    return engine


def untrained(architecture: str = "translator", seed: int = 0, **changes: Any) -> Checkpoint:
    """A small model with random weights and the packaged vocabulary."""
    tokenizer = load().tokenizer
    mx.random.seed(seed)
    sizes = {**SMALL, "target_vocab": tokenizer.vocab_size, "architecture": architecture, **changes}
    model = make_model(ModelConfig(**sizes))
    model.eval()
    return Checkpoint(model, tokenizer, Path("nowhere"))


def save(checkpoint: Checkpoint, folder: Path) -> None:
    weights = dict(tree_flatten(checkpoint.model.parameters()))
    save_checkpoint(folder, checkpoint.model.config, weights, checkpoint.tokenizer)
