"""Breaking the open model on purpose: what a mistake does to a sentence, and whether the contracts find it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mlxdecoder import contracts
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.worker.engine import Engine, mistaken
from mlxdecoder.app.worker.link import Link
from mlxdecoder.app.worker.reading import encoded
from mlxdecoder.app.worker.watching import compact
from mlxdecoder.contracts.diagnosis import Suspect
from mlxdecoder.contracts.finding import Finding, Report
from mlxdecoder.contracts.ours import reports_of
from mlxdecoder.errors import UserError
from mlxdecoder.mistakes import Mistake, effects, find
from mlxdecoder.mistakes.describe import NO_SOURCE, SHOWN
from mlxdecoder.mistakes.experiments import other_sentence
from mlxdecoder.mistakes.view import View, change_of
from mlxdecoder.models import Encoder
from mlxdecoder.training.checkpoint import Checkpoint

SMALLEST_CHANGE = 0.0005  # of a weight, to be spoken of
MADE = ("padding", "packing", "company", "earlier sentence")  # circumstances that a comparison makes for itself
TRAINS_ONLY = "This lives in what a model is told while training, so a trained one shows nothing of it: train a twin."
NO_DROPOUT = "This model has no dropout, so nothing can show; it needs one that was trained with dropout."
NO_SHARED_HEADS = "The heads of this model share no keys and values, so nothing can show; it needs one that does."
ONE_AT_A_TIME = (
    "What is written stays the same, for it is written one token at a time, and nothing comes after the newest one. "
    "The heatmaps are of all its tokens read at once, as in training."
)


def compare(engine: Engine, message: Message, link: Link) -> None:
    """The job: a sentence with the mistakes and without, with maps over the same tokens, and what each side writes."""
    checkpoint, mistakes = engine.checkpoint, [find(name) for name in message["mistakes"]]
    found = comparison(checkpoint, message["mistakes"], message["sentence"])
    right = found.told.correct
    link.tell(
        "compared",
        _arrays(found.told),
        first_difference=found.first_difference,
        translations=[checkpoint.tokenizer.decode(tokens) for tokens in (found.correct, found.mistaken)],
        how=found.how,
        notes=list(_notes(checkpoint, mistakes, message["sentence"], found)),
        queries={kind: each.queries for kind, each in right.items()},
        keys={kind: each.keys for kind, each in right.items()},
    )


def comparison(checkpoint: Checkpoint, names: Sequence[str], sentence: str) -> effects.Effects:
    """What these mistakes do to a sentence; raises `UserError` where nothing could be compared."""
    _check_comparable(checkpoint, [find(name) for name in names])
    encoded(checkpoint, sentence)  # which refuses what cannot be shown
    return effects.compare(checkpoint, names, sentence, other_sentence(checkpoint.tokenizer, sentence))


def verdict(engine: Engine, message: Message, link: Link) -> None:
    """The job: tries the contracts of one mistake on the open model, with those mistakes on that are."""
    model, mistake = engine.checkpoint.model, find(message["of"])
    told: list[dict[str, Any]] = []
    with mistaken(model, message["mistakes"]):
        for report in reports_of(model):
            if link.stopped():
                return
            told += [_told(report, finding) for finding in report.findings if finding.contract in mistake.contracts]
    tried = {contract["name"] for contract in told}
    kind = model.config.architecture.replace("_", " ")
    told += [_untried(name, kind) for name in mistake.contracts if name not in tried]
    link.tell("verdict", contracts=sorted(told, key=lambda contract: mistake.contracts.index(contract["name"])))


def diagnose(engine: Engine, message: Message, link: Link) -> None:
    """The job: tries all contracts on the open model, and names the mistakes that their failures look like."""
    model = engine.checkpoint.model
    with mistaken(model, message["mistakes"]):
        found = contracts.diagnose(model)
    link.tell("diagnosis", holds=found.holds, text=str(found), suspects=[_suspect(one) for one in found.suspects])


def _check_comparable(checkpoint: Checkpoint, mistakes: Sequence[Mistake]) -> None:
    if not mistakes:
        raise UserError("mistakes: none is on, so there is nothing to compare; switch one on.")
    if isinstance(checkpoint.model, Encoder):
        raise UserError("A comparison reads what a model writes, and this model is an encoder, which writes nothing.")


def _arrays(view: View) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {}
    for kind, right in view.correct.items():
        arrays |= {f"{kind}.right": compact(right.weights), f"{kind}.wrong": compact(view.mistaken[kind].weights)}
        arrays[f"{kind}.intended"] = np.asarray(right.intended)
    return arrays


def _notes(checkpoint: Checkpoint, mistakes: Sequence[Mistake], sentence: str, found: effects.Effects) -> Iterator[str]:
    config = checkpoint.model.config
    concerned = [mistake for mistake in mistakes if mistake.concerns(config.architecture)]
    needs = dict.fromkeys(need for mistake in concerned for need in mistake.needs)
    yield from (f"{mistake.title}: {NO_SOURCE}" for mistake in mistakes if mistake not in concerned)
    yield from (f"For the mistake to show, {SHOWN[need]}." for need in needs if need in MADE)
    if "dropout" in needs and not max(config.dropout, config.attention_dropout):
        yield NO_DROPOUT
    if "shared heads" in needs and config.kv_heads == config.n_heads:
        yield NO_SHARED_HEADS
    if all(mistake.trains_only for mistake in mistakes):
        yield TRAINS_ONLY
    if found.told is found.read and _changes(found.read) and not _changes(found.written):
        yield ONE_AT_A_TIME
    if unknown := checkpoint.tokenizer.unknown_characters(sentence):
        yield f"The model has never seen {' '.join(unknown)}"


def _changes(view: View) -> bool:
    pairs = ((view.correct[kind], view.mistaken[kind]) for kind in view.correct)
    return any(float(change_of(right, wrong).max()) >= SMALLEST_CHANGE for right, wrong in pairs)


def _told(report: Report, finding: Finding) -> dict[str, Any]:
    rule = {"name": finding.contract, "on": report.kind, "states": finding.rule}
    return {**rule, "holds": finding.holds, "proof": finding.proof}


def _untried(name: str, kind: str) -> dict[str, Any]:
    """A contract that asks for what this kind of model does not have."""
    proof = f"not tried: it asks for what a model of kind {kind} does not have"
    return {"name": name, "on": kind, "states": "", "holds": None, "proof": proof}


def _suspect(suspect: Suspect) -> dict[str, Any]:
    why = f"Its signs are {suspect.likeness:.0%} alike. Look for: {suspect.mistake.wrong}"
    return {"id": suspect.mistake.id, "title": suspect.mistake.title, "why": why}
