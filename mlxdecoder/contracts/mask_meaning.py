"""Find out by probing how an attention function wants to be called, above all what its mask means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np

from mlxdecoder.contracts.arrays import Library, find_library
from mlxdecoder.contracts.attention_subject import AttentionSubject, Sizes
from mlxdecoder.contracts.mask_forms import KINDS, MEANINGS, OPERAND_FORMS, Kind, Reading, readings
from mlxdecoder.errors import UserError

RANKS = (1, 2, 3, 4)
STRENGTH = 8.0  # how far the score of the key that will be hidden stands above the others
FALLEN = 0.3  # of the weight it had; adding True to a score, which says nothing, takes less away
GONE = 1e-6
SLIGHT = 2.0  # taken from a score, it divides a weight by e^2
EVEN = 1e-3  # weights so even are those of a query that sees nothing, or of scores wiped out


class Grade(IntEnum):
    """How a function took a mask, best first; of those that are not refused only the last says nothing."""

    HIDES = 0
    LEAKS = 1
    BREAKS = 2
    IGNORES = 3
    REFUSED = 4


@dataclass(frozen=True)
class Trial:
    """What came of giving f a mask in one reading: the weight of a key before and after it was hidden, or an error."""

    reading: Reading
    grade: Grade
    before: float = float("nan")
    after: float = float("nan")
    error: str = ""


@dataclass(frozen=True)
class Acquaintance:
    """A function, the trials of every reading of its mask, and whether one was demanded."""

    subject: AttentionSubject
    trials: tuple[Trial, ...]
    demanded: bool = False

    @property
    def grade(self) -> Grade:
        """That of the reading that it takes best."""
        return min((trial.grade for trial in self.trials), default=Grade.REFUSED)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found out about the function."""
        subject, notes = self.subject, [f"arrays: {self.subject.library.name}"]
        if subject.operands.dropped:
            notes.append(f"operands: {subject.operands.axes}")
        if subject.sizes.T == subject.sizes.S:
            notes.append("lengths: as many queries as keys, since other lengths do not go well")
        if subject.reading:
            source = "as demanded" if self.demanded else "found by probing; say mask=... to demand another"
            notes.append(f"mask: {subject.reading} ({source})")
            if not self.demanded and subject.reading.kind == "blocked":
                notes.append(
                    "that is nn.MultiheadAttention's meaning; with masks in which True = may attend, all is wrong"
                )
        return tuple(notes)

    @property
    def why_no_mask(self) -> str:
        if self.grade is not Grade.IGNORES:
            return (
                f"it takes no mask: f(q, k, v, mask) is wanted. {self.trials[0].error if self.trials else ''}".rstrip()
            )
        tried = {trial.reading.kind: trial for trial in reversed(self.trials) if trial.grade is Grade.IGNORES}
        told = "; ".join(f"{MEANINGS[kind]}: {trial.before:.3g} and {trial.after:.3g}" for kind, trial in tried.items())
        return (
            f"a hidden key keeps its weight, whatever the mask may mean (its weight seen and hidden, {told}). "
            "Give mask='allowed', 'blocked' or 'additive' to have it tried all the same."
        )


def get_to_know(
    f: Callable[..., Any],
    *,
    arrays: str | None = None,
    mask: str | None = None,
    rank: int | None = None,
    sizes: Sizes | None = None,
    seed: int = 0,
) -> Acquaintance:
    """Find the library, the axes and the mask that f wants.

    `mask` ("allowed", "blocked" or "additive") and `rank` of the mask are taken at their word. Raises `UserError` when
    f answers no call at all, or for an unknown `mask` or `rank`.
    """
    if mask is not None and mask not in KINDS:
        raise UserError(f"mask = {mask!r}: one of {', '.join(KINDS)} is wanted.")
    if rank not in (None, *RANKS):
        raise UserError(f"rank = {rank!r}: the rank of the mask is wanted, one of {', '.join(map(str, RANKS))}.")
    kind: Kind | None = next((known for known in KINDS if known == mask), None)
    sizes = sizes or Sizes()
    library = find_library(lambda library: _first_answer(f, library, sizes, kind, rank), arrays)
    met: list[Acquaintance] = []
    for subject in _subjects(f, library, sizes):
        met.append(_try_masks(subject, readings(subject.operands, kind, rank), seed, kind is not None))
        if met[-1].grade < Grade.REFUSED:
            return met[-1]
    answering = (known for known in met if known.subject.without is not None)
    if (first := next(answering, None)) is None:
        raise UserError(f"no mask that hides a key is answered, nor a call without one. {met[0].trials[0].error}")
    return first


def _subjects(f: Callable[..., Any], library: Library, sizes: Sizes) -> Iterator[AttentionSubject]:
    grouped = sizes.Hkv < sizes.H
    for operands in OPERAND_FORMS[:1] if grouped else OPERAND_FORMS:
        heads = {0: {}, 1: {"H": 1, "Hkv": 1}, 2: {"H": 1, "Hkv": 1, "B": 1}}[len(operands.dropped)]
        for T in dict.fromkeys((sizes.T, sizes.S)):
            yield AttentionSubject(f, library, replace(sizes, T=T, **heads), operands)


