"""Masks as small values: who may attend to whom, decided by one rule on slots, and drawn only when needed.

A slot is a place in the sequence, counted from 0 over everything that was fed, padding included. `True` means "may
attend", on every path. `&` combines masks: a key is seen where all of them allow it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import mlx.core as mx
import numpy as np

from mlxdecoder.errors import UserError


class Mask(ABC):
    """A rule that says which key slots each query slot may attend to."""

    @abstractmethod
    def allowed(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """Apply the rule to query slots [T] and key slots [S]; gives booleans that broadcast to [B, H, T, S]."""

    def shows_all(self, queries: np.ndarray, keys: np.ndarray) -> bool:
        """Whether each of these query slots plainly sees all of these key slots; False where a drawing has to tell."""
        return False

    @property
    def batch(self) -> int | None:
        """How many rows the mask is made for; None where it is the same for all."""
        return None

    def rows(self, indices: Sequence[int]) -> Mask:
        """The mask of a batch made of these rows of the batch, in this order."""
        return self

    def first_query(self, T: int, S: int) -> int:
        """The slot of the first of T queries over S keys: the last query at the last key, as a cache needs it."""
        return S - T

    def positions(self, slots: np.ndarray) -> np.ndarray:
        """The position of each slot [T] within its own sentence: [T], or [B, T] where the rows differ."""
        return slots

    def array(self, T: int, S: int | None = None, offset: int | None = None) -> mx.array:
        """Draw the mask for T queries and S keys, True = may attend.

        `offset` is the slot of the first query, by default `first_query(T, S)`; with T > S the first rows may then see
        nothing.
        """
        S = T if S is None else S
        first = self.first_query(T, S) if offset is None else offset
        drawn = self.allowed(np.arange(first, first + T), np.arange(S))
        return mx.array(np.broadcast_to(drawn, np.broadcast_shapes(drawn.shape, (1, 1, T, S))))

    def __and__(self, other: Mask) -> Mask:
        if self.batch not in (None, other.batch) and other.batch is not None:
            raise UserError(
                f"masks: {self.batch} rows on one side of &, {other.batch} on the other; they must be equal."
            )
        parts = [part for mask in (self, other) for part in parts_of(mask)]
        return parts[0] if len(parts) == 1 else Both(tuple(parts)) if parts else Full()


@dataclass(frozen=True)
class Full(Mask):
    """Everybody sees everything."""

    def shows_all(self, queries: np.ndarray, keys: np.ndarray) -> bool:
        return True

    def allowed(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        return np.ones((1, 1, len(queries), len(keys)), dtype=bool)


@dataclass(frozen=True)
class Causal(Mask):
    """A query sees its own slot and the ones before it."""

    def shows_all(self, queries: np.ndarray, keys: np.ndarray) -> bool:
        return not len(queries) or not len(keys) or bool(keys.max() <= queries.min())

    def allowed(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        return _on_all_heads(keys[None, :] <= queries[:, None])


@dataclass(frozen=True)
class Window(Mask):
    """A query sees the slots fewer than `size` steps away (with `Causal`, the last `size` slots) and the first `keep`.

    Padding counts as slots: pad a prompt at the left when tokens are to follow. Beltagy et al. 2020,
    https://arxiv.org/abs/2004.05150; the kept ones are the sinks of Xiao et al. 2023, https://arxiv.org/abs/2309.17453.
    """

    size: int
    keep: int = 0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise UserError(f"size = {self.size}: a window of at least 1 slot is wanted.")

    def allowed(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        near = np.abs(keys[None, :] - queries[:, None]) < self.size
        return _on_all_heads(near | (keys[None, :] < self.keep))


@dataclass(frozen=True)
class Padding(Mask):
    """Nobody sees the padding of a row: the key slots from `starts[b]` up to, not including, `stops[b]`.

    Slots that are fed later, such as generated tokens, are seen whatever the side of the padding.
    """

    starts: tuple[int, ...]
    stops: tuple[int, ...]

    @classmethod
    def right(cls, lengths: Sequence[int], width: int) -> Padding:
        """Rows of `lengths` tokens filled up behind them to `width`."""
        _check_lengths(lengths, width)
        return cls(tuple(map(int, lengths)), (width,) * len(lengths))

    @classmethod
    def left(cls, lengths: Sequence[int], width: int) -> Padding:
        """Rows of `lengths` tokens filled up before them to `width`."""
        _check_lengths(lengths, width)
        return cls((0,) * len(lengths), tuple(width - int(length) for length in lengths))

    @classmethod
    def of(cls, ids: mx.array | np.ndarray | Sequence[Sequence[int]], pad: int) -> Padding:
        """Find the padding in token ids [B, S]: the run of `pad` that each row ends with, or else begins with."""
        filled = _table("ids", ids) == pad  # [B, S]
        spans = [_padding_span(row) for row in filled]
        return cls(tuple(start for start, _ in spans), tuple(stop for _, stop in spans))

    @property
    def batch(self) -> int:
        return len(self.starts)

    def allowed(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        starts, stops = (np.array(ends)[:, None] for ends in (self.starts, self.stops))  # [B, 1]
        seen = (keys[None, :] < starts) | (keys[None, :] >= stops)  # [B, S]
        return np.asarray(seen)[:, None, None, :]

    def rows(self, indices: Sequence[int]) -> Padding:
        return Padding(tuple(self.starts[i] for i in indices), tuple(self.stops[i] for i in indices))

    def positions(self, slots: np.ndarray) -> np.ndarray:
        starts, stops = (np.array(ends)[:, None] for ends in (self.starts, self.stops))  # [B, 1]
        hidden = np.clip(slots[None, :] - starts, 0, stops - starts)  # padding slots before each slot
        moved = slots[None, :] - hidden
        return np.asarray(slots if not hidden.any() else moved)


@dataclass(frozen=True)
class Documents(Mask):
    """Packed rows: a query sees the keys of its own document only.

    `queries` and `keys` give the document id of each slot, a tuple a row; `keys` is the same as `queries` unless other
    sequences are attended to. Slots behind the given ones belong to the last document of their row.
    """

    queries: tuple[tuple[int, ...], ...]
    keys: tuple[tuple[int, ...], ...] | None = None

    def __post_init__(self) -> None:
        _table("queries", self.queries)
        if self.keys is not None and len(_table("keys", self.keys)) != len(self.queries):
            raise UserError(f"keys: {len(self.keys)} rows found, {len(self.queries)} wanted, as there are in queries.")

    @property
    def batch(self) -> int:
        return len(self.queries)

    def first_query(self, T: int, S: int) -> int:
        """Queries of another sequence than the keys are counted from their own beginning."""
        return S - T if self.keys is None else 0

    def allowed(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        return (self.of_queries(queries)[:, :, None] == self.of_keys(keys)[:, None, :])[:, None]

    def of_queries(self, slots: np.ndarray) -> np.ndarray:
        """The documents of query slots [T]: [B, T]."""
        return _documents_at(self.queries, slots)

    def of_keys(self, slots: np.ndarray) -> np.ndarray:
        """The documents of key slots [S]: [B, S]."""
        return _documents_at(self.queries if self.keys is None else self.keys, slots)

    def rows(self, indices: Sequence[int]) -> Documents:
        chosen = None if self.keys is None else tuple(self.keys[i] for i in indices)
        return Documents(tuple(self.queries[i] for i in indices), chosen)

    def positions(self, slots: np.ndarray) -> np.ndarray:
        ids = np.array(self.queries)  # [B, S]
        places = np.arange(ids.shape[1])
        begins = np.pad(ids[:, 1:] != ids[:, :-1], ((0, 0), (1, 0)), constant_values=True)
        first = np.maximum.accumulate(np.where(begins, places, 0), axis=1)  # [B, S]: where each slot's document begins
        return np.asarray(slots - first[:, np.clip(slots, 0, ids.shape[1] - 1)])


@dataclass(frozen=True)
class Both(Mask):
    """A key is seen where every part allows it."""

    parts: tuple[Mask, ...]

    @property
    def batch(self) -> int | None:
        return next((part.batch for part in self.parts if part.batch is not None), None)

    def shows_all(self, queries: np.ndarray, keys: np.ndarray) -> bool:
        return all(part.shows_all(queries, keys) for part in self.parts)

    def first_query(self, T: int, S: int) -> int:
        return min((part.first_query(T, S) for part in self.parts), key=abs)

    def allowed(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        drawn = self.parts[0].allowed(queries, keys)
        for part in self.parts[1:]:
            drawn = drawn & part.allowed(queries, keys)
        return drawn

    def rows(self, indices: Sequence[int]) -> Both:
        return Both(tuple(part.rows(indices) for part in self.parts))

    def positions(self, slots: np.ndarray) -> np.ndarray:
        """Packing starts the count anew; padding does not count. Where both are present, packing decides."""
        for kind in (Documents, Padding):
            for part in self.parts:
                if isinstance(part, kind):
                    return part.positions(slots)
        return slots


def build_causal_mask(T: int) -> mx.array:
    """The lesson's mask [T, T]: True above the diagonal, where True means blocked, the opposite of `Mask`."""
    return mx.array(np.triu(np.ones((T, T), dtype=bool), k=1))


