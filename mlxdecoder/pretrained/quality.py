"""What a change of the numbers costs: the answers of a model before and after, on the same text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mlx.core as mx
import numpy as np

from mlxdecoder.backend import log_softmax
from mlxdecoder.errors import UserError
from mlxdecoder.generate import generate
from mlxdecoder.models import Encoder, LanguageModel, Translator
from mlxdecoder.training.checkpoint import Checkpoint

LONGEST = 256  # tokens
TEXT = """\
The old lighthouse keeper climbed the stairs every evening, lit the lamp, and wrote down what he had seen of the sea.
When the ships no longer came, he went on writing, for nobody had told him to stop, and the sea had not changed either.
A translation is a text that says the same in other words; how much of it is the same depends on who reads it.
"""


@dataclass(frozen=True)
class Loss:
    """`kl` is the mean divergence of the next-token distributions in nats; `agreement` the share of tokens whose best
    guess stays; `perplexities` are those of a language model on the text before and after; `change` is the largest
    difference of the output, in parts of its largest number.
    """

    change: float
    kl: float | None = None
    agreement: float | None = None
    perplexities: tuple[float, float] | None = None


def compare(checkpoint: Checkpoint, change: Callable[[], object], text: str | None = None) -> Loss:
    """How the answers of a checkpoint's model to a text, or to what `ids_of` takes, differ after `change` worked on it.

    Raises `UserError` for a text that the model cannot read.
    """
    ask = _questions(checkpoint, text)
    before = ask()
    change()
    after = ask()
    largest = float(np.abs(after - before).max() / np.abs(before).max())
    if isinstance(checkpoint.model, Encoder):
        return Loss(largest)
    old, new = (np.array(log_softmax(mx.array(logits))) for logits in (before, after))
    kl = float((np.exp(old) * (old - new)).sum(axis=-1).mean())
    agreement = float((old.argmax(axis=-1) == new.argmax(axis=-1)).mean())
    if not isinstance(checkpoint.model, LanguageModel):
        return Loss(largest, kl, agreement)
    ids = np.array(ids_of(checkpoint, text)[1:])
    surprise = [float(-x[np.arange(len(ids)), ids].mean()) for x in (old, new)]
    return Loss(largest, kl, agreement, (float(np.exp(surprise[0])), float(np.exp(surprise[1]))))


def _questions(checkpoint: Checkpoint, text: str | None) -> Callable[[], np.ndarray]:
    """What to ask, again and again: gives the logits [N, V] of what comes next, or the output of an encoder."""
    model, config = checkpoint.model, checkpoint.model.config
    run: Callable[..., mx.array] = model
    if config.n_patches and config.image_size:
        shape = (1, config.image_size, config.image_size, config.image_channels)
        images = np.random.default_rng(0).normal(size=shape).astype(np.float32)
        return lambda: _numbers(run(images))
    ids = ids_of(checkpoint, text)
    if isinstance(model, Translator):
        target = [config.begin_id, *generate(model, [ids], max_tokens=min(len(ids), LONGEST))[0].tokens]
        return lambda: _numbers(run([ids], [target])[0])
    read = ids[:-1] if isinstance(model, LanguageModel) else ids
    return lambda: _numbers(run([read])[0])


def ids_of(checkpoint: Checkpoint, text: str | None = None) -> list[int]:
    """The first tokens of a text, by default of a short one, or random ids for a model without a tokenizer."""
    config = checkpoint.model.config
    most = min(LONGEST, config.max_length)
    if text is None and checkpoint.tokenizer.kind == "none":
        return np.random.default_rng(0).integers(0, config.n_source_ids, min(64, most)).tolist()
    ids = checkpoint.read(TEXT if text is None else text)[:most]
    if len(ids) < 2:
        raise UserError(f"text: {len(ids)} tokens found; two or more are wanted to measure on.")
    return ids


def _numbers(x: mx.array) -> np.ndarray:
    return np.array(x.astype(mx.float32))
