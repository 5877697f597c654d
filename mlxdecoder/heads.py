"""What is to be said of heads: which of them share keys and values, and which keys are sinks. NumPy only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mlxdecoder.errors import UserError

SINK = 0.5  # of the weight, on average
FEWEST_ROWS = 4  # less says nothing of an average
ABOUT_SINKS = (
    f"A sink is the first key or a mark that takes more than {SINK:.0%} of the weight, on average over the rows that "
    "may look elsewhere too: weight that has to go somewhere (Xiao et al. 2023, arxiv.org/abs/2309.17453)."
)
MARK = re.compile(r"[<\[](?!\d+>|0x[0-9A-F]{2}>).*[>\]]")  # ids without a tokenizer are none, nor are bytes

Sinks = dict[tuple[int, int], list[tuple[int, float]]]


@dataclass(frozen=True)
class Grouping:
    """So many query heads share so many key/value heads, in turn: 0 to 3 the first, 4 to 7 the second.

    Grouped-query attention, Ainslie et al. 2023, https://arxiv.org/abs/2305.13245. Raises `UserError` for numbers of
    which one does not divide the other.
    """

    heads: int
    key_heads: int

    def __post_init__(self) -> None:
        if not 1 <= self.key_heads <= self.heads or self.heads % self.key_heads:
            raise UserError(f"grouping: {self.heads} heads and {self.key_heads} key/value heads; wanted a divisor.")

    @property
    def shares(self) -> bool:
        """Whether there is anything to say."""
        return self.key_heads < self.heads

    def key_head(self, head: int) -> int:
        """The key/value head that a query head uses, both counted from 0."""
        return head * self.key_heads // self.heads

    def describe(self, head: int) -> str:
        """With which heads a head shares its keys and values, all counted from 0."""
        return f"key/value head {self.key_head(head)} of {self.key_heads}, shared by {self._members(head)}"

    def describe_all(self, heads: Sequence[int]) -> str:
        """The same for several heads at once."""
        groups = {self.key_head(head): self._members(head) for head in heads}
        shared = ", ".join(f"{key_head} by {members}" for key_head, members in groups.items())
        return f"{self.key_heads} key/value heads are shared: {shared}."

    def _members(self, head: int) -> str:
        size = self.heads // self.key_heads
        first = self.key_head(head) * size
        return f"heads {first}–{first + size - 1}"


def find_sinks(weights: np.ndarray, allowed: np.ndarray | None, keys: Sequence[str]) -> Sinks:
    """By layer and head, the keys that take much weight without a reason to: (key, share of the weight).

    See `ABOUT_SINKS`; `weights` are [L, H, T, S], `allowed` [T, S], and a few rows make no sink. Layers and heads are
    counted as they stand in the weights.
    """
    allowed = np.ones(weights.shape[2:], bool) if allowed is None else allowed
    choosing = allowed & (allowed.sum(axis=-1, keepdims=True) > 1)
    found: Sinks = {}
    for key in (at for at, token in enumerate(keys) if at == 0 or is_mark(token)):
        seeing = choosing[:, key]
        if seeing.sum() < FEWEST_ROWS:
            continue
        with np.errstate(invalid="ignore"):
            share = weights[:, :, seeing, key].mean(axis=-1, dtype=np.float64)
        for layer, head in np.argwhere(share > SINK).tolist():
            found.setdefault((layer, head), []).append((key, float(share[layer, head])))
    return found


@lru_cache(4096)
def is_mark(token: str) -> bool:
    """Whether a token is punctuation or one of a model's own marks, such as <s>."""
    return not any(character.isalnum() for character in token) or bool(MARK.fullmatch(token))
