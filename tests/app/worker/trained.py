"""Trainings asked for as the window asks for them, without a process: what is told is a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mlxdecoder.app.protocol import Decoder, Message, encode
from mlxdecoder.app.session.corpus_choice import CorpusChoice
from mlxdecoder.app.session.training_log import TrainingLog
from mlxdecoder.app.worker.engine import Engine
from mlxdecoder.app.worker.link import Inbox, Link
from mlxdecoder.app.worker.training import train
from mlxdecoder.config import ModelConfig
from mlxdecoder.training import Preset, TrainingOptions
from mlxdecoder.training.run_folder import RunFolder

SENTENCE = "The black cat sleeps."
RUN = 3
TINY = Preset(
    400,
    ModelConfig(d_model=16, n_heads=2, d_ff=32, n_layers=1, dropout=0.1),
    TrainingOptions(steps=12, tokens_per_batch=128, warmup=4, evaluate_every=5, snapshot_every=3, learning_rate=1e-2),
)
Watcher = Callable[[Message, Inbox], None]


def ask(
    folder: Path,
    corpus: Path | list[Path] | CorpusChoice | None,
    watcher: Watcher | None = None,
    serve: Callable[[], None] | None = None,
    **wishes: Any,
) -> list[Message]:
    """All that is told of a training; the watcher sees each message at once, and may put something in the inbox."""
    fields = {"preset": "tiny", **_choice(corpus).wishes, "folder": str(folder), "steps": None, "resume": False}
    message = Message("train", RUN, {**fields, "probe": SENTENCE, "mistakes": [], **wishes})
    inbox, told = Inbox(), list[Message]()
    inbox.put(message)

    def send(sent: Message) -> None:
        told.extend(Decoder().feed(encode(sent)))
        if watcher:
            watcher(sent, inbox)

    train(Engine(), message, Link(RUN, inbox, send, serve or (lambda: None)))
    return told


def _choice(corpus: Path | list[Path] | CorpusChoice | None) -> CorpusChoice:
    if isinstance(corpus, CorpusChoice):
        return corpus
    files = corpus if isinstance(corpus, list) else [corpus] if corpus else []
    return CorpusChoice(tuple(map(str, files)))


def at_step(step: int, command: str) -> Watcher:
    """Asks for something once the losses of a step were told."""

    def watch(message: Message, inbox: Inbox) -> None:
        if message.kind == "progress" and message["first_step"] + len(message["losses"]) > step:
            inbox.put(Message(command, fields={"of": RUN}))

    return watch


def of_kind(told: Sequence[Message], kind: str) -> list[Message]:
    return [message for message in told if message.kind == kind]


def losses(told: Sequence[Message]) -> list[float]:
    log = TrainingLog()
    for message in told:
        log.take(message)
    return log.losses


def files(folder: Path) -> dict[str, bytes]:
    """All of the newest checkpoint, by name."""
    return {file.name: file.read_bytes() for file in RunFolder(folder).newest().iterdir()}
