"""How far kernels are from the truth: one function a kernel, used by tests and mutants alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import mlx.core as mx
import numpy as np

from mlxdecoder import kernels
from mlxdecoder.kernels import mode
from mlxdecoder.kernels.attention import combine
from mlxdecoder.kernels.shapes import Shape
from tests.builders import normal, numbers
from tests.kernels import truth
from tests.kernels.cases import ROUNDING, TOLERANCE, Case

EXACT = TOLERANCE[mx.float32]
Indices = Sequence[int] | None
Layout = Callable[[mx.array], mx.array]


@dataclass(frozen=True)
class Gap:
    """How far an array is from the truth, relative to the largest number wanted, and how far it may be."""

    name: str
    found: float
    allowed: float

    @property
    def is_too_wide(self) -> bool:
        return not self.found <= self.allowed  # NaN is

    def __str__(self) -> str:
        return f"{self.name}: error {self.found:.1e}, allowed {self.allowed:.1e}"


def wrong(gaps: Iterable[Gap]) -> list[str]:
    """Those that are too wide, in words."""
    return [str(gap) for gap in gaps if gap.is_too_wide]


def gap(name: str, found: mx.array, wanted: np.ndarray, allowed: float, floor: float = 0) -> Gap:
    """-inf must be met exactly; `floor` is the least number that errors are relative to."""
    have = numbers(found)
    assert have.shape == wanted.shape, (name, have.shape, wanted.shape)
    empty = np.isneginf(wanted)
    if not np.array_equal(np.isneginf(have), empty):
        return Gap(name, np.inf, allowed)
    largest = max(np.abs(wanted[~empty]).max(initial=0), floor, 1e-30)
    return Gap(name, float(np.abs(have[~empty] - wanted[~empty]).max(initial=0) / largest), allowed)


def attention(case: Case) -> list[Gap]:
    """Output and log-sum-exp, by the forward or the decoding kernel, whichever takes so many queries."""
    output, lse = kernels.attention_with_lse(*case.operands, case.seen.mask, scale=case.scale)
    assert output.dtype == case.dtype and lse.dtype == mx.float32
    exact = max(EXACT, case.tolerance if case.dtype == mx.float32 else 0)
    return [gap("output", output, case.wanted.output, case.tolerance), gap("lse", lse, case.wanted.lse, exact, 1)]


def gradients(case: Case) -> list[Gap]:
    """Of queries, keys and values, and of what is added to the scores where it is an array, from output and lse."""
    to_output, to_lse = cotangents(case)
    primals = [*case.operands]
    if case.seen.bias is not None and isinstance(case.seen.mask, mx.array):
        primals.append(case.seen.mask)

    def run(query: mx.array, key: mx.array, value: mx.array, *bias: mx.array) -> tuple[mx.array, mx.array]:
        return kernels.attention_with_lse(query, key, value, *(bias or (case.seen.mask,)), scale=case.scale)

    _, found = mx.vjp(run, primals, [to_output, to_lse])
    operands = map(numbers, case.operands)
    wanted = truth.gradients(*operands, case.wanted.weights, case.factor, numbers(to_output), numbers(to_lse))
    wanted["bias"] = summed_as(wanted["bias"], primals[3:])
    # A gradient that is nothing but what rounding leaves of its terms is measured by the others.
    floor = 0.1 * max(np.abs(array).max() for array in wanted.values())
    return [
        # An added array may be of another type than the operands.
        gap(f"{name} gradient", array, wanted[name], max(case.tolerance, TOLERANCE[array.dtype]), floor)
        for name, array in zip(("query", "key", "value", "bias"), found, strict=False)
    ]


def cotangents(case: Case) -> tuple[mx.array, mx.array]:
    """What comes back to the output, and to the log-sum-exp of rows that see something."""
    to_output = mx.array(normal(case.B, case.H, case.T, case.dv, seed=8)).astype(case.dtype)
    to_lse = np.where(np.isneginf(case.wanted.lse), 0, normal(case.B, case.H, case.T, seed=9))
    return to_output, mx.array(to_lse.astype(np.float32))


def summed_as(of_scores: np.ndarray, biases: Sequence[mx.array]) -> np.ndarray:
    """The gradient of an array that was spread over [B, H, T, S]."""
    shape = biases[0].shape if biases else of_scores.shape
    axes = tuple(axis for axis, size in enumerate(shape) if size == 1)
    return of_scores.sum(axis=axes, keepdims=True)


def weights(case: Case, heads: Indices = None, rows: Indices = None) -> list[Gap]:
    """The weights of some heads and rows."""
    query, key, _ = case.operands
    lse = mx.array(case.wanted.lse.astype(np.float32))
    found = kernels.attention_weights(query, key, lse, heads, rows, case.seen.mask, scale=case.scale)
    return [gap("weights", found, chosen(case.wanted.weights, heads, rows), _watched(case))]


def mass(case: Case, intended: str, heads: Indices = None, rows: Indices = None) -> list[Gap]:
    """What the weights of some heads and rows add up to, and what of it lies outside an intended view."""
    query, key, _ = case.operands
    meant = replace(case, view=intended).seen
    lse = mx.array(case.wanted.lse.astype(np.float32))
    found = kernels.attention_mass(query, key, lse, meant.mask, heads, rows, case.seen.mask, scale=case.scale)
    illegal = case.wanted.weights * ~(np.ones((1, 1, 1, 1), bool) if meant.allowed is None else meant.allowed)
    wanted = [chosen(array.sum(-1), heads, rows) for array in (case.wanted.weights, illegal)]
    return [
        gap(name, array, truth, _watched(case), 1)
        for name, array, truth in zip(("sum", "outside"), found, wanted, strict=True)
    ]


def chosen(array: np.ndarray, heads: Indices, rows: Indices) -> np.ndarray:
    array = array if heads is None else array[:, heads]
    return array if rows is None else array[:, :, rows]


def _watched(case: Case) -> float:
    """Weights are float32 whatever the operands, and as exact as a log-sum-exp that is rounded can make them."""
    return EXACT + 2 * ROUNDING * max(case.wanted.largest_score, 1)


def rotary(dtype: mx.Dtype, layout: Layout, angles: np.ndarray, shape: Sequence[int]) -> list[Gap]:
    """Queries [B, H, T, dh] and keys of half as many heads, turned by angles, and back: the gradient."""
    B, H, T, width = shape
    drawn = [normal(B, n_heads, T, width, seed=i) for i, n_heads in enumerate((H, H // 2))]
    given = [layout(mx.array(x).astype(dtype)) for x in drawn]
    waves = [mx.array(wave(angles).astype(np.float32)) for wave in (np.cos, np.sin)]
    turned, back = mx.vjp(lambda query, key: kernels.rotate_both(query, key, *waves), given, given)
    gaps = []
    for name, found, sign in (("turned", turned, 1), ("turned back", back, -1)):
        for which, x, array in zip(("query", "key"), given, found, strict=True):
            wanted = truth.turn(numbers(x), sign * angles)
            gaps.append(gap(f"{which} {name}", array, wanted, TOLERANCE[dtype]))
    return gaps


def splits(n_splits: int, width: int, dtype: mx.Dtype = mx.float32, strength: float = 1) -> list[Gap]:
    """Outputs of splits of the keys, put together; some splits saw nothing, and for one row no split saw anything."""
    B, H, T = 2, 2, 3
    outputs = normal(n_splits, B, H, T, width, seed=1)
    lses = strength * normal(n_splits, B, H, T, seed=2)
    lses[::3, 0] = -np.inf
    lses[:, 1, 1, 2] = -np.inf
    outputs[np.isneginf(lses)] = 0
    shape = Shape(B, H, H, T, 600 * n_splits, width, width, dtype)
    output, lse = combine(shape, mx.array(outputs), mx.array(lses), mode.place())
    exact = lses.astype(np.float64)
    top = np.maximum(exact.max(axis=0), np.finfo(float).min)
    shares = np.exp(exact - top)
    total = shares.sum(axis=0)
    mean = (shares[..., None] * outputs).sum(axis=0) / np.where(total > 0, total, 1)[..., None]
    whole = np.where(total > 0, top + np.log(np.where(total > 0, total, 1)), -np.inf)
    return [gap("output", output, mean, TOLERANCE[dtype]), gap("lse", lse, whole, EXACT, 1)]


def not_a_number(case: Case) -> list[Gap]:
    """How many rows hide that a number of their query is none."""
    query, key, value = case.operands
    query = mx.where(mx.arange(case.dk) == 3, mx.nan, query)
    output, lse = kernels.attention_with_lse(query, key, value, case.seen.mask)
    hidden = {"output": ~np.isnan(numbers(output)).all(axis=-1), "lse": ~np.isnan(numbers(lse))}
    return [Gap(f"rows of {name} that hide NaN", float(rows.sum()), 0) for name, rows in hidden.items()]
