"""The contracts on a translator: `f(source, target)` gives logits [B, T, V]."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from mlxdecoder.contracts import on_sequences as shared
from mlxdecoder.contracts.arrays import library_of, to_numpy
from mlxdecoder.contracts.asking import Question
from mlxdecoder.contracts.contract import Contract, Seen, Untried, judged, report
from mlxdecoder.contracts.finding import Report
from mlxdecoder.contracts.options import check_probing, is_id, is_size, said
from mlxdecoder.contracts.translator_subject import SOURCE, TARGET, Translator, crossing_influence


def translator_findings(
    f: Callable[..., Any],
    *,
    arrays: str | None = None,
    seed: int = 0,
    tolerance: float = 1e-4,
    pad: int | None = None,
    separator: int | None = None,
    vocabulary: int | None = None,
    source_vocabulary: int | None = None,
    encode: Callable[..., Any] | None = None,
    decode: Callable[..., Any] | None = None,
    stepwise: Callable[..., Any] | None = None,
    only: Collection[str] | None = None,
) -> Report:
    """Try the contracts on `f(source, target)`, which takes ids [B, S] and [B, T] and gives logits [B, T, V].

    `arrays` ("mlx", "numpy" or "torch") is found by trying; `tolerance` is relative to the size of the logits; `pad` is
    the id from which f tells right padding of the source; `separator` the id between packed documents in source and
    target; `vocabulary` and `source_vocabulary` say how many ids there are, by default as many as logits.
    `encode(source)` gives states [B, S, d] for `decode(target, states)`, which gives logits; `stepwise(source, target)`
    the same logits by decoding a token at a time. Attributes of f with these names are the defaults. `only` names the
    contracts to be tried. Raises `UserError` when f takes no ids or gives no logits, or for an option
    that is none.
    """
    check_probing(seed, tolerance)
    subject = Translator(
        f,
        encode=said(f, "encode", encode, callable),
        decode=said(f, "decode", decode, callable),
        stepwise=said(f, "stepwise", stepwise, callable),
        pad=said(f, "pad", pad, is_id),
        separator=said(f, "separator", separator, is_id),
        vocabulary=said(f, "vocabulary", vocabulary, is_size),
        source_vocabulary=said(f, "source_vocabulary", source_vocabulary, is_size),
        arrays=arrays,
        seed=seed,
        tolerance=tolerance,
    )
    return report("translator", subject, CONTRACTS, only)


def padding(subject: Translator) -> Seen:
    """T3: a short source alone, and the same filled up behind; beside a long one where rows do not mix."""
    if subject.pad is None:
        raise Untried("give pad=, the id from which f tells which source tokens are padding")
    S = subject.lengths[SOURCE]
    n_pads = S // 3
    source, target = subject.draw(lengths=[S - n_pads, subject.length])
    padded = np.concatenate([source, np.full((1, n_pads), subject.pad)], axis=1)
    batch: Question = (padded, target)
    if not subject.mixes:
        batch = tuple(np.concatenate(sides) for sides in zip(subject.draw(), batch, strict=True))
    moved = subject.moved(subject.ask(batch)[-1:], subject.ask((source, target)))
    proof = f"a source of {S - n_pads} tokens alone and with {n_pads} pads: logits differ by {subject.told(moved)}"
    return judged(moved <= subject.rounding, proof, "source.padding", moved=moved)


def crossing(subject: Translator) -> Seen:
    """T8: each source state is replaced in turn; the logits move at each target position."""
    if subject.encode is None or subject.decode is None:
        raise Untried("give encode= and decode=: encode(source) gives states [B, S, d], decode(target, states) logits")
    states = subject.call("encode", subject.encode, subject.question[SOURCE])
    if library_of(states) is None or to_numpy(states).ndim != 3:
        raise Untried(f"encode gave a {type(states).__name__}; states [B, S, d] in an array are wanted")
    moved = crossing_influence(subject, subject.decode, to_numpy(states))  # [T, S]
    blind = moved <= subject.nothing
    if not blind.any():
        proof = f"each of {blind.shape[1]} source states was replaced in turn; logits move at all target positions"
        return judged(True, proof)
    t, s = np.argwhere(blind)[0]
    proof = (
        f"source state {s} was replaced; the logits at target position {t} moved by {subject.told(moved[t, s])}; they "
        f"have to ({blind.sum()} of {blind.size} pairs are blind)"
    )
    return judged(False, proof, "cross.future_blind" if _hides_the_later(blind) else "cross.blind")


def source(subject: Translator) -> Seen:
    moved = subject.source_effect
    proof = f"all {subject.lengths[SOURCE]} source tokens were replaced; the logits moved by {subject.told(moved)}"
    return judged(moved > subject.nothing, proof, "source.ignored", moved=moved)


def order(subject: Translator) -> Seen:
    if subject.source_effect <= subject.nothing:
        raise Untried("not tried, as the source moves nothing: see T16")
    return shared.order_matters(subject, SOURCE, count=subject.lengths[SOURCE], at=np.s_[:])


def cache(subject: Translator) -> Seen:
    """T9: decoding token by token gives the logits of the whole."""
    if subject.stepwise is None:
        raise Untried("give stepwise=: stepwise(source, target) gives the logits by decoding one token at a time")
    moved = subject.moved(subject.first_steps, subject.all_at_once)
    proof = f"token by token and all at once: logits differ by {subject.told(moved)}"
    if moved <= subject.rounding:
        return judged(True, proof, moved=moved)
    if subject.moved(subject.ask_stepwise(subject.brief), subject.first_steps) > subject.tolerance:
        raise Untried("not tried, as stepwise gives the same question other answers: see T11")
    other = subject.ask_stepwise(subject.altered(subject.brief, TARGET, np.s_[:, 1:-1]))
    blind = subject.moved(other[:, -1], subject.first_steps[:, -1]) <= subject.nothing
    return judged(False, proof, *(["cache.differs", "cache.blind"] if blind else ["cache.differs"]), moved=moved)


def steady(subject: Translator) -> Seen:
    """T11, for stepwise too."""
    seen = shared.steady(subject)
    return _steady_steps(subject) if seen.holds and subject.stepwise is not None else seen


CONTRACTS: tuple[Contract[Translator], ...] = (
    Contract("T1 causal", "later target tokens do not move earlier logits", shared.causal),
    Contract("T1 reach", "earlier target tokens move later logits", shared.reach),
    Contract("T3 padding", "padding of the source does not change the logits", padding),
    Contract("T4 apart", "the rows of a batch do not move each other", shared.apart),
    Contract("T4 documents", "documents packed in a row do not move each other", shared.documents),
    Contract("T5 finite", "the logits are numbers, and not all the same", shared.finite, gated=False),
    Contract("T8 crossing", "every source state moves the logits at every target position", crossing),
    Contract("T9 cache", "logits token by token equal those all at once", cache),
    Contract("T10 order", "the order of the source counts", order),
    Contract("T11 steady", "the same question has the same answer", steady, gated=False),
    Contract("T16 source", "another source moves the logits", source),
)


def _steady_steps(subject: Translator) -> Seen:
    """Stepwise is asked the first question, the same again, another source, the first once more."""
    first, again = subject.first_steps, subject.ask_stepwise(subject.brief)
    right = subject.moved(first, subject.all_at_once) <= subject.rounding
    moved = subject.moved(again, first)
    if moved > subject.tolerance:
        proof = f"stepwise was asked the same twice; the second answer differs by {subject.told(moved)}"
        return judged(False, proof, "stale" if right else "unsteady", moved=moved)
    other = subject.altered(subject.brief, SOURCE, np.s_[:])
    answer, wanted = subject.ask_stepwise(other), subject.ask(other)
    if subject.moved(answer, first) <= subject.nothing < subject.source_effect:
        return judged(False, "stepwise was asked about another source, and gave the answer to the one before", "stale")
    moved = subject.moved(answer, wanted)
    if right and moved > subject.rounding:
        proof = f"stepwise was right at first, but is off by {subject.told(moved)} for the next source"
        return judged(False, proof, "stale", moved=moved)
    moved = subject.moved(subject.ask_stepwise(subject.brief), first)
    proof = f"asked twice, then again after another source, stepwise too: answers differ by {subject.told(moved)}"
    return judged(moved <= subject.tolerance, proof, "stale", moved=moved)


def _hides_the_later(blind: np.ndarray) -> bool:
    """Whether each position is blind for the last states only, and earlier ones for more than later ones."""
    seen = (~blind).sum(axis=1)
    last_only = all((~row[:n]).all() for row, n in zip(blind, seen, strict=True))
    return bool(last_only and (np.diff(seen) >= 0).all() and seen[-1] > seen[0])