def _first_answer(f: Callable[..., Any], library: Library, sizes: Sizes, kind: Kind | None, rank: int | None) -> Any:
    """What f gives in the first call that it answers in the right shape."""
    errors: list[UserError] = []
    for subject in _subjects(f, library, sizes):
        q, k, v = subject.draw(np.random.default_rng(0))
        for reading in (None, *readings(subject.operands, kind, rank)):
            for without in ((), (None,)) if reading is None else (None,):
                try:
                    known = replace(subject, reading=reading, without=without)
                    known(q, k, v)
                    return known.ask((q, k, v), known.mask(q, k, None))
                except UserError as error:
                    errors.append(error)
    raise next((error for error in errors if not isinstance(error.__cause__, TypeError)), errors[0])


def _try_masks(subject: AttentionSubject, candidates: tuple[Reading, ...], seed: int, demanded: bool) -> Acquaintance:
    random = np.random.default_rng(seed)
    q, k, v = subject.draw(random)
    # The first may be all that a query sees, and none may see those beyond the last query.
    hidden = int(random.integers(1, min(subject.sizes.T, subject.sizes.S)))
    q, k = 0.3 * q, 0.3 * k
    q[..., 0] = np.sqrt(STRENGTH * np.sqrt(q.shape[-1]))
    k[..., 0], k[..., hidden, 0] = 0, q[0, 0, 0, 0]
    subject = replace(subject, without=_without(subject, q, k, v))
    trials = tuple(_try_mask(replace(subject, reading=reading), q, k, hidden) for reading in candidates)
    best = min(trials, key=lambda trial: trial.grade, default=None)
    if best and best.grade < (Grade.REFUSED if demanded else Grade.IGNORES):
        subject = replace(subject, reading=best.reading)
    return Acquaintance(subject, trials, demanded)


def _without(subject: AttentionSubject, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> tuple[None, ...] | None:
    for without in ((), (None,)):
        try:
            replace(subject, without=without)(q, k, v)
            return without
        except UserError:
            continue
    return None


def _try_mask(subject: AttentionSubject, q: np.ndarray, k: np.ndarray, hidden: int) -> Trial:
    """Hide nothing, then one key: only where a reading is right does this, and this alone, take the key's weight."""
    reading = subject.reading
    assert reading is not None
    try:
        before, after = _weights_around(subject, q, k, hidden)
        grade = _grade(before, after, hidden)
        if reading.kind == "additive" and grade < Grade.IGNORES:
            grade = max(grade, _grade_of_adding(subject, q, k, hidden))
    except UserError as error:
        return Trial(reading, Grade.REFUSED, error=str(error))
    return Trial(reading, grade, float(before[..., hidden].mean()), float(after[..., hidden].mean()))


def _weights_around(
    subject: AttentionSubject, q: np.ndarray, k: np.ndarray, hidden: int
) -> tuple[np.ndarray, np.ndarray]:
    """The weights of the queries from which a key will be hidden, before and after: all but the first, if possible."""
    everything = np.ones((*q.shape[:3], k.shape[2]), bool)
    for start in (1, 0):
        allowed = everything.copy()
        allowed[:, :, start:, hidden] = False
        if subject.carries(allowed):
            break
    before, after = subject.weights(q, k, everything), subject.weights(q, k, allowed)
    return before[:, :, start:], after[:, :, start:]


def _grade(before: np.ndarray, after: np.ndarray, hidden: int) -> Grade:
    if not np.isfinite(before).all() or np.ptp(before, axis=-1).min() < EVEN:
        return Grade.IGNORES
    if not np.isfinite(after[..., hidden]).any():
        return Grade.BREAKS
    fallen = (np.nan_to_num(after) < FALLEN * before)[..., hidden][before[..., hidden] > GONE]
    if not (fallen.size and fallen.all()):
        return Grade.IGNORES
    return Grade.HIDES if np.nanmax(np.abs(after[..., hidden])) < GONE else Grade.LEAKS


def _grade_of_adding(subject: AttentionSubject, q: np.ndarray, k: np.ndarray, hidden: int) -> Grade:
    """An infinity spoils, or hides, whatever it is done to: see what finite numbers do where a mask is to be added."""
    assert subject.reading is not None
    low, slight = (replace(subject, reading=replace(subject.reading, low=x)) for x in (-1e9, -SLIGHT))
    before, after = (np.log(np.maximum(w, GONE)) for w in _weights_around(slight, q, k, hidden))
    other = hidden - 1
    shift = (after[..., hidden] - after[..., other]) - (before[..., hidden] - before[..., other])
    adds = Grade.HIDES if np.abs(shift + SLIGHT).max() < 0.1 else Grade.LEAKS
    return max(adds, _grade(*_weights_around(low, q, k, hidden), hidden))