def parts_of(mask: Mask) -> tuple[Mask, ...]:
    """The masks that a mask is the combination of, none for `Full`."""
    if isinstance(mask, Full):
        return ()
    return mask.parts if isinstance(mask, Both) else (mask,)


def _on_all_heads(drawn: np.ndarray) -> np.ndarray:
    return drawn[None, None]  # [1, 1, T, S]


def _check_lengths(lengths: Sequence[int], width: int) -> None:
    wrong = [int(length) for length in lengths if not 0 <= length <= width]
    if wrong or not len(lengths):
        found = f"{wrong[0]} found" if wrong else "none given"
        raise UserError(f"lengths: {found}, one length from 0 to the width {width} for each row wanted.")


def _table(name: str, rows: object) -> np.ndarray:
    """Rows of whole numbers [B, S] as an array; raises `UserError` for ragged ones."""
    try:
        table = np.array(rows)
    except ValueError:
        raise UserError(f"{name}: rows of different lengths found; one length for all is wanted.") from None
    if table.ndim != 2:
        raise UserError(f"{name}: shape {table.shape} found, [batch, length] wanted.")
    return table


def _padding_span(filled: np.ndarray) -> tuple[int, int]:
    """Where the padding of a row stands, from its booleans [S], True = padding."""
    real = np.flatnonzero(~filled)
    if not len(real):
        return 0, len(filled)
    first, last = int(real[0]), int(real[-1]) + 1
    if filled[first:last].any() or (first > 0 and last < len(filled)):
        raise UserError("ids: padding stands inside a row, or on both sides; wanted at the left or at the right only.")
    return (0, first) if first else (last, len(filled))


def _documents_at(ids: tuple[tuple[int, ...], ...], slots: np.ndarray) -> np.ndarray:
    table = np.array(ids)  # [B, S]
    return np.asarray(table[:, np.clip(slots, 0, table.shape[1] - 1)])
