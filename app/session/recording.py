"""What one generation showed: the source, each token with its candidates, and the attention of every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.stack import Stack, reach_of

ROOM = {"read": 0, "added": 0, "held": 0}
ALL = slice(None)


@dataclass(frozen=True, eq=False)
class Picture:
    """What one panel of heatmaps shows: raw values [L, H, T, S], the intended mask [T, S], and the tokens beside."""

    kind: str
    stage: str
    values: np.ndarray
    intended: np.ndarray
    queries: tuple[str, ...]
    keys: tuple[str, ...]

    @property
    def row_sums(self) -> np.ndarray:
        """[L, H, T]; what softmax makes 1."""
        return np.asarray(self.values.sum(-1, dtype=np.float64))

    @property
    def outside(self) -> np.ndarray:
        """The size of what lies on keys that the intended mask forbids: [L, H, T]; nothing for scores."""
        if self.stage not in ("weights", "norms"):
            return np.zeros(self.values.shape[:3])
        return np.asarray(np.where(self.intended, 0.0, np.abs(self.values)).sum(-1, dtype=np.float64))

    @property
    def sum_errors(self) -> np.ndarray:
        """How far the sum of each row is from 1, [L, H, T]; in rows that may see nothing, how far from 0."""
        with np.errstate(invalid="ignore"):
            return np.asarray(np.abs(self.row_sums - self.intended.any(axis=-1)))

    def cut(self, layers: slice = ALL, heads: slice = ALL, rows: slice = ALL) -> Picture:
        """A part of the picture."""
        values, intended = self.values[layers, heads, rows], self.intended[rows]
        return replace(self, values=values, intended=intended, queries=self.queries[rows])

    @property
    def averaged(self) -> Picture:
        """The mean of the heads of each layer, as one head."""
        mean = self.values.mean(axis=1, keepdims=True)
        return Picture(self.kind, self.stage, mean, self.intended, self.queries, self.keys)


@dataclass(frozen=True, eq=False)
class Token:
    """One step: what was chosen, what else could have been, and what the cache did."""

    step: int
    id: int
    text: str
    logprob: float  # NaN where it is no number
    candidates: tuple[tuple[int, str, float], ...]
    translation: str
    seconds: float
    cache: Mapping[str, int]
    slots: tuple[int, ...]
    arrays: Mapping[str, np.ndarray]


@dataclass
class Recording:
    """The messages of one run, put together."""

    source: tuple[str, ...] = ()
    begin: str = ""
    prompt: tuple[str, ...] = ()  # what the decoder reads before it writes
    unknown: tuple[str, ...] = ()  # characters of the sentence that the model has never seen
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    tokens: list[Token] = field(default_factory=list)
    reason: str | None = None  # why it ended, None while it goes on
    translation: str = ""
    _reaches: dict[str, float] = field(default_factory=dict, repr=False, compare=False)  # of the encoder's stages
    _stacks: dict[tuple[str, str], tuple[Stack, int]] = field(default_factory=dict, repr=False, compare=False)

    def take(self, message: Message) -> None:
        """Add what a `source`, `token` or `generated` message tells."""
        fields = message.fields
        if message.kind == "source":
            self.source, self.begin = tuple(fields["tokens"]), fields["begin"]
            self.prompt = tuple(fields.get("prompt", (self.begin,)))
            self.unknown = tuple(fields.get("unknown", ()))
            self.arrays, self._reaches = dict(message.arrays), {}
        elif message.kind == "token":
            self.tokens.append(_token(fields, message.arrays))
            self.translation = fields["translation"]
        elif message.kind == "generated":
            self.reason, self.translation = fields["reason"], fields["translation"]

    def picture(self, kind: str, stage: str, rows: int | None = None) -> Picture | None:
        """What is known of one kind and stage, the first `rows` steps of it; None before anything is."""
        if kind == "encoder":
            values = self.arrays.get(f"encoder.{stage}")
            if values is None:
                return None
            return Picture(kind, stage, values, self.arrays["encoder.intended"], self.source, self.source)
        stack = self._stack(kind, stage)
        hidden = 0 if rows is None else max(len(self.tokens) - rows, 0)  # the newest rows, one a step
        shown = len(stack) - hidden
        if shown < 1:
            return None
        values, intended = stack.rows(shown)
        keys = self.source if kind == "cross" else self.read[: values.shape[-1]]
        return Picture(kind, stage, values, intended, self.read[:shown], keys)

    def reach(self, kind: str, stage: str) -> float:
        """The largest size of a finite value in all layers, heads and steps."""
        if kind != "encoder":
            return self._stack(kind, stage).reach
        if stage not in self._reaches and f"encoder.{stage}" in self.arrays:
            self._reaches[stage] = reach_of(self.arrays[f"encoder.{stage}"])
        return self._reaches.get(stage, 0.0)

    def _stack(self, kind: str, stage: str) -> Stack:
        stack, taken = self._stacks.get((kind, stage), (Stack(kind, stage), 0))
        for token in self.tokens[taken:]:
            stack.add(token.arrays, token.slots)
        self._stacks[kind, stage] = stack, len(self.tokens)
        return stack

    @property
    def read(self) -> tuple[str, ...]:
        """The tokens that the decoder reads: the begin mark or a prompt, then each new token."""
        return (*self.prompt, *(token.text for token in self.tokens))


def _token(fields: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Token:
    return Token(
        fields["step"],
        fields["id"],
        fields["text"],
        float("nan") if fields["logprob"] is None else fields["logprob"],
        tuple((int(i), str(text), float(share)) for i, text, share in fields["candidates"]),
        fields["translation"],
        fields["seconds"],
        {**ROOM, **fields["cache"]},
        tuple(fields["slots"]),
        dict(arrays),
    )


def difference(right: Picture, wrong: Picture) -> Picture:
    """Wrong minus right, as far as both have read the same: the first rows and columns whose tokens agree."""
    rows, columns = _agreeing(right.queries, wrong.queries), _agreeing(right.keys, wrong.keys)
    before, after = (side.values[:, :, :rows, :columns] for side in (right, wrong))
    with np.errstate(invalid="ignore"):
        change = after.astype(np.float32) - before  # NaN where both are masked
    intended = right.intended[:rows, :columns]
    return Picture(right.kind, right.stage, change, intended, right.queries[:rows], right.keys[:columns])


def _agreeing(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
