"""What every contract of attention works with: the subject, a fresh random source and how far is too far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mlxdecoder.contracts.attention_subject import AttentionSubject, Operands
from mlxdecoder.contracts.contract import Untried
from mlxdecoder.contracts.mask_meaning import Acquaintance
from mlxdecoder.contracts.options import name_of

HALF_ROUNDING = 1e-2  # relative; bfloat16 keeps eight bits of a number
HALF_TOLERANCE = 2e-2


@dataclass(frozen=True)
class Masking:
    """A mask [B, H, T, S] by name, None for none, and how the subject is asked with it.

    `counted` [B, H, T] are the queries to be judged: those that it leaves something to see.
    """

    name: str
    subject: AttentionSubject
    allowed: np.ndarray | None
    counted: np.ndarray

    def __call__(self, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.subject(q, k, v, self.allowed)


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
    def square(self) -> Probe:
        """The same with as many queries as keys, which is what self-attention has."""
        sizes = replace(self.subject.sizes, T=self.subject.sizes.S)
        return replace(self, known=replace(self.known, subject=replace(self.subject, sizes=sizes)))

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

    @cached_property
    def own(self) -> np.ndarray:
        """Which keys each query sees by itself [B, H, T, S]: a function may be causal, or have a window.

        Where it sees none, or NaN comes of it, there is no telling: that counts as all.
        """
        q, k, _ = self.draw()
        own = self.subject.weights(q, k) != 0
        return own | ~own.any(axis=-1, keepdims=True)

    def sees(self, allowed: np.ndarray) -> np.ndarray:
        """The queries [B, H, T] that see something, of what a mask allows and of what they see by themselves."""
        return np.asarray((allowed & self.own).any(axis=-1))

    @cached_property
    def maskings(self) -> tuple[Masking, ...]:
        """Nothing hidden, by a mask where there are masks; no mask at all, where that is promised; and `masks`."""
        everything = np.ones(self.own.shape[:3], bool)
        nothing = "no mask" if self.subject.reading is None else "a mask that hides nothing"
        found = [Masking(nothing, self.subject, None, everything)]
        if self.subject.promises_none:
            found.append(Masking("None as the mask", self.subject.unmasked, None, everything))
        return (*found, *self.masks())

    def masks(self) -> Iterator[Masking]:
        """Masks that the subject can be given; each hides something from some queries, and not everything."""
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
            if self.subject.carries(allowed) and (counted := self.sees(allowed)).any():
                yield Masking(name, self.subject, allowed, counted)


def coarse(relative: float) -> str:
    """What to add to a proof when so little, relative to the outputs, may be the rounding of a half type."""
    if not relative < HALF_ROUNDING:
        return ""
    return f" Rounding in float16 or bfloat16 is as large: if it computes in these, give tolerance={HALF_TOLERANCE}."


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
