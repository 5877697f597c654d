"""The contracts that decoders and translators share: both give logits at each position of a sequence of tokens."""

from __future__ import annotations

import numpy as np

from mlxdecoder.contracts.asking import Question
from mlxdecoder.contracts.contract import CallError, Seen, Untried, judged
from mlxdecoder.contracts.sequences import Sequences

ADVICE = "the tokens; give the model weights that are not zero"


def causal(subject: Sequences) -> Seen:
    """T1: tokens after t are replaced, one at a time; logits up to t do not move."""
    influence = subject.influence
    t, s, moved = influence.worst_leak()
    reach = influence.leak_reach(subject.tolerance)
    if not reach:
        proof = (
            f"each of {influence.T} tokens was replaced in turn; earlier logits moved by {subject.told(moved)} at most"
        )
        return judged(True, proof, moved=moved)
    proof = (
        f"{subject.sides[-1]}: token {s} was replaced; the logits at position {t} moved by {subject.told(moved)}; they "
        f"may not move at all. Logits see up to {reach} tokens ahead, of {influence.T}"
    )
    signs = influence.future_signs(subject.tolerance)
    return judged(False, proof, *signs, position=t, token=s, moved=moved, reach=reach)


def reach(subject: Sequences) -> Seen:
    """T1: tokens before t are replaced, one at a time; logits at t move."""
    influence, nothing = subject.influence, subject.nothing
    back = influence.past_reach(nothing)
    if not back:
        proof = (
            f"each earlier token was replaced in turn; the logits at the last position, {influence.T - 1}, moved by "
            f"{subject.told(float(influence.largest[-1, :-1].max()))} at most: they see nothing of the past"
        )
        return judged(False, proof, "past.blind")
    blind = influence.blind_places(nothing)
    if blind:
        proof = f"token {blind[0] - 1} was replaced; the logits right behind it, at position {blind[0]}, did not move"
        return judged(False, f"{proof} (the same at {len(blind)} positions)", "past.partly", positions=blind)
    all_of_it = "all of them" if back == influence.T - 1 else "as with a window"
    return judged(True, f"the last logits see {back} tokens back, {all_of_it}", tokens=back)


def apart(subject: Sequences) -> Seen:
    """T4: other rows of the batch move nothing."""
    moved, how = subject.mixing
    holds = not subject.mixes
    verb = "moved by" if holds else "moved, though they may not, by"
    return judged(holds, f"{how} {verb} {subject.told(moved)}", "batch.mixed", moved=moved)


def documents(subject: Sequences) -> Seen:
    """T4: another document in the same row moves nothing, and a document is answered as if it were alone."""
    if subject.separator is None:
        raise Untried("give separator=, the id between documents that f keeps apart in a packed row")
    packed, begins = _pack(subject)
    own = begins[-1] + 1  # position of the second document in the last side
    before = subject.ask(packed)[:, own:]
    for side, begin in enumerate(begins):
        after = subject.ask(subject.altered(packed, side, np.s_[:, :begin]))[:, own:]
        moved = subject.moved(after, before)
        if moved > subject.tolerance:
            proof = f"the first document in {subject.sides[side]} was replaced; the logits of the second one moved by"
            return judged(False, f"{proof} {subject.told(moved)}; they may not", "documents.mixed", moved=moved)
    alone = tuple(ids[:, begin:] for ids, begin in zip(packed, begins, strict=True))
    moved = subject.moved(before, subject.ask(alone)[:, 1:])
    holds = moved <= subject.rounding
    proof = f"a document packed behind another one and the same alone: logits differ by {subject.told(moved)}"
    return judged(holds, proof, "documents.positions", moved=moved)


def finite(subject: Sequences) -> Seen:
    """T5: the logits are numbers, and not one number for all."""
    answer = subject.first_answers[0]
    bad = np.isnan(answer).any(axis=-1)[0]
    if bad.any():
        proof = f"the logits at {bad.sum()} of {bad.size} positions are NaN, for ids without padding"
        if not _alone_is_nan(subject):
            return judged(False, proof, "nan")
        return judged(False, f"{proof}; so are those of a single token, which may see itself", "nan", "nan.first")
    if subject.constant:
        return judged(False, f"{answer.size} logits, and all are {answer.flat[0]:.3g}, so they say nothing of {ADVICE}")
    return judged(True, f"{answer.size} logits of size {subject.size:.3g}, none of them NaN")


def steady(subject: Sequences) -> Seen:
    """T11: the same question has the same answer, twice in a row and after another question."""
    if subject.mute is not None:
        raise Untried(subject.mute)
    first, again = subject.first_answers
    moved = subject.moved(again, first)
    if moved > subject.tolerance:
        proof = f"the same question was asked twice; the second answer differs by {subject.told(moved)}"
        return judged(False, proof, "unsteady", moved=moved)
    if subject.moved(subject.ask(subject.draw()), first) <= subject.nothing:
        return judged(False, "another question was asked, and got the answer to the one before", "stale")
    later = subject.moved(subject.ask(subject.question), first)
    proof = f"asked twice, then again after another question: answers differ by {subject.told(max(moved, later))}"
    return judged(later <= subject.tolerance, proof, "stale", moved=later)


def order_matters(subject: Sequences, side: int, count: int, at: slice) -> Seen:
    """T10: the first `count` tokens of a side in another order move the logits at positions `at`."""
    moved = max(_moved_by_order(subject, side, count, at) for _ in range(2))
    proof = f"the first {count} ids of {subject.sides[side]} were put in another order; the logits moved by"
    return judged(moved > subject.nothing, f"{proof} {subject.told(moved)}", "order.ignored", moved=moved)


def _alone_is_nan(subject: Sequences) -> bool:
    """Whether a target of one token gives NaN, where a causal mask hides nothing."""
    try:
        return bool(np.isnan(subject.ask((*subject.question[:-1], subject.question[-1][:, :1]))).any())
    except CallError:
        return False


def _moved_by_order(subject: Sequences, side: int, count: int, at: slice) -> float:
    question = subject.draw()
    ids = question[side]
    shuffled = np.concatenate([ids[:, 1:count:2], ids[:, :count:2], ids[:, count:]], axis=1)
    other = (*question[:side], shuffled, *question[side + 1 :])
    return subject.moved(subject.ask(other)[:, at], subject.ask(question)[:, at])


def _pack(subject: Sequences) -> tuple[Question, list[int]]:
    """Two documents with the separator between them, on each side; and where the separators stand."""
    question = subject.draw()
    begins = [ids.shape[1] // 2 - 1 for ids in question]
    for ids, begin in zip(question, begins, strict=True):
        ids[:, begin] = subject.separator
    return question, begins
