"""Attention weights as plain numbers: what a figure draws, a view shows and a file holds. NumPy only."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from mlxdecoder.errors import UserError
from mlxdecoder.files import write_bytes, write_text
from mlxdecoder.heads import Grouping, Sinks, find_sinks

KINDS = {
    "encoder": "encoder self-attention",
    "decoder": "decoder self-attention",
    "cross": "cross-attention",
}
# What rounding in float32 (and bfloat16 on its way there) may do to a row; more than this is a finding.
TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False, repr=False)
class AttentionMap:
    """The raw weights of one kind of attention, with the mask that was intended and the tokens beside it.

    `kind` is "encoder", "decoder" or "cross"; `weights` [L, H, T, S] are kept as they are (float32), whether or not
    they obey `intended` [T, S] (True = may attend, None = unknown); `queries` (T) and `keys` (S) are the tokens.
    `layers` and `heads` are the numbers under which the model knows them, counted from 0; `grouping` says which heads
    share keys and values, where that is known. Raises `UserError` when a shape, a length or the kind is wrong.
    """

    kind: str
    weights: np.ndarray
    intended: np.ndarray | None
    queries: list[str]
    keys: list[str]
    layers: tuple[int, ...] = ()
    heads: tuple[int, ...] = ()
    grouping: Grouping | None = None

    note: ClassVar[str] = ""  # what was done to the weights, to be said beside them

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UserError(f"kind is {self.kind!r}; choose one of {', '.join(KINDS)}.")
        weights = _numbers(self.weights)
        n_layers, n_heads, n_queries, n_keys = weights.shape
        fields: dict[str, Any] = {
            "weights": weights,
            "queries": _as_many("queries", self.queries, n_queries),
            "keys": _as_many("keys", self.keys, n_keys),
            "layers": tuple(_as_many("layers", self.layers or range(n_layers), n_layers)),
            "heads": tuple(_as_many("heads", self.heads or range(n_heads), n_heads)),
            "intended": _mask(self.intended, (n_queries, n_keys)),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"AttentionMap({self.kind}, weights {list(self.weights.shape)})"

    def row_sums(self) -> np.ndarray:
        """The sum of each row, [L, H, T]: 1 where softmax did its work, 0 where everything is masked."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.weights.sum(axis=-1, dtype=np.float64))

    def row_sum_errors(self) -> np.ndarray:
        """How far each row's sum is from 1, [L, H, T]; in rows that may attend to nothing, how far from 0."""
        right = 1.0 if self.intended is None else self.intended.any(axis=-1).astype(np.float64)
        return np.abs(self.row_sums() - right)

    def mass_outside(self) -> np.ndarray:
        """The size of the weights on keys that the intended mask forbids, [L, H, T]; 0 when no mask is known."""
        allowed = True if self.intended is None else self.intended
        return np.asarray(np.where(allowed, 0.0, np.abs(self.weights)).sum(axis=-1, dtype=np.float64))

    def entropy(self) -> np.ndarray:
        """Shannon's entropy of each row in nats, [L, H, T]: 0 for one key, ln S for all alike; zeros add nothing."""
        weights = self.weights.astype(np.float64)
        with np.errstate(invalid="ignore"):
            return -np.asarray((weights * np.log(np.where(weights == 0, 1.0, weights))).sum(axis=-1))

    def sinks(self) -> Sinks:
        """By place of layer and head, the keys that take much of the weight without a reason to; see `find_sinks`."""
        return find_sinks(self.weights, self.intended, self.keys)

    def select(self, layers: Sequence[int] | None = None, heads: Sequence[int] | None = None) -> AttentionMap:
        """The map of some layers and heads, by number and in the order given; None keeps all.

        Raises `UserError` with the numbers that exist.
        """
        layer_places = _places("layer", layers, self.layers)
        head_places = _places("head", heads, self.heads)
        return replace(
            self,
            weights=self.weights[np.ix_(layer_places, head_places)],
            layers=tuple(self.layers[place] for place in layer_places),
            heads=tuple(self.heads[place] for place in head_places),
        )

    def to_json(self) -> dict[str, Any]:
        """The map as what JSON knows; weights in the fewest digits that name the float32, null when not finite."""
        finite = np.isfinite(self.weights)
        weights = np.where(finite, self.weights, 0).astype(str).astype(np.float64).astype(object)
        weights[~finite] = None
        return {
            "kind": self.kind,
            "layers": list(self.layers),
            "heads": list(self.heads),
            "queries": self.queries,
            "keys": self.keys,
            "intended": None if self.intended is None else self.intended.tolist(),
            "weights": weights.tolist(),
            **self._said(),
        }

    def _said(self) -> dict[str, Any]:
        """What there is to be said beside the numbers: of heads that share, the key/value head that each uses."""
        shared = self.grouping if self.grouping and self.grouping.shares else None
        heads = {"key_value_heads": [shared.key_head(head) for head in self.heads]} if shared else {}
        return heads | ({"note": self.note} if self.note else {})

    def _repr_html_(self) -> str:
        from mlxdecoder.html import AttentionView  # here, so that numbers alone need no page

        return AttentionView([self])._repr_html_()


