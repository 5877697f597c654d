"""Attention against float64 NumPy, forward and backward, on the explicit and on the fused path."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder.attention import attention
from mlxdecoder.errors import UserError
from mlxdecoder.masks import Causal, Documents, Mask, Padding
from mlxdecoder.recipe import Recipe
from tests import reference
from tests.builders import difference, masks, normal, numbers

MODULE = importlib.import_module("mlxdecoder.attention")  # the package has a function of that name


@dataclass(frozen=True)
class Operands:
    query: np.ndarray
    key: np.ndarray
    value: np.ndarray

    def arrays(self, dtype: mx.Dtype = mx.float32) -> list[mx.array]:
        return [mx.array(x).astype(dtype) for x in (self.query, self.key, self.value)]

    @property
    def score_shape(self) -> tuple[int, int, int, int]:
        return (*self.query.shape[:3], self.key.shape[2])


@st.composite
def operands(draw: Callable[..., Any]) -> Operands:
    B, Hkv, group = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 3))
    T, S = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    dh, dv = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    seed, size = draw(st.integers(0, 99)), draw(st.sampled_from([0.1, 1.0, 20.0]))
    query = normal(B, Hkv * group, T, dh, seed=seed) * np.float32(size)
    return Operands(query, normal(B, Hkv, S, dh, seed=seed + 1), normal(B, Hkv, S, dv, seed=seed + 2))


@st.composite
def boolean_arrays(draw: Callable[..., Any], shape: tuple[int, ...]) -> np.ndarray:
    """Random booleans that broadcast to the shape; some rows see nothing."""
    own = tuple(n if draw(st.booleans()) else 1 for n in shape)
    share = draw(st.sampled_from([0.2, 0.6, 0.9]))
    return np.random.default_rng(draw(st.integers(0, 99))).random(own) < share


def check_forward(operands: Operands, mask: Mask | mx.array | None, **truth: Any) -> None:
    found = attention(*operands.arrays(), mask)
    wanted = reference.attention(operands.query, operands.key, operands.value, **truth)
    np.testing.assert_allclose(numbers(found), wanted, atol=1e-5 * max(1, np.abs(operands.query).max()))


def on_both_paths(check: Callable[[], None]) -> None:
    for fused in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(MODULE, "ON_METAL", fused)
            check()


@settings(max_examples=60)
@given(st.data(), operands())
def test_mask_values_equal_numpy(data: st.DataObject, x: Operands) -> None:
    B, _, T, S = x.score_shape
    mask, rule = data.draw(masks(B, S))
    allowed = reference.grid(rule, B, range(S - T, S), range(S))
    on_both_paths(lambda: check_forward(x, mask, allowed=allowed))


@settings(max_examples=60)
@given(st.data(), operands())
def test_boolean_arrays_equal_numpy(data: st.DataObject, x: Operands) -> None:
    allowed = data.draw(boolean_arrays(x.score_shape))
    on_both_paths(lambda: check_forward(x, mx.array(allowed), allowed=allowed))


@settings(max_examples=40)
@given(st.data(), operands(), st.sampled_from([mx.float32, mx.float16, mx.bfloat16]))
def test_additive_arrays_equal_numpy(data: st.DataObject, x: Operands, dtype: mx.Dtype) -> None:
    """-inf blocks, and so does the lowest number of a type, of which many build their masks."""
    allowed = data.draw(boolean_arrays(x.score_shape))
    bias = mx.array(normal(*allowed.shape, seed=7)).astype(dtype)
    lowest = data.draw(st.sampled_from([-mx.inf, mx.finfo(dtype).min]))
    mask = mx.where(mx.array(allowed), bias, mx.array(lowest, dtype))
    on_both_paths(lambda: check_forward(x, mask, allowed=allowed, bias=numbers(bias)))


@settings(max_examples=10)
@given(operands())
def test_without_a_mask_everything_is_seen(x: Operands) -> None:
    on_both_paths(lambda: check_forward(x, None))


@settings(max_examples=50)
@given(st.data(), operands())
def test_gradients_equal_numpy(data: st.DataObject, x: Operands) -> None:
    allowed = data.draw(boolean_arrays(x.score_shape))
    upstream = normal(*x.query.shape[:3], x.value.shape[3], seed=5)

    def loss(*arrays: mx.array) -> mx.array:
        return (attention(*arrays, mx.array(allowed)) * mx.array(upstream)).sum()

    found = mx.grad(loss, argnums=(0, 1, 2))(*x.arrays())
    wanted = reference.attention_gradients(x.query, x.key, x.value, allowed, upstream)
    for gradient, truth in zip(found, wanted, strict=True):
        scale = max(1.0, float(np.abs(truth).max()), float(np.abs(x.query).max()))
        np.testing.assert_allclose(numbers(gradient), truth, atol=2e-5 * scale)


@settings(max_examples=30)
@given(operands(), st.sampled_from([mx.float32, mx.float16, mx.bfloat16]))
def test_rows_that_see_nothing_give_and_pass_on_zeros(x: Operands, dtype: mx.Dtype) -> None:
    allowed = np.ones(x.score_shape, dtype=bool)
    allowed[:, :, ::2] = False  # every other query
    allowed[..., -1] = False  # and the last key for all

    def loss(*arrays: mx.array) -> mx.array:
        return (attention(*arrays, mx.array(allowed)).astype(mx.float32) + 1).square().sum()

    def check() -> None:
        output = attention(*x.arrays(dtype), mx.array(allowed))
        assert output.dtype == dtype
        assert not numbers(output)[:, :, ::2].any()
        gradients = [numbers(g) for g in mx.grad(loss, argnums=(0, 1, 2))(*x.arrays(dtype))]
        assert all(np.isfinite(gradient).all() for gradient in gradients)
        assert not gradients[0][:, :, ::2].any()
        assert not gradients[1][:, :, -1].any()
        assert not gradients[2][:, :, -1].any()

    on_both_paths(check)


def test_a_row_of_very_low_scores_is_not_an_empty_row() -> None:
    """-1e9 for all keys shifts them alike, on every path and in every type, also where the type has no such number."""
    x = Operands(normal(1, 1, 2, 4), normal(1, 1, 3, 4, seed=1), normal(1, 1, 3, 4, seed=2))
    mask = mx.array([[[[-1e9] * 3, [0.0] * 3]]])

    def check() -> None:
        for dtype in (mx.float32, mx.float16):
            assert np.isfinite(numbers(attention(*x.arrays(dtype), mask))).all()

    on_both_paths(check)


@pytest.mark.parametrize("shape", [(1, 2, 3, 0), (2, 4, 1, 0)])
def test_no_keys_at_all_give_zeros(shape: tuple[int, int, int, int]) -> None:
    B, H, T, S = shape
    found = attention(mx.zeros((B, H, T, 4)), mx.zeros((B, H, S, 4)), mx.zeros((B, H, S, 5)))
    np.testing.assert_array_equal(numbers(found), np.zeros((B, H, T, 5)))


def test_no_queries_give_nothing() -> None:
    found = attention(mx.zeros((1, 2, 0, 4)), mx.zeros((1, 2, 3, 4)), mx.zeros((1, 2, 3, 5)), Causal())
    assert found.shape == (1, 2, 0, 5)


@settings(max_examples=20)
@given(operands(), st.sampled_from([mx.float16, mx.bfloat16]), st.sampled_from([1.0, 300.0]))
def test_half_types_stay_finite_and_near(x: Operands, dtype: mx.Dtype, size: float) -> None:
    query, key, value = x.arrays()
    operands = [(array * factor).astype(dtype) for array, factor in ((query, size), (key, size), (value, 1))]
    found = attention(*operands, Causal())
    assert found.dtype == dtype
    B, _, T, S = x.score_shape
    allowed = reference.grid(reference.causal, B, range(S - T, S), range(S))
    wanted = reference.attention(*(numbers(array) for array in operands), allowed)
    step = 2**-10 if dtype == mx.float16 else 2**-7
    np.testing.assert_allclose(numbers(found), wanted, atol=4 * step * np.abs(x.value).max())


@settings(max_examples=20)
@given(st.data(), operands())
def test_watching_shows_the_stages_and_changes_no_bit(data: st.DataObject, x: Operands) -> None:
    allowed = data.draw(boolean_arrays(x.score_shape))
    bias = normal(*x.score_shape, seed=3)
    mask = mx.where(mx.array(allowed), mx.array(bias), -mx.inf)

    def check() -> None:
        seen: dict[str, mx.array] = {}
        watched = attention(*x.arrays(), mask, watch=seen.__setitem__)
        np.testing.assert_array_equal(numbers(watched), numbers(attention(*x.arrays(), mask)))
        assert list(seen) == ["scores", "scaled", "masked", "weights", "context"]
        group = x.query.shape[1] // x.key.shape[1]
        scores = x.query.astype(np.float64) @ np.repeat(x.key, group, axis=1).swapaxes(-1, -2)
        assert difference(seen["scores"], scores) < 1e-5
        scaled = scores / np.sqrt(x.query.shape[-1]) + np.where(allowed, bias, 0)
        assert difference(seen["scaled"], scaled) < 1e-5
        seen_by_all = np.broadcast_to(allowed, x.score_shape)
        np.testing.assert_array_equal(numbers(seen["masked"]) == -np.inf, ~seen_by_all)
        np.testing.assert_array_equal(numbers(seen["masked"])[seen_by_all], numbers(seen["scaled"])[seen_by_all])
        wanted = reference.weights(x.query, x.key, allowed, bias)
        np.testing.assert_allclose(numbers(seen["weights"]), wanted, atol=2e-5)
        np.testing.assert_array_equal(numbers(seen["context"]), numbers(watched))

    on_both_paths(check)


def test_documents_of_queries_and_keys_may_differ() -> None:
    """Packed cross-attention: query 0 belongs to the first document, query 1 to the second."""
    value = mx.array([1.0, 2, 3, 4]).reshape(1, 1, 4, 1)
    mask = Documents(queries=((0, 1),), keys=((0, 0, 1, 1),))
    found = attention(mx.zeros((1, 1, 2, 1)), mx.zeros((1, 1, 4, 1)), value, mask)
    np.testing.assert_allclose(numbers(found).ravel(), [1.5, 3.5])


ROOM = mx.zeros((2, 4, 3, 8))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((ROOM[0], ROOM, ROOM), "query"),
        ((ROOM, ROOM[:1], ROOM), "key"),
        ((ROOM, ROOM[..., :4], ROOM), "key"),
        ((ROOM, mx.zeros((2, 3, 3, 8)), mx.zeros((2, 3, 3, 8))), "key"),
        ((ROOM, ROOM, ROOM[:, :, :2]), "value"),
        ((ROOM, ROOM, ROOM[:, :2]), "value"),
        ((ROOM, ROOM, ROOM, mx.ones((3, 3), dtype=mx.bool_)), "mask.*rank 4"),
        ((ROOM, ROOM, ROOM, mx.ones((2, 1, 3, 4), dtype=mx.bool_)), "mask"),
        ((ROOM, ROOM, ROOM, mx.ones((2, 2, 3, 3), dtype=mx.bool_)), "mask"),
        ((ROOM, ROOM, ROOM, mx.ones((2, 1, 3, 3))), "mask.*boolean.*additive"),
        ((ROOM, ROOM, ROOM, mx.zeros((2, 1, 3, 3), mx.int32)), "mask.*boolean.*additive"),
        ((ROOM, ROOM, ROOM, Padding.right([1, 2, 3], 3)), "mask"),
        ((ROOM[:1], ROOM[:1], ROOM[:1], Padding.right([1, 2, 3], 3)), "mask"),
    ],
)
def test_what_does_not_fit_is_named(arguments: tuple[Any, ...], name: str) -> None:
    with pytest.raises(UserError, match=name):
        attention(*arguments)


def test_no_path_mends_another_way_of_sharing_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Key heads tiled instead of repeated: wrong in stages, and as wrong where a fused kernel is at hand."""
    recipe = Recipe(share_heads=lambda x, n_heads: mx.concatenate([x] * (n_heads // x.shape[1]), axis=1))
    query, key, value = (mx.random.normal((1, heads, 5, 8)) for heads in (4, 2, 2))
    staged = attention(query, key, value, recipe=recipe)
    monkeypatch.setattr(MODULE, "ON_METAL", True)
    assert mx.array_equal(attention(query, key, value, recipe=recipe), staged).item()
    assert not mx.allclose(attention(query, key, value), staged, atol=0.1).item()


def test_another_scale_reaches_the_fused_path(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe(scale=lambda head_width: 1.0)
    query, key, value = (mx.random.normal((1, 2, 5, 8)) for _ in range(3))
    staged = attention(query, key, value, recipe=recipe)
    monkeypatch.setattr(MODULE, "ON_METAL", True)
    assert mx.allclose(attention(query, key, value, recipe=recipe), staged, atol=1e-5).item()
