"""The ways in which attention functions take their masks: what the entries mean and which axes there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

Kind = Literal["allowed", "blocked", "additive"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MEANINGS: dict[Kind, str] = {
    "allowed": "True = may attend",
    "blocked": "True = blocked",
    "additive": "0 = may attend, -inf = blocked",
}


@dataclass(frozen=True)
class Form:
    """An array with fewer axes than [B, H, T, S]: `constant` axes are told once, `dropped` ones not at all."""

    axes: str
    constant: tuple[int, ...] = ()
    dropped: tuple[int, ...] = ()

    @property
    def rank(self) -> int:
        return 4 - len(self.dropped)

    def once(self, x: np.ndarray) -> np.ndarray:
        """x [B, H, T, S] with its constant axes cut to length 1."""
        for axis in self.constant:
            x = x.take([0], axis)
        return x

    def fold(self, x: np.ndarray) -> np.ndarray:
        """x [B, H, T, S] with the axes that this form has."""
        return self.once(x).squeeze(self.dropped)

    def carries(self, x: np.ndarray) -> bool:
        """Whether nothing is lost when x [B, H, T, S] is folded."""
        return bool((self.once(x) == x).all())


MASK_FORMS = (
    Form("[B, H, T, S]"),
    Form("[B, 1, T, S]", (1,)),
    Form("[B, T, S]", (1,), (1,)),
    Form("[T, S]", (0, 1), (0, 1)),
    Form("[B, S]", (1, 2), (1, 2)),
    Form("[S]", (0, 1, 2), (0, 1, 2)),
)
OPERAND_FORMS = (Form("[B, H, T, d]"), Form("[B, T, d]", (1,), (1,)), Form("[T, d]", (0, 1), (0, 1)))


@dataclass(frozen=True)
class Reading:
    """What a function takes a mask to mean; `numbers` stands for 1 and 0 where booleans are refused.

    `low` is what an additive mask adds to hide.
    """

    kind: Kind
    form: Form
    numbers: bool = False
    low: float = -np.inf

    def encode(self, allowed: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """Say `allowed` [B, H, T, S], True = may attend, in this reading; numbers are of type `dtype`."""
        folded = self.form.fold(allowed)
        if self.kind == "additive":
            return np.where(folded, 0, self.low).astype(dtype)
        told = folded if self.kind == "allowed" else ~folded
        return told.astype(dtype) if self.numbers else told

    def __str__(self) -> str:
        meaning = MEANINGS[self.kind]
        if self.numbers:
            meaning = meaning.replace("True", "1")
        types = "numbers" if self.numbers or self.kind == "additive" else "boolean"
        return f"{types}, {meaning}, rank {self.form.rank} {self.form.axes}"


def readings(operands: Form, kind: Kind | None = None, rank: int | None = None) -> tuple[Reading, ...]:
    """All readings for operands of that form, or those of one kind and rank, booleans first."""
    kinds = [(k, False) for k in KINDS] + [("allowed", True), ("blocked", True)]
    forms = [form for form in MASK_FORMS if set(operands.dropped) <= set(form.dropped) and rank in (None, form.rank)]
    return tuple(Reading(k, form, numbers) for form in forms for k, numbers in kinds if kind in (None, k))
