"""What every contract of attention works with: the subject, a fresh random source and how far is too far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mlxdecoder.contracts.attention_subject import AttentionSubject, Operands, Unsayable, name_of
from mlxdecoder.contracts.contract import Contract, Seen, untried
from mlxdecoder.contracts.mask_meaning import Acquaintance


class Untried(Exception):
    """A contract cannot be tried; the message says why, or what to give."""


@dataclass(frozen=True)
class Probe:
    """A function to be tried; `tolerance` is relative to the standard deviation of what it answers.

    `grouped` says that it must take grouped heads, `half` that it must take float16.
    """

    known: Acquaintance
    seed: int = 0
    tolerance: float = 1e-4
    grouped: bool = False
    half: bool = False

    @property
    def subject(self) -> AttentionSubject:
        return self.known.subject

    @property
    def name(self) -> str:
        return name_of(self.subject.f)

    @property
    def notes(self) -> tuple[str, ...]:
        return self.known.notes

    @property
    def random(self) -> np.random.Generator:
        """The same for every contract, whatever was tried before."""
        return np.random.default_rng(self.seed)

    def draw(self, **sizes: int) -> Operands:
        return self.subject.draw(self.random, **sizes)

    @cached_property
    def shaken(self) -> tuple[float, float]:
        """How far two answers to the same question are apart, and the size of the answers."""
        if self.subject.without is None and self.subject.reading is None:
            return 0.0, 1.0
        q, k, v = self.draw()
        before, after = self.subject(q, k, v), self.subject(q, k, v)
        return float(np.abs(np.nan_to_num(after) - np.nan_to_num(before)).max()), size_of(before)

    @property
    def trouble(self) -> str | None:
        far, size = self.shaken
        return (
            None
            if far <= self.tolerance * size
            else "the same question gets other answers (T11 steady): mend that first."
        )

    def need_mask(self) -> None:
        if self.subject.reading is None:
            raise Untried(self.known.why_no_mask)

    def masks(self) -> Iterator[tuple[str, np.ndarray]]:
        """Masks [B, H, T, S] that the subject can be given; every query sees something and misses something."""
        n = self.subject.sizes
        queries, keys, rows = np.arange(n.T)[:, None], np.arange(n.S), np.arange(n.B)[:, None, None, None]
        drawn = {
            "a causal mask": causal(n.T, n.S),
            "padding at the end": keys < n.S - 1 - rows % (n.S - 1),
            "one key hidden from all": keys != n.S // 2,
            "another key hidden from each query": (queries + rows) % n.S != keys,
        }
        for name, mask in drawn.items():
            allowed = np.broadcast_to(mask, (n.B, n.H, n.T, n.S))
            if self.subject.carries(allowed):
                yield name, allowed


def contract(name: str, rule: str, look: Callable[[Probe], Seen], *, gated: bool = True) -> Contract[Probe]:
    """A contract whose trial may find, on its way, that it cannot go on."""

    def trial(probe: Probe) -> Seen:
        try:
            return look(probe)
        except (Untried, Unsayable) as reason:
            return untried(str(reason))

    return Contract(name, rule, trial, gated)


def causal(T: int, S: int) -> np.ndarray:
    """[1, 1, T, S]; the first query sees the first key alone, and keys beyond the last query are hidden from all."""
    return (np.arange(S) <= np.arange(T)[:, None])[None, None]


def moved(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """How far each output [..., d] moved, by its largest feature; what was no number before counts as still."""
    still = ~np.isfinite(before).all(axis=-1)
    if still.all():
        raise Untried("all outputs are NaN or infinite, before any change; see T5 finite.")
    distance = np.abs(np.nan_to_num(after, nan=np.inf) - np.nan_to_num(before)).max(axis=-1)
    return np.where(still, 0.0, distance)


def size_of(output: np.ndarray) -> float:
    """The standard deviation of what is a number in it."""
    finite = output[np.isfinite(output)]
    return float(finite.std()) if finite.size and finite.std() else 1.0
