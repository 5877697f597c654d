"""Output and log-sum-exp against float64, over shapes, masks, types and layouts."""

from __future__ import annotations

from dataclasses import replace

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder import kernels
from tests.builders import difference, normal, numbers
from tests.kernels.cases import DECODED, HEADS, LAYOUTS, LENGTHS, LOUD, TILED, WIDTHS, Case
from tests.kernels.measures import attention, splits, wrong
from tests.kernels.views import VIEWS

pytestmark = pytest.mark.usefixtures("where")

HALF_TYPES = (mx.float16, mx.bfloat16)
BOTH = pytest.mark.parametrize("base", [TILED, DECODED], ids=("tiled", "decoded"))


def right(case: Case) -> None:
    assert wrong(attention(case)) == []


@pytest.mark.parametrize("view", VIEWS)
@BOTH
def test_every_mask_says_what_its_rule_says(base: Case, view: str) -> None:
    right(replace(base, view=view))


@pytest.mark.parametrize("view", ["causal", "documents", "boolean", "additive, blocked"])
@BOTH
def test_masks_in_half_types(base: Case, view: str) -> None:
    right(replace(base, view=view, dtype=mx.float16))


@pytest.mark.parametrize("view", ["everything", "causal", "sinks", "padding on both sides"])
@pytest.mark.parametrize(("T", "S"), LENGTHS)
def test_every_length_of_queries_and_keys(T: int, S: int, view: str) -> None:
    right(Case(view, T=T, S=S))


@pytest.mark.parametrize(("dk", "dv", "dtype"), WIDTHS, ids=str)
@BOTH
def test_widths_and_types(base: Case, dk: int, dv: int, dtype: mx.Dtype) -> None:
    right(replace(base, view="causal", B=1, H=2, Hkv=1, S=45, dk=dk, dv=dv, dtype=dtype))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", kernels.TYPES, ids=str)
@pytest.mark.parametrize("dk", range(8, 257, 8))
@BOTH
def test_really_every_width(base: Case, dk: int, dtype: mx.Dtype) -> None:
    right(replace(base, view="causal", B=1, H=2, Hkv=1, S=45, dk=dk, dv=264 - dk, dtype=dtype))


@pytest.mark.parametrize(("B", "H", "Hkv"), HEADS)
@pytest.mark.parametrize("view", ["causal", "padding left", "boolean", "additive"])
@BOTH
def test_batches_and_heads_that_share_keys(base: Case, view: str, B: int, H: int, Hkv: int) -> None:
    right(replace(base, view=view, B=B, H=H, Hkv=Hkv))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [mx.float32, mx.float16], ids=str)
@BOTH
def test_operands_that_are_no_rows_in_memory(base: Case, layout: str, dtype: mx.Dtype) -> None:
    right(replace(base, view="causal", layout=layout, dtype=dtype))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dtype", kernels.TYPES, ids=str)
@pytest.mark.parametrize("view", ["causal", "additive, blocked"])
@BOTH
def test_logits_times_forty(base: Case, view: str, dtype: mx.Dtype, seed: int) -> None:
    """In float32 the rounding of the scores themselves, 2^-24 of the largest, is added to what is allowed."""
    right(replace(base, view=view, dtype=dtype, strength=LOUD, seed=seed))


@BOTH
def test_a_scale_of_ones_own(base: Case) -> None:
    right(replace(base, view="causal", scale=0.7))


@pytest.mark.parametrize("view", ["everything", "sinks", "rotating cache", "padding left"])
@pytest.mark.parametrize(("T", "S"), [(1, 1024), (2, 1100), (5, 1537), (8, 2063)])
def test_long_caches_are_split_and_put_together(T: int, S: int, view: str) -> None:
    right(Case(view, B=1, H=2, Hkv=1, T=T, S=S, dv=16))


@pytest.mark.parametrize("view", ["documents", "boolean", "additive, blocked"])
def test_long_caches_with_documents_and_arrays(view: str) -> None:
    right(Case(view, B=1, H=2, Hkv=1, T=5, S=1537, dv=16))


@pytest.mark.parametrize("T", range(1, 9))
def test_one_to_eight_queries_over_a_long_cache(T: int) -> None:
    right(Case("rotating cache, padding", T=T, S=1100, dv=16, dtype=mx.float16))


@pytest.mark.parametrize(("n_splits", "width"), [(1, 8), (2, 40), (5, 72), (31, 8), (32, 40)])
def test_splits_weigh_as_much_as_their_keys(n_splits: int, width: int) -> None:
    assert wrong(splits(n_splits, width)) == []
    assert wrong(splits(n_splits, width, strength=1000)) == []


@pytest.mark.parametrize("dtype", HALF_TYPES, ids=str)
def test_splits_in_half_types(dtype: mx.Dtype) -> None:
    assert wrong(splits(5, 40, dtype)) == []


@pytest.mark.parametrize("T", [3, 21])
def test_float16_at_the_edge_of_overflow(T: int) -> None:
    """Scores of 300 * 300 * 64 / 8 are no float16, nor are sums of values near its end: all keys weigh the same."""
    query, key = mx.full((1, 2, T, 64), 300, mx.float16), mx.full((1, 1, 40, 64), 300, mx.float16)
    value = mx.array(60_000 + 100 * normal(1, 1, 40, 64)).astype(mx.float16)
    output, lse = kernels.attention_with_lse(query, key, value)
    mean = np.broadcast_to(numbers(value).astype(float).mean(axis=2, keepdims=True), output.shape)
    assert difference(output, mean) < 2e-3
    assert difference(lse, np.full(lse.shape, 720_000 + np.log(40))) < 5e-6


@BOTH
def test_rows_that_see_nothing_give_zeros_and_minus_infinity(base: Case) -> None:
    for view in ("nobody sees", "boolean", "additive, blocked"):
        case = replace(base, view=view)
        output, lse = (numbers(x) for x in kernels.attention_with_lse(*case.operands, case.seen.mask))
        blind = np.isneginf(case.wanted.scores).all(axis=-1)
        assert blind.any()
        assert (output[blind] == 0).all() and np.isneginf(lse[blind]).all()


@pytest.mark.parametrize("base", [TILED, DECODED, Case(T=2, S=1100)], ids=("tiled", "decoded", "split"))
def test_the_result_is_the_same_to_the_bit_each_time(base: Case) -> None:
    case = replace(base, view="causal")
    first, second = (kernels.attention_with_lse(*case.operands, case.seen.mask) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(numbers(one), numbers(other))


@BOTH
def test_what_a_query_does_not_see_changes_nothing(base: Case) -> None:
    case = replace(base, view="causal")
    query, key, value = case.operands
    spoilt = [mx.concatenate([x[:, :, :-1], mx.full((*x.shape[:2], 1, x.shape[3]), 7.0)], axis=2) for x in (key, value)]
    for one, other in zip(
        kernels.attention_with_lse(query, key, value, case.seen.mask),
        kernels.attention_with_lse(query, *spoilt, case.seen.mask),
        strict=True,
    ):
        np.testing.assert_array_equal(numbers(one)[:, :, :-1], numbers(other)[:, :, :-1])
