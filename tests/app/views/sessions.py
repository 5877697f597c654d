"""Sessions with a generation that was told by nobody but the test."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session

SOURCE = ("▁The", "▁black", "▁cat", "▁sleeps", ".")
READ = ("<s>", "▁Le", "▁chat", "▁noir", "▁dort", ".")  # what the decoder reads
BLANK = {"scores": np.nan, "scaled": np.nan, "masked": -np.inf, "weights": 0.0, "norms": 0.0}


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def weights(rows: int, columns: int, *, layers: int = 2, heads: int = 4, causal: bool = False) -> np.ndarray:
    """Attention weights [L, H, T, S] by chance, always the same."""
    scores = np.random.default_rng(5).normal(0, 2, (layers, heads, rows, columns))
    if causal:
        scores = np.where(np.tri(rows, columns, dtype=bool), scores, -np.inf)
    return softmax(scores).astype(np.float32)


def tell_model(
    session: Session,
    sent: list[Message],
    kinds: Sequence[str] = ("encoder", "decoder", "cross"),
    layers: int = 2,
    heads: int = 4,
) -> None:
    """The worker is there and has opened a model; the session asks for a generation."""
    welcome = {"version": "0", "device": "cpu", "kernels": False, "catalogue": [], "presets": []}
    session.receive(Message("welcome", fields=welcome))
    model = {"name": "toy", "path": None, "fingerprint": "f", "architecture": "translator", "layers": layers}
    model |= {"encoder_layers": layers, "heads": heads, "kv_heads": heads}
    model |= {"width": 64, "vocab": 900, "parameters": 1000}
    session.receive(Message("model", sent[-1].run, {**model, "kinds": list(kinds)}))


def run_of(sent: Sequence[Message], mistaken: bool | None = None) -> int:
    """The newest request for a generation; the one with or without mistakes, if that matters."""
    asked = [one for one in sent if one.kind == "generate"]
    return [one.run for one in asked if mistaken is None or bool(one["mistakes"]) == mistaken][-1]


def tell_source(
    session: Session, run: int, source: Sequence[str] = SOURCE, begin: str = READ[0], **stages: np.ndarray
) -> None:
    """The source with the encoder's attention, by chance unless a stage [L, H, S, S] is given."""
    size = len(source)
    arrays = stages or {"weights": weights(size, size)}
    named = {f"encoder.{stage}": values for stage, values in arrays.items()}
    allowed = np.ones((size, size), bool)
    fields = {"tokens": list(source), "begin": begin}
    session.receive(Message("source", run, fields, {**named, "encoder.intended": allowed}))


def tell_step(
    session: Session, run: int, step: int, text: str, decoder: np.ndarray, cross: np.ndarray, stage: str = "weights"
) -> None:
    """One step: its row of [L, H, T, T] and of [L, H, T, S]; each key that was read by then may be looked at."""
    arrays = {
        f"decoder.{stage}": decoder[:, :, step : step + 1, : step + 1],
        f"cross.{stage}": cross[:, :, step : step + 1],
        "decoder.intended": np.ones((1, step + 1), bool),
        "cross.intended": np.ones((1, cross.shape[-1]), bool),
    }
    fields = {"step": step, "id": step, "text": text, "logprob": -0.1, "candidates": [], "piece": text}
    fields |= {"translation": text, "seconds": 0.01, "cache": {}, "slots": list(range(step + 1))}
    session.receive(Message("token", run, fields, arrays))


def tell_generation(
    session: Session,
    run: int,
    *,
    source: Sequence[str] = SOURCE,
    read: Sequence[str] = READ,
    decoder: np.ndarray | None = None,
    cross: np.ndarray | None = None,
    stage: str = "weights",
) -> None:
    """A whole generation, by chance unless values [L, H, T, T] and [L, H, T, S] are given."""
    decoder = weights(len(read), len(read), causal=True) if decoder is None else decoder
    cross = weights(len(read), len(source)) if cross is None else cross
    if stage == "weights":
        tell_source(session, run, source, read[0])
    else:
        tell_source(session, run, source, read[0], **{stage: np.zeros((2, 4, len(source), len(source)), np.float32)})
    for step, text in enumerate([*read[1:], "</s>"]):
        tell_step(session, run, step, text, decoder, cross, stage)
    session.receive(Message("generated", run, {"reason": "stop", "translation": " ".join(read), "tokens": list(read)}))


def recorded(session: Session, sent: list[Message], **generation: object) -> None:
    """A model that is open, and the translation of the first sentence with all its attention."""
    tell_model(session, sent)
    tell_generation(session, run_of(sent), **generation)  # type: ignore[arg-type]
