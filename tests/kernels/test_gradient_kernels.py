"""The gradients of the kernels against float64 formulas, central differences, and plain MLX."""

from __future__ import annotations

from dataclasses import replace

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder import kernels
from mlxdecoder.attention import attention as explicit
from tests.builders import numbers
from tests.kernels import truth
from tests.kernels.cases import DECODED, HEADS, LAYOUTS, LENGTHS, LOUD, TILED, Case
from tests.kernels.measures import cotangents, gradients, wrong
from tests.kernels.views import VIEWS

HALF_TYPES = (mx.float16, mx.bfloat16)


def right(case: Case) -> None:
    assert wrong(gradients(case)) == []


@pytest.mark.parametrize("view", VIEWS)
def test_every_mask(where: str, view: str) -> None:
    right(Case(view))


@pytest.mark.parametrize("view", ["causal", "documents", "additive, blocked"])
def test_of_a_few_queries_that_were_decoded(where: str, view: str) -> None:
    right(Case(view, T=3))


@pytest.mark.parametrize("view", ["everything", "causal", "sinks"])
@pytest.mark.parametrize(("T", "S"), LENGTHS)
def test_every_length_of_queries_and_keys(where: str, T: int, S: int, view: str) -> None:
    right(Case(view, T=T, S=S))


@pytest.mark.parametrize(
    ("dk", "dv", "dtype"),
    [
        (8, 8, mx.float32),
        (32, 32, mx.float32),
        (64, 64, mx.float32),
        (128, 128, mx.float32),
        (16, 24, mx.float16),
        (64, 64, mx.float16),
        (256, 256, mx.float16),
        (16, 24, mx.bfloat16),
        (72, 24, mx.bfloat16),
    ],
    ids=str,
)
def test_widths_and_types(where: str, dk: int, dv: int, dtype: mx.Dtype) -> None:
    right(Case("causal", B=1, S=45, dk=dk, dv=dv, dtype=dtype))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", kernels.TYPES, ids=str)
@pytest.mark.parametrize("dk", range(8, 257, 8))
def test_really_every_width(where: str, dk: int, dtype: mx.Dtype) -> None:
    right(Case("causal", B=1, H=2, Hkv=1, S=45, dk=dk, dv=264 - dk, dtype=dtype))


@pytest.mark.parametrize(("B", "H", "Hkv"), HEADS)
def test_batches_and_heads_that_share_keys(where: str, B: int, H: int, Hkv: int) -> None:
    right(Case("padding left", B=B, H=H, Hkv=Hkv))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_operands_that_are_no_rows_in_memory(where: str, layout: str) -> None:
    right(Case("causal", layout=layout))


@pytest.mark.parametrize("dtype", kernels.TYPES, ids=str)
def test_logits_times_forty(where: str, dtype: mx.Dtype) -> None:
    """In float32 the rounding of the scores themselves, 2^-24 of the largest, is added to what is allowed."""
    right(Case("causal", dtype=dtype, strength=LOUD))


def test_a_scale_of_ones_own(where: str) -> None:
    right(Case("causal", scale=0.7))


@pytest.mark.parametrize("base", [TILED, DECODED], ids=("tiled", "decoded"))
def test_rows_and_keys_that_meet_nobody_have_gradients_of_zero(where: str, base: Case) -> None:
    for view in ("nobody sees", "padding on both sides", "additive, blocked"):
        case = replace(base, view=view)
        to_output, _ = cotangents(case)
        run = lambda *x, case=case: kernels.attention_with_lse(*x, case.seen.mask)[0]  # noqa: E731
        of_query, of_key, of_value = map(numbers, mx.vjp(run, [*case.operands], [to_output])[1])
        seen = np.isfinite(case.wanted.scores)
        lonely = ~seen.reshape(case.B, case.Hkv, -1, case.S).any(axis=2)
        assert (of_query[~seen.any(axis=-1)] == 0).all()
        assert (of_key[lonely] == 0).all() and (of_value[lonely] == 0).all()


def test_the_same_to_the_bit_each_time(where: str) -> None:
    case = Case("causal")
    to_output, to_lse = cotangents(case)
    run = lambda *x: kernels.attention_with_lse(*x, case.seen.mask)  # noqa: E731
    first, second = (mx.vjp(run, [*case.operands], [to_output, to_lse])[1] for _ in range(2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(numbers(one), numbers(other))


@pytest.mark.parametrize("view", ["everything", "sinks", "boolean", "additive"])
def test_formulas_and_kernels_are_what_central_differences_say(where: str, view: str) -> None:
    """The float64 formulas that the other tests rest on are held against differences too."""
    case = Case(view, B=1, H=2, Hkv=1, T=9, S=5, dk=8, dv=8)
    to_output, to_lse = map(numbers, cotangents(case))
    bias = np.zeros((1, 2, 9, 5)) if case.seen.bias is None else case.seen.bias

    def weighted(query: np.ndarray, key: np.ndarray, value: np.ndarray, bias: np.ndarray) -> float:
        found = truth.attention(query, key, value, case.seen.allowed, bias)
        lse = np.where(np.isneginf(found.lse), 0, found.lse)
        return float((found.output * to_output).sum() + (lse * to_lse).sum())

    operands = [*map(numbers, case.operands)]
    differences = dict(zip(("query", "key", "value", "bias"), truth.slopes(weighted, [*operands, bias]), strict=True))
    formulas = truth.gradients(*operands, case.wanted.weights, case.factor, to_output, to_lse)
    for name, found in differences.items():
        assert np.abs(found - formulas[name]).max() < 1e-8 * max(1, np.abs(found).max())
    right(case)


@pytest.mark.parametrize("view", ["everything", "causal", "padding on both sides", "boolean", "additive"])
def test_gradients_are_those_of_the_explicit_path_in_plain_mlx(where: str, view: str) -> None:
    case = Case(view, Hkv=1)
    to_output, _ = cotangents(case)

    def loss(query: mx.array, key: mx.array, value: mx.array) -> mx.array:
        return (explicit(query, key, value, case.seen.mask) * to_output).sum()

    with_kernels = mx.grad(loss, argnums=(0, 1, 2))(*case.operands)
    with kernels.using("off"):
        plain = mx.grad(loss, argnums=(0, 1, 2))(*case.operands)
        mx.eval(plain)
    for one, other in zip(with_kernels, plain, strict=True):
        assert np.abs(numbers(one) - numbers(other)).max() < 1e-5 * np.abs(numbers(other)).max()


def test_the_gradient_of_an_added_array_reaches_what_it_was_made_of(where: str) -> None:
    """As that of a table of relative positions does: one number for all rows and keys of a head."""
    case = Case("everything")
    to_output, to_lse = cotangents(case)
    slope = mx.array([0.1, -0.2, 0.3, 0.0])
    distance = mx.arange(case.S)[None, :] - mx.arange(case.T)[:, None]

    def loss(slope: mx.array) -> mx.array:
        bias = slope[None, :, None, None] * distance
        output, lse = kernels.attention_with_lse(*case.operands, bias)
        return (output * to_output).sum() + (lse * to_lse).sum()

    def exact(slope: np.ndarray) -> float:
        bias = slope[None, :, None, None] * numbers(distance)
        found = truth.attention(*map(numbers, case.operands), bias=bias)
        return float((found.output * numbers(to_output)).sum() + (found.lse * numbers(to_lse)).sum())

    (wanted,) = truth.slopes(exact, [numbers(slope)])
    np.testing.assert_allclose(numbers(mx.grad(loss)(slope)), wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())
