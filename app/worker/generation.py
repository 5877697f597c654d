"""Generation to be watched: the source first, then every token as it is made, with what it saw and might have been."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.worker.choosing import Interrupted, Stopped, make_choice
from mlxdecoder.app.worker.engine import Engine, mistaken
from mlxdecoder.app.worker.link import Link
from mlxdecoder.app.worker.reading import encoded
from mlxdecoder.app.worker.watching import AnyModel, Watcher, kinds_of
from mlxdecoder.backend import log_softmax
from mlxdecoder.decoding import Decoding, generating, token_limit
from mlxdecoder.ids import pad_right
from mlxdecoder.models import Encoder, LanguageModel, Translator
from mlxdecoder.sampling import keep_rules, penalise
from mlxdecoder.text.protocol import TextTokenizer
from mlxdecoder.training.checkpoint import Checkpoint

N_CANDIDATES = 10


@dataclass(frozen=True)
class Wish:
    """What is to be generated, as a message asks for it."""

    sentence: str
    forced: Mapping[int, int]
    sampling: Mapping[str, Any]
    max_tokens: int | None


@dataclass(frozen=True, eq=False)
class Step:
    """One new token: its log-probabilities [V], what was seen, and what the cache holds, in bytes."""

    number: int
    token: int
    logprobs: np.ndarray
    seen: Watcher
    held: int
    seconds: float
    finish_reason: str | None


def generate(engine: Engine, message: Message, link: Link) -> None:
    """The job: tells `source`, each `token`, and `generated`."""
    checkpoint = engine.checkpoint
    with mistaken(checkpoint.model, message["mistakes"]):
        for told in messages(checkpoint, wish_of(message), link.stopped):
            link.wait_for_room()
            link.tell(told.kind, told.arrays, **told.fields)


def wish_of(message: Message) -> Wish:
    forced = {int(step): int(token) for step, token in message["forced"].items()}
    return Wish(message["sentence"], forced, message["sampling"], message.fields.get("max_tokens"))


def messages(checkpoint: Checkpoint, wish: Wish, stopped: Stopped) -> Iterator[Message]:
    """What is told of one generation, by the recipe that the model has meanwhile, until `stopped` holds.

    Raises `UserError` for a wish that the model cannot fulfil.
    """
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    read = encoded(checkpoint, wish.sentence)
    said: list[int] = []
    reason = "stopped"
    if isinstance(model, Encoder):
        yield _source(checkpoint, wish.sentence, read, _encoded_only(model, read))
        reason = "stop"
    else:
        for step in steps(model, read, wish, stopped):
            if step.number == 0:
                yield _source(checkpoint, wish.sentence, read, step.seen)
            said += [] if step.token in model.config.end_ids else [step.token]
            yield _token(model, tokenizer, step, tokenizer.decode(said))
            reason = step.finish_reason or reason
    fields = {"reason": reason, "translation": tokenizer.decode(said), "tokens": tokenizer.pieces(said)}
    yield Message("generated", fields=fields)


def steps(model: LanguageModel | Translator, read: Sequence[int], wish: Wish, stopped: Stopped) -> Iterator[Step]:
    """Token by token with a cache, up to the end mark or the limit, each as soon as it is known."""
    try:
        choose = make_choice(model, read, wish.forced, wish.sampling, wish.max_tokens, stopped)
    except Interrupted:
        return
    seen = Watcher(model)
    with generating(model):
        decoding = Decoding(model, [read], watch=seen)
    tokens, limit, said = decoding.first, token_limit(model, read, wish.max_tokens), list[int]()
    for number in range(limit):
        if stopped():
            return
        began = time.perf_counter()
        with generating(model):
            logits = decoding.feed(tokens)
            logits = penalise(logits, model.config.repetition_penalty, decoding.histories([said]))
            logprobs = keep_rules(log_softmax(logits), model.config, [number + 1 == limit])
        token, held = choose(number, logprobs), sum(layer.nbytes for layer in decoding.cache)
        ends = "stop" if token in model.config.end_ids else "length" if number + 1 == limit else None
        yield Step(number, token, np.array(logprobs[0]), seen, held, time.perf_counter() - began, ends)
        if ends:
            return
        said.append(token)
        tokens, seen = mx.array([[token]]), Watcher(model)
        decoding.watch = seen


def _encoded_only(model: Encoder, read: Sequence[int]) -> Watcher:
    seen = Watcher(model)
    model(pad_right([read], model.config.pad_id), watch=seen)
    return seen


def _source(checkpoint: Checkpoint, sentence: str, read: Sequence[int], seen: Watcher) -> Message:
    """The source and the encoder's attention; `prompt` is what a decoder reads before it writes."""
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    begin, pieces = tokenizer.pieces([model.config.begin_id])[0], tokenizer.pieces(read)
    goes_on = isinstance(model, LanguageModel)
    fields = {
        "tokens": [] if goes_on else pieces,
        "begin": begin,
        "prompt": pieces if goes_on else [begin],
        "unknown": tokenizer.unknown_characters(sentence),
    }
    return Message("source", fields=fields, arrays=seen.stages("encoder") if "encoder" in kinds_of(model) else {})


def _token(model: AnyModel, tokenizer: TextTokenizer, step: Step, translation: str) -> Message:
    arrays: dict[str, np.ndarray] = {}
    for kind in kinds_of(model):
        arrays |= {} if kind == "encoder" else step.seen.stages(kind)
    logprob = float(step.logprobs[step.token])
    fields = {
        "step": step.number,
        "id": step.token,
        "text": tokenizer.pieces([step.token])[0],
        "logprob": logprob if np.isfinite(logprob) else None,
        "candidates": _candidates(tokenizer, step.logprobs),
        "translation": translation,
        "seconds": step.seconds,
        "cache": _cache(step, arrays["decoder.weights"].shape[2]),
        "slots": step.seen.slots.tolist(),
    }
    return Message("token", fields=fields, arrays=arrays)


def _candidates(tokenizer: TextTokenizer, logprobs: np.ndarray) -> list[list[Any]]:
    """The most probable tokens before sampling changes anything: id, text and probability."""
    probabilities = np.nan_to_num(np.exp(logprobs))
    best = np.argsort(-probabilities, kind="stable")[:N_CANDIDATES].tolist()
    return [
        [token, text, float(probabilities[token])] for token, text in zip(best, tokenizer.pieces(best), strict=True)
    ]


def _cache(step: Step, new: int) -> dict[str, int]:
    """Bytes: read in this step, added by it, and held after it, room not yet used included."""
    own, of_slot = step.seen.bytes_of("self")
    crossing, _ = step.seen.bytes_of("cross")
    added = new * of_slot + (crossing if step.number == 0 else 0)
    return {"read": own + crossing, "added": added, "held": step.held}
