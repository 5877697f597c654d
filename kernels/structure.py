"""Masks as the kernels take them: a few numbers where a mask has structure, an array where it has none.

The numbers are explained in mask.metal, which reads them: `ahead` says how far a query sees ahead (0 for `Causal`),
`reach` how far in both directions (`Window.size` - 1), `always_seen` how many first slots it sees all the same
(`Window.keep`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import mlx.core as mx
import numpy as np

from mlxdecoder.masks import Causal, Documents, Mask, Padding, Window, parts_of

UNLIMITED = 2**30
N_SPANS = 2  # of padding that a row of the batch may have


@dataclass(frozen=True)
class Slots:
    """Where queries and keys stand: query i in slot `first_query` + i, key j in slot j, or j + `gap` from `kept` on."""

    first_query: int
    kept: int
    gap: int


@dataclass(frozen=True)
class Structure:
    """A mask for the kernels.

    `hidden` [B or 1, 2, 2] are spans of key slots; the documents are [B or 1, T] and [B or 1, S]; `allowed` and `bias`
    broadcast to [B, H, T, S], True = may attend, and are combined with all the rest.
    """

    slots: Slots = Slots(0, 0, 0)
    ahead: int = UNLIMITED
    reach: int = UNLIMITED
    always_seen: int = 0
    hidden: np.ndarray = field(default_factory=lambda: np.zeros((1, N_SPANS, 2), np.int32))
    documents: tuple[np.ndarray, np.ndarray] | None = None
    allowed: mx.array | None = None
    bias: mx.array | None = None
    drawn: dict[tuple[int, ...], dict[str, mx.array]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def numbers(self) -> np.ndarray:
        """What does not differ between the rows of a batch: [6]."""
        slots = self.slots
        numbers = [slots.first_query, slots.kept, slots.gap, self.ahead, self.reach, self.always_seen]
        return np.array(numbers, np.int32)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names of what limits the view, for people."""
        limits = {
            "causal": self.ahead == 0,
            "window": self.reach < UNLIMITED,
            "padding": bool((self.hidden[..., 1] > self.hidden[..., 0]).any()),
            "documents": self.documents is not None,
            "boolean array": self.allowed is not None,
            "additive array": self.bias is not None,
        }
        return tuple(name for name, limited in limits.items() if limited)


def structure_of(mask: Mask, queries: np.ndarray, keys: np.ndarray, bias: mx.array | None = None) -> Structure:
    """Take a mask for query slots [T] and key slots [S] apart; what has no numbers is drawn as an array."""
    slots = _slots(queries, keys)
    parts = list(parts_of(mask))
    taken = [] if slots is None else _expressible(parts)
    drawn = [part.allowed(queries, keys) for part in parts if not any(part is one for one in taken)]
    band = _band([part for part in taken if isinstance(part, Window)])
    return Structure(
        slots=slots or Slots(0, 0, 0),
        ahead=0 if any(isinstance(part, Causal) for part in taken) else UNLIMITED,
        reach=min(band.size - 1, UNLIMITED) if band else UNLIMITED,
        always_seen=min(band.keep, UNLIMITED) if band else 0,
        hidden=_spans([part for part in taken if isinstance(part, Padding)]),
        documents=_documents([part for part in taken if isinstance(part, Documents)], queries, keys),
        allowed=mx.array(np.logical_and.reduce(np.broadcast_arrays(*map(_of_rank_4, drawn)))) if drawn else None,
        bias=bias,
    )


def _slots(queries: np.ndarray, keys: np.ndarray) -> Slots | None:
    """Slots as numbers: queries in a row, keys in a row with at most one gap, behind the kept ones."""
    if not len(queries) or not len(keys) or not np.array_equal(queries, queries[0] + np.arange(len(queries))):
        return None
    jumps = keys - np.arange(len(keys))
    kept = int((jumps == 0).sum()) if jumps[0] == 0 else 0
    gap = int(jumps[-1])
    straight = (jumps[:kept] == 0).all() and (jumps[kept:] == gap).all() and gap >= 0
    return Slots(int(queries[0]), kept, gap) if straight else None


def _expressible(parts: Sequence[Mask]) -> list[Mask]:
    """Those parts that the numbers can say together; subclasses may say anything, and are left out."""
    taken: list[Mask] = [part for part in parts if type(part) is Causal]
    windows = [part for part in parts if type(part) is Window]
    taken += windows if _band(windows) else windows[:1]
    taken += [part for part in parts if type(part) is Padding][:N_SPANS]
    return taken + [part for part in parts if type(part) is Documents][:1]


def _band(windows: Sequence[Window]) -> Window | None:
    """The one window that says the same as all of these, where there is one: that within all others."""
    if not windows:
        return None
    smallest = Window(min(w.size for w in windows), min(w.keep for w in windows))
    return smallest if smallest in windows else None


def _spans(paddings: Sequence[Padding]) -> np.ndarray:
    """What each row hides: [B or 1, 2, 2]."""
    n_rows = max((part.batch for part in paddings), default=1)
    spans = np.zeros((n_rows, N_SPANS, 2), np.int32)
    for i, part in enumerate(paddings):
        spans[:, i, 0], spans[:, i, 1] = (np.minimum(ends, UNLIMITED) for ends in (part.starts, part.stops))
    return spans


def _documents(
    found: Sequence[Documents], queries: np.ndarray, keys: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    if not found:
        return None
    of_queries, of_keys = found[0].of_queries(queries), found[0].of_keys(keys)
    # Ids may be hashes, too long for a kernel; their ranks tell the same.
    ranks = np.unique(np.concatenate([of_queries, of_keys], axis=1), return_inverse=True)[1].astype(np.int32)
    ranks = ranks.reshape(len(of_queries), -1)
    return ranks[:, : len(queries)], ranks[:, len(queries) :]


def _of_rank_4(drawn: np.ndarray) -> np.ndarray:
    return drawn.reshape((1,) * (4 - drawn.ndim) + drawn.shape)