def save_numbers(maps: Sequence[AttentionMap], path: Path | str) -> None:
    """Write the maps to one file, as JSON or as NumPy's archive by the ending `.json` or `.npz`.

    In the archive, map 0's arrays are `map0_weights` [L, H, T, S], `map0_intended` [T, S] (left out when unknown),
    `map0_queries`, `map0_keys`, `map0_layers`, `map0_heads`, `map0_kind` and, where there is something to say,
    `map0_key_value_heads` and `map0_note`, and so on; it loads without pickle.
    Raises `UserError` for another ending.
    """
    path = Path(path)
    if path.suffix.lower() == ".json":
        write_text(path, json.dumps([each.to_json() for each in maps], ensure_ascii=False, allow_nan=False) + "\n")
    elif path.suffix.lower() == ".npz":
        archive = io.BytesIO()
        arrays: dict[str, Any] = {name: array for n, each in enumerate(maps) for name, array in _arrays(n, each)}
        np.savez_compressed(archive, **arrays)
        write_bytes(path, archive.getvalue())
    else:
        raise UserError(f"Cannot save numbers as {path.name!r}: the name must end in .json or .npz.")


def spread(numbers: np.ndarray) -> str:
    """The least and the largest of numbers in two digits each, of those that are finite."""
    finite = numbers[np.isfinite(numbers)]
    if not finite.size:
        return "NaN"
    low, high = f"{finite.min():.2g}", f"{finite.max():.2g}"
    return low if low == high else f"{low} to {high}"


def _numbers(weights: Any) -> np.ndarray:
    try:
        array = np.asarray(weights, dtype=np.float32)
    except (TypeError, ValueError):
        raise UserError("weights must be an array of numbers of shape [L, H, T, S].") from None
    if array.ndim != 4 or array.size == 0:
        raise UserError(
            f"weights have shape {list(array.shape)}; wanted [L, H, T, S]: layers, heads, queries, keys, none 0."
        )
    return array


def _mask(intended: Any, shape: tuple[int, int]) -> np.ndarray | None:
    if intended is None:
        return None
    array = np.asarray(intended)
    if array.dtype != bool or array.shape != shape:
        raise UserError(
            f"intended is {array.dtype} of shape {list(array.shape)}; "
            f"wanted bool of shape {list(shape)} ([T, S]), True = may attend."
        )
    return array


def _as_many(name: str, values: Sequence[Any], count: int) -> list[Any]:
    if len(values) != count:
        raise UserError(f"{name} has {len(values)} entries, but the weights have {count} of them; give one each.")
    return list(values)


def _places(name: str, wanted: Sequence[int] | None, known: tuple[int, ...]) -> list[int]:
    if wanted is None:
        return list(range(len(known)))
    missing = [number for number in wanted if number not in known]
    if missing or not wanted:
        found = f"{name} {missing[0]} does not exist" if missing else f"{name}s is empty"
        raise UserError(f"{found}; choose among {_spelled(known)} (counted from 0).")
    return [known.index(number) for number in wanted]


def _spelled(numbers: tuple[int, ...]) -> str:
    consecutive = list(numbers) == list(range(numbers[0], numbers[0] + len(numbers)))
    return f"{numbers[0]} to {numbers[-1]}" if consecutive and len(numbers) > 2 else ", ".join(map(str, numbers))


def _arrays(number: int, attention: AttentionMap) -> list[tuple[str, np.ndarray]]:
    names = ("kind", "weights", "intended", "queries", "keys", "layers", "heads")
    fields = [*((name, getattr(attention, name)) for name in names), *attention._said().items()]
    return [(f"map{number}_{name}", np.array(value)) for name, value in fields if value is not None]
