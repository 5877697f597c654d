"""What the kernels must not hide: NaN and overflow, gradients that nobody has written, masks beyond numbers."""

from __future__ import annotations

from dataclasses import dataclass

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder import kernels
from mlxdecoder.attention import attention
from mlxdecoder.kernels.emulator import metal_kernel
from mlxdecoder.masks import Causal, Documents, Mask, Padding, Window

SHAPES = {"tiled": (10, 12), "decoded": (3, 12), "split": (2, 1_100)}


def draw(T: int, S: int) -> dict[str, mx.array]:
    random = np.random.default_rng(0)
    shapes = {"query": (1, 2, T, 16), "key": (1, 1, S, 16), "value": (1, 1, S, 16)}
    return {name: mx.array(random.standard_normal(shape).astype(np.float32)) for name, shape in shapes.items()}


def plain(operands: dict[str, mx.array], mask: Mask | mx.array | None = None) -> np.ndarray:
    with kernels.using("off"):
        return np.array(attention(**operands, mask=mask))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["query", "key", "value"])
@pytest.mark.parametrize("value", [np.nan, np.inf], ids=str)
def test_what_is_no_number_in_plain_mlx_is_none(where: str, shape: str, name: str, value: float) -> None:
    operands = draw(*SHAPES[shape])
    operands[name][0, 0, 1, 3] = value
    wanted = plain(operands, Causal())
    output, lse = kernels.attention_with_lse(**operands, mask=Causal())
    assert not np.isfinite(wanted).all()
    hidden = np.isfinite(np.array(output)) & ~np.isfinite(wanted)
    assert not hidden.any()
    if np.isnan(value):  # an infinite key may spoil more than in plain MLX, where it may come to weigh nothing
        np.testing.assert_array_equal(np.isfinite(np.array(output)), np.isfinite(wanted))
    if name != "value":
        blind = ~np.isfinite(wanted).all(axis=-1)
        assert not np.isfinite(np.array(lse))[blind].any()


def test_scores_that_overflow_are_not_rows_that_see_nothing(where: str) -> None:
    operands = draw(10, 12)
    operands |= {name: operands[name] * 1e25 for name in ("query", "key")}
    output, lse = kernels.attention_with_lse(**operands)
    assert np.isnan(np.array(output)).any()
    assert not np.isneginf(np.array(lse)).any()


@pytest.mark.parametrize("shape", ["tiled", "decoded"])
def test_a_gradient_of_what_is_no_number_is_none(where: str, shape: str) -> None:
    operands = draw(*SHAPES[shape])
    operands["query"][0, 0, 1, 3] = np.nan
    of_query, of_key, of_value = mx.grad(lambda *given: kernels.attention_with_lse(*given)[0].sum(), argnums=(0, 1, 2))(
        *operands.values()
    )
    assert np.isnan(np.array(of_query)[0, 0, 1]).all()
    assert np.isnan(np.array(of_key)).all() and np.isnan(np.array(of_value)).all()


def test_a_row_that_sees_nothing_gives_no_gradient_even_to_its_log_sum_exp(where: str) -> None:
    operands = draw(10, 6)  # the first four queries are before the first key

    def loss(query: mx.array, key: mx.array) -> mx.array:
        return (kernels.attention_with_lse(query, key, operands["value"], Causal())[1] ** 2)[..., 4:].sum()

    of_query, of_key = mx.grad(loss, argnums=(0, 1))(operands["query"], operands["key"])
    assert np.isfinite(np.array(of_key)).all()
    np.testing.assert_array_equal(np.array(of_query)[:, :, :4], 0)
    assert np.isfinite(np.array(of_query)).all()


def test_weights_that_are_watched_have_the_gradient_of_plain_mlx(where: str) -> None:
    operands = draw(10, 12)
    slope = mx.random.normal((1, 2, 10, 12), key=mx.random.key(1))

    def loss(query: mx.array, key: mx.array) -> mx.array:
        seen: dict[str, mx.array] = {}
        attention(query, key, operands["value"], Causal(), watch=seen.__setitem__)
        return (seen["weights"] * slope).sum()

    found = mx.grad(loss, argnums=(0, 1))(operands["query"], operands["key"])
    mx.eval(found)
    with kernels.using("off"):
        wanted = mx.grad(loss, argnums=(0, 1))(operands["query"], operands["key"])
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.array(ours), np.array(theirs), atol=2e-6)


def test_the_emulator_refuses_the_gradient_that_mlx_refuses() -> None:
    double = metal_kernel("double", ["x"], ["out"], "uint i = thread_position_in_grid.x;\nout[i] = x[i] * 2;")

    def loss(x: mx.array) -> mx.array:
        (out,) = double(
            inputs=[x], output_shapes=[(8,)], output_dtypes=[mx.float32], grid=(8, 1, 1), threadgroup=(8, 1, 1)
        )
        return out.sum()

    with pytest.raises(RuntimeError, match="Not implemented for CustomKernel"):
        mx.eval(mx.grad(loss)(mx.ones(8)))


@dataclass(frozen=True)
class EvenKeys(Mask):
    """A rule of one's own, which draws [T, S]."""

    def allowed(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        return np.broadcast_to(keys[None, :] % 2 == 0, (len(queries), len(keys)))


@pytest.mark.parametrize(
    "mask",
    [
        Documents(((0,) * 5 + (2**32,) * 7,)),
        Causal() & Window(2**40),
        Causal() & Window(2, 2**40),
        Causal() & Padding((5,), (2**31,)),
        EvenKeys(),
        Causal() & EvenKeys(),
    ],
    ids=str,
)
def test_masks_of_any_numbers_and_ranks_are_those_of_plain_mlx(where: str, mask: Mask) -> None:
    operands = draw(12, 12)
    output, _ = kernels.attention_with_lse(**operands, mask=mask)
    np.testing.assert_allclose(np.array(output), plain(operands, mask), atol=2e-6)


def test_a_growing_cache_needs_few_kernels() -> None:
    texts = set()
    for S in range(1, 16_385):
        step = kernels.plan.decode(kernels.shapes.Shape(1, 4, 4, 1, S, 64, 64, mx.float16))
        texts.add((tuple(step.sizes.items()), step.groups.count[0] == 1))
    assert len(texts) <= 6
