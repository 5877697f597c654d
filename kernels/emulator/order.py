"""Whether two schedules of one launch agree: if not, threads race in a way that the check of accesses does not see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from .findings import Finding
from .launch import Buffer

ROUNDINGS = 64
"""How many units in the last place, of the largest element, outputs may differ: sums may be taken in another order."""


def disagreements(
    buffers: Sequence[Buffer | None], one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]
) -> Iterator[Finding]:
    """A finding for each output that differs between two schedules by more than rounding.

    Args:
        buffers: the buffers of the launch.
        one: the outputs of the first schedule by name.
        other: those of the second.
    """
    for buffer in buffers:
        if buffer is None or not buffer.output:
            continue
        wrong = _differs(_values(one[buffer.name], buffer), _values(other[buffer.name], buffer), _epsilon(buffer))
        if wrong.any():
            index = int(np.flatnonzero(wrong)[0])
            message = (
                f"output '{buffer.name}' differs at index {index} between two orders of the threads: "
                f"{_values(one[buffer.name], buffer)[index]} and {_values(other[buffer.name], buffer)[index]}"
            )
            yield Finding("order", 0, "", message)


def _values(array: np.ndarray, buffer: Buffer) -> np.ndarray:
    flat = array.reshape(-1)
    return (flat.astype(np.uint32) << 16).view(np.float32) if buffer.bfloat16 else flat


def _epsilon(buffer: Buffer) -> float:
    if buffer.bfloat16:
        return 2.0**-7
    return float(np.finfo(buffer.array.dtype).eps) if buffer.array.dtype.kind in "fc" else 0.0


def _differs(one: np.ndarray, other: np.ndarray, epsilon: float) -> np.ndarray:
    if not epsilon:
        return one != other
    with np.errstate(invalid="ignore", over="ignore"):
        wide_one, wide_other = (array.astype(np.complex128) for array in (one, other))
        finite = np.abs(wide_one[np.isfinite(wide_one)])
        allowed = ROUNDINGS * epsilon * finite.max(initial=0.0)
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        return ~(same | (np.abs(wide_one - wide_other) <= allowed))
