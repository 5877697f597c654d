"""The shapes of one sentence on its way through the model."""

from __future__ import annotations

from collections.abc import Sequence

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.worker.engine import Engine
from mlxdecoder.app.worker.link import Link
from mlxdecoder.app.worker.reading import encoded
from mlxdecoder.commands.shapes import AXES
from mlxdecoder.generate import generate
from mlxdecoder.models import Encoder, LanguageModel, Translator
from mlxdecoder.trace import shapes
from mlxdecoder.training.checkpoint import Checkpoint


def tell_shapes(engine: Engine, message: Message, link: Link) -> None:
    """The job: tells `shapes`, of the sentence and its most probable translation, read at once."""
    seen = shapes(engine.checkpoint.model, *_inputs(engine.checkpoint, message["sentence"]))
    link.tell("shapes", rows=[[name, _axes(name, shape), list(shape)] for name, shape in seen])


def read_by_decoder(model: LanguageModel | Translator, read: Sequence[int]) -> list[int]:
    """All that the decoder reads until the end: its begin mark or the prompt, and what it writes by itself."""
    written = generate(model, [read])[0]
    first = [model.config.begin_id] if isinstance(model, Translator) else list(read)
    tokens = written.tokens if written.finish_reason == "stop" else written.tokens[:-1]  # the last one is not read
    return [*first, *tokens]


def _inputs(checkpoint: Checkpoint, sentence: str) -> list[list[list[int]]]:
    model, read = checkpoint.model, encoded(checkpoint, sentence)
    if isinstance(model, Encoder):
        return [[read]]
    target = read_by_decoder(model, read)
    return [[read], [target]] if isinstance(model, Translator) else [[target]]


def _axes(name: str, shape: tuple[int, ...]) -> str:
    """Letters for the axes; a pooled output of an encoder has one row for each sentence."""
    axes = AXES[name.rpartition(".")[2]]
    return axes if len(axes.split()) == len(shape) else "B d"
