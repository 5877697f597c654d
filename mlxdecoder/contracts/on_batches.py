"""The contracts on batches: `f(sentences)` gives the inputs, labels and weights that a decoder is trained on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from mlxdecoder.contracts.batches_subject import Batches, Place, read_batches
from mlxdecoder.contracts.contract import Contract, Seen, Untried, judged, report
from mlxdecoder.contracts.finding import Report


def batches_findings(
    f: Callable[..., Any],
    *,
    begin: int,
    end: int,
    pad: int,
    ignore: int | None = None,
    only: Collection[str] | None = None,
) -> Report:
    """Try the contracts on `f(sentences)`, which makes inputs, labels and weights [B, T] of lists of ids without marks.

    `begin`, `end` and `pad` are the marks that f adds. Weights may be None where labels that do not count are
    `ignore`. `only` names the contracts to be tried. Raises `UserError` when f does not work or gives something else.
    """
    return report("batches", read_batches(f, begin, end, pad, ignore), CONTRACTS, only)


def targets(subject: Batches) -> Seen:
    """Each input that has a next token has it as its label."""
    seen = [(place, rest, int(subject.labels[place])) for place, rest in subject.places() if len(rest) > 2]
    if not seen:
        return judged(False, f"of the sentences {subject.sentences} no token stands in the inputs", "labels.other")
    wrong = [(place, rest, label) for place, rest, label in seen if label != rest[1] and _counts(subject, place)]
    if not wrong:
        return judged(True, f"{len(seen)} inputs have their next token as label")
    (row, column), rest, label = wrong[0]
    proof = f"row {row}, position {column}: input {rest[0]}, label {label}; the next token is {rest[1]}"
    own, ahead = (sum(label == rest[i] for _, rest, label in wrong) / len(seen) for i in (0, 2))
    sign = "labels.unshifted" if own > 0.5 else "labels.twice" if ahead > 0.5 else "labels.other"
    return judged(False, f"{proof} (the same at {len(wrong)} of {len(seen)} places)", sign)


def begins(subject: Batches) -> Seen:
    """The begin mark is the input before the first token, which is the one that has this token as its label."""
    found = [(first, before) for first, *_ in subject.sentences if (before := subject.before(first)) is not None]
    for first, before in found:
        if before != subject.begin:
            proof = f"before {first}, the first token of a sentence, the inputs have {before}"
            return judged(False, f"{proof}; {subject.begin} is wanted", "labels.begin")
    if not found:
        raise Untried("the first token of no sentence stands in the inputs or the labels: see T6 targets")
    told = f"{len(found)} of {len(subject.sentences)} sentences have their first token in the batch"
    return judged(True, f"{told}, and it follows {subject.begin} in the inputs")


def ends(subject: Batches) -> Seen:
    """As many end marks as sentences are labels that count, in each row."""
    rows = [row for row in (_row_of(subject, sentence) for sentence in subject.sentences) if row is not None]
    is_end = subject.labels == subject.end
    found = (is_end if subject.counted is None else is_end & subject.counted).sum(axis=1)
    for row in sorted(set(rows)):
        if found[row] < rows.count(row):
            proof = (
                f"row {row}: {found[row]} labels that count are the end mark {subject.end}, wanted {rows.count(row)}"
            )
            return judged(False, f"{proof}: labels {subject.labels[row].tolist()}", "labels.no_end")
    told = f"{len(rows)} of {len(subject.sentences)} sentences stand in the inputs"
    return judged(True, f"{told}, and each has the end mark {subject.end} as a label that counts")


def padding(subject: Batches) -> Seen:
    if subject.counted is None:
        raise Untried("weights are None; give ignore=, the label that the loss leaves out")
    pads = np.ones(subject.labels.shape, dtype=bool)
    for row in range(len(pads)):
        first, last = subject.real_columns(row)
        pads[row, first : last + 1] = False
    wrong = np.argwhere(pads & subject.counted)
    if not len(wrong):
        return judged(True, f"{pads.sum()} places are padding, and none of them counts")
    row, column = wrong[0]
    proof = f"row {row}, position {column} is padding, and its label {subject.labels[row, column]} counts"
    return judged(False, f"{proof} (so do {len(wrong)} of {pads.sum()})", "labels.padding")


def counts(subject: Batches) -> Seen:
    """No token is left out, no input that has a next token, nor the begin mark."""
    tokens = [token for sentence in subject.sentences for token in sentence]
    missing = [token for token in tokens if not subject.is_said(token)]
    if missing:
        proof = f"{len(missing)} of {len(tokens)} tokens are nowhere a label that counts: {missing}"
        return judged(False, proof, "labels.uncounted")
    if subject.counted is None:
        raise Untried("weights are None; give ignore=, the label that the loss leaves out")
    places = [(place, rest[1]) for place, rest in subject.places() if len(rest) > 2]
    for first, *_ in subject.sentences:
        place = subject.place(first)
        if place is not None and place[1] and subject.inputs[place[0], place[1] - 1] == subject.begin:
            places.append(((place[0], place[1] - 1), first))
    wrong = [(place, label) for place, label in places if not subject.counted[place]]
    if not wrong:
        return judged(True, f"all {len(places)} tokens that have to be said count")
    (row, column), label = wrong[0]
    proof = f"row {row}, position {column}: token {label} is to be said, and does not count"
    return judged(False, f"{proof} (nor do {len(wrong)} of {len(places)})", "labels.uncounted")


CONTRACTS: tuple[Contract[Batches], ...] = (
    Contract("T6 targets", "the label of each input is its next token", targets),
    Contract("T6 begin", "each sentence begins with the begin mark", begins),
    Contract("T6 end", "the end mark is a label that counts", ends),
    Contract("T6 padding", "padding does not count", padding),
    Contract("T6 counted", "every token of a sentence counts", counts),
)


def _counts(subject: Batches, place: Place) -> bool:
    return subject.counted is None or bool(subject.counted[place])


def _row_of(subject: Batches, sentence: Sequence[int]) -> int | None:
    places = filter(None, map(subject.place, sentence))
    return next((row for row, _ in places), None)
