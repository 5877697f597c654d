"""`make kernel-counts`: what our kernels move, beside MLX's own and its unfused path, counted in the emulator.

Both run on inputs of the same shape: float16, one row of the batch, four heads. Bytes and barriers carry over to a Mac;
the emulator's seconds do not, and are not shown.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import mlx.core as mx

from mlxdecoder import kernels
from mlxdecoder.commands.common import table
from mlxdecoder.kernels import launch
from mlxdecoder.kernels.emulator import available
from mlxdecoder.kernels.emulator.work import Work
from mlxdecoder.masks import Causal, Full
from tests.kernels.mlx_counts import mlx_work, n_launches
from tests.kernels.mlx_headers import NotThere, fetch

HEADS = 4


@dataclass(frozen=True)
class Row:
    """One shape: MLX's path of that kind against ours."""

    kind: str
    T: int
    S: int
    width: int
    causal: bool
    chip: str = "g"


def rows() -> Iterator[Row]:
    for length in (128, 256):
        for width in (64, 128):
            for causal in (False, True):
                yield Row("tiled", length, length, width, causal)
    for width in (64, 128):
        for kind, chip in (("vector", "g"), ("two passes", "s")):
            yield Row(kind, 1, 1024, width, False, chip)
    for length in (128, 256):
        for width in (16, 32):
            for causal in (False, True):
                yield Row("unfused", length, length, width, causal)


def our_work(T: int, S: int, width: int, causal: bool) -> list[Work]:
    """What our kernels do for one attention, a launch each."""
    found: list[Work] = []

    def note(name: str, kernel: object) -> None:
        found.append(kernel.work)

    shapes = ((1, HEADS, T, width), (1, HEADS, S, width), (1, HEADS, S, width))
    operands = [mx.random.normal(shape, key=mx.random.key(i)).astype(mx.float16) for i, shape in enumerate(shapes)]
    launch.observers.append(note)
    try:
        with kernels.using("emulate", checks=True):
            kernels.attention_with_lse(*operands, Causal() if causal else Full())
    finally:
        launch.observers.remove(note)
    return found


def cells(row: Row) -> list[str]:
    ours = our_work(row.T, row.S, row.width, row.causal)
    theirs = mlx_work(row.kind, row.T, row.S, row.width, row.causal, chip=row.chip)
    bytes_of_ours = sum(work.device_bytes for work in ours)
    numbers = [bytes_of_ours, theirs.device_bytes]
    barriers = [sum(work.threadgroup_barriers for work in ours), theirs.threadgroup_barriers]
    return [
        f"{row.kind}{' causal' if row.causal else ''}",
        f"{row.T} x {row.S}",
        str(row.width),
        *(f"{number:,}" for number in numbers),
        f"{bytes_of_ours / theirs.device_bytes:.2f}",
        *(f"{number:,}" for number in barriers),
        f"{len(ours)} / {n_launches(row.kind, row.causal)}",
    ]


def main() -> int:
    if reason := available():
        print(f"kernel-counts: {reason}", file=sys.stderr)
        return 2
    try:
        fetch()
    except NotThere as error:
        print(f"kernel-counts: {error}", file=sys.stderr)
        return 2
    header = ["MLX", "T x S", "width", "our bytes", "its bytes", "ours / MLX", "our barriers", "its", "launches"]
    print(table(header, [cells(row) for row in rows()]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
