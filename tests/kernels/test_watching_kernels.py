"""Weights of chosen heads and rows, and what they add up to, against float64."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder import kernels
from mlxdecoder.masks import Causal
from tests.builders import numbers
from tests.kernels.cases import LAYOUTS, LOUD, Case
from tests.kernels.measures import mass, weights, wrong
from tests.kernels.views import VIEWS

pytestmark = pytest.mark.usefixtures("where")


@pytest.mark.parametrize("view", VIEWS)
def test_weights_under_every_mask(view: str) -> None:
    assert wrong(weights(Case(view))) == []


@pytest.mark.parametrize("intended", ["everything", "causal", "rotating cache", "documents, shuffled", "boolean"])
@pytest.mark.parametrize("view", ["everything", "padding on both sides", "documents", "additive, blocked"])
def test_mass_outside_every_kind_of_intended_mask(view: str, intended: str) -> None:
    assert wrong(mass(Case(view), intended)) == []


@pytest.mark.parametrize(
    ("heads", "rows"), [(None, [20]), ([3], None), ([3, 0], [20, 0, 7]), ([1], [4] * 9), ([2, 2, 1], range(17))]
)
def test_chosen_heads_and_rows_come_in_the_order_asked_for(heads: list[int] | None, rows: list[int] | None) -> None:
    case = Case("causal")
    assert wrong([*weights(case, heads, rows), *mass(case, "window", heads, rows)]) == []


@pytest.mark.parametrize(("width", "dtype"), [(8, mx.bfloat16), (64, mx.float32), (256, mx.float16)], ids=str)
def test_widths_and_types(width: int, dtype: mx.Dtype) -> None:
    case = Case("causal", dk=width, dtype=dtype)
    assert wrong([*weights(case, [0, 3]), *mass(case, "window", [0, 3])]) == []


@pytest.mark.parametrize("layout", LAYOUTS)
def test_operands_that_are_no_rows_in_memory(layout: str) -> None:
    case = Case("causal", layout=layout)
    assert wrong([*weights(case), *mass(case, "window")]) == []


@pytest.mark.parametrize(("T", "S"), [(1, 1), (3, 1), (1, 300), (45, 65), (7, 520)])
def test_lengths(T: int, S: int) -> None:
    case = Case("causal", T=T, S=S)
    assert wrong([*weights(case), *mass(case, "window")]) == []


def test_logits_times_forty() -> None:
    case = Case("causal", strength=LOUD)
    assert wrong([*weights(case), *mass(case, "window")]) == []


def test_weights_of_the_log_sum_exp_that_attention_gave_add_up_to_one() -> None:
    case = Case("causal", T=45, S=40)
    query, key, _ = case.operands
    _, lse = kernels.attention_with_lse(*case.operands, case.seen.mask)
    found = numbers(kernels.attention_weights(query, key, lse, mask=Causal()))
    whole, outside = kernels.attention_mass(query, key, lse, Causal(), mask=Causal())
    sees = np.arange(45) >= 5
    np.testing.assert_allclose(found.sum(axis=-1), np.broadcast_to(sees, (2, 4, 45)), atol=1e-5)
    np.testing.assert_allclose(numbers(whole), np.broadcast_to(sees, (2, 4, 45)), atol=1e-5)
    assert (numbers(outside) == 0).all()
