"""Tables of weight names: each row says which arrays of a foreign model are which of ours, and how they are laid out.

A star stands for the number of a layer. Rows are read in both directions: loading reads them, exporting writes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count

import mlx.core as mx

Arrays = list[mx.array]


@dataclass(frozen=True)
class Row:
    """`read` makes the arrays named `ours` of those named `theirs`, `write` the other way round.

    `rounds` says whether that changes the digits, so that numbers of half precision would be others.
    """

    theirs: tuple[str, ...]
    ours: tuple[str, ...]
    read: Callable[[Arrays], Arrays]
    write: Callable[[Arrays], Arrays]
    rounds: bool = False

    def of_layer(self, layer: int) -> Row:
        theirs, ours = (tuple(name.replace("*", str(layer)) for name in names) for names in (self.theirs, self.ours))
        return replace(self, theirs=theirs, ours=ours)


def expanded(rows: Iterable[Row], ours: Iterable[str]) -> Iterator[Row]:
    """The rows for the arrays that a model has: one for each layer, and none for a bias that it goes without."""
    known = set(ours)
    for row in rows:
        if "*" not in row.ours[0]:
            if row.ours[0] in known:
                yield row
            continue
        for layer in count():
            one = row.of_layer(layer)
            if one.ours[0] not in known:
                break
            yield one


def same(theirs: str, ours: str) -> Row:
    return Row((theirs,), (ours,), _as_is, _as_is)


def turned(theirs: str, ours: str) -> Row:
    """A matrix [out, in], which is [in, out] with us."""
    return Row((theirs,), (ours,), _turn, _turn)


def norm(theirs: str, ours: str) -> list[Row]:
    """The gain of a norm, and its offset where it has one."""
    return [same(f"{theirs}.{name}", f"{ours}.{name}") for name in ("weight", "bias")]


def linear(theirs: str, ours: str) -> list[Row]:
    """A linear map with its weight [out, in], and its bias where it has one."""
    return [turned(f"{theirs}.weight", f"{ours}.weight"), same(f"{theirs}.bias", f"{ours}.bias")]


def times(row: Row, factor: float) -> Row:
    """The same with ours `factor` times as large."""

    def read(arrays: Arrays) -> Arrays:
        return [array * factor for array in row.read(arrays)]

    def write(arrays: Arrays) -> Arrays:
        return row.write([array / factor for array in arrays])

    return Row(row.theirs, row.ours, read, write, rounds=math.frexp(factor)[0] != 0.5)


def reshaped(theirs: str, ours: str, of_theirs: tuple[int, ...], of_ours: tuple[int, ...]) -> Row:
    """The same numbers in another shape."""
    return Row(
        (theirs,), (ours,), lambda arrays: [arrays[0].reshape(of_ours)], lambda arrays: [arrays[0].reshape(of_theirs)]
    )


def side_by_side(theirs: str, ours: tuple[str, ...]) -> Row:
    """Several of ours in one array, along its last axis."""

    def split(arrays: Arrays) -> Arrays:
        return [mx.contiguous(part) for part in mx.split(arrays[0], len(ours), axis=-1)]

    return Row((theirs,), ours, split, lambda arrays: [mx.concatenate(arrays, axis=-1)])


def stacked(theirs: tuple[str, ...], ours: str) -> Row:
    """Matrices [out, in] of several experts, which are one array [n, in, out] with us."""

    def read(arrays: Arrays) -> Arrays:
        return [mx.contiguous(mx.stack(arrays).swapaxes(1, 2))]

    return Row(theirs, (ours,), read, lambda arrays: [mx.contiguous(array.T) for array in arrays[0]])


def convolution(theirs: str, ours: str, channels: int, size: int) -> Row:
    """A convolution [out, channels, rows, columns] over patches, which is a linear map of rows, columns, channels."""

    def read(arrays: Arrays) -> Arrays:
        return [arrays[0].transpose(2, 3, 1, 0).reshape(size * size * channels, -1)]

    def write(arrays: Arrays) -> Arrays:
        return [mx.contiguous(arrays[0].reshape(size, size, channels, -1).transpose(3, 2, 0, 1))]

    return Row((theirs,), (ours,), read, write)


def _as_is(arrays: Arrays) -> Arrays:
    return arrays


def _turn(arrays: Arrays) -> Arrays:
    return [mx.contiguous(arrays[0].T)]
