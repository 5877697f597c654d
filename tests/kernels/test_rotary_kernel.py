"""Rotary positions by a kernel against complex numbers in float64, and against the library's plain MLX."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder.positions import Rotation, rotate
from tests.builders import normal, numbers
from tests.kernels.cases import LAYOUTS, laid_out
from tests.kernels.measures import rotary, wrong

pytestmark = pytest.mark.usefixtures("where")
SHAPES = ((1, 2, 1, 8), (2, 4, 7, 16), (3, 2, 33, 64), (1, 8, 5, 6), (2, 2, 9, 256))


def angles(*shape: int) -> np.ndarray:
    return 20 * normal(*shape, seed=3).astype(float)


@pytest.mark.parametrize(
    ("shape", "dtype"), [*((shape, mx.float32) for shape in SHAPES), (SHAPES[1], mx.float16), (SHAPES[1], mx.bfloat16)]
)
def test_queries_and_keys_are_turned_and_gradients_turned_back(shape: tuple[int, ...], dtype: mx.Dtype) -> None:
    B, _, T, width = shape
    assert wrong(rotary(dtype, lambda x: x, angles(T, width // 2), shape)) == []
    assert wrong(rotary(dtype, lambda x: x, angles(B, 1, T, width // 2), shape)) == []


@pytest.mark.parametrize("layout", LAYOUTS)
def test_operands_that_are_no_rows_in_memory(layout: str) -> None:
    assert wrong(rotary(mx.float32, lambda x: laid_out(x, layout), angles(2, 1, 7, 8), (2, 4, 7, 16))) == []


def test_it_is_what_the_library_computes_in_plain_mlx_with_its_gradient() -> None:
    query, key = mx.array(normal(2, 4, 7, 16)), mx.array(normal(2, 1, 7, 16, seed=1))
    waves = [mx.array(wave(angles(7, 8)).astype(np.float32)) for wave in (np.cos, np.sin)]
    turned = Rotation(*waves).both(query, key)
    for one, x in zip(turned, (query, key), strict=True):
        np.testing.assert_allclose(numbers(one), numbers(rotate(x, *waves)), atol=1e-6)

    def loss(query: mx.array, key: mx.array) -> mx.array:
        return sum((x**3).sum() for x in Rotation(*waves).both(query, key))

    def plain(query: mx.array, key: mx.array) -> mx.array:
        return sum((rotate(x, *waves) ** 3).sum() for x in (query, key))

    found, wanted = (mx.grad(one, argnums=(0, 1))(query, key) for one in (loss, plain))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(numbers(one), numbers(other), atol=1e-4)
