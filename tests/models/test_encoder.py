"""The encoder: what it makes of images, and one vector of many states."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder.errors import UserError
from mlxdecoder.ids import pad_left, pad_right
from mlxdecoder.masks import Padding
from mlxdecoder.models import cut_patches
from mlxdecoder.recipe import Layout
from tests.builders import difference, ids, normal, numbers, rows_of, small

IMAGES: dict[str, Any] = {"image_size": 6, "patch_size": 2, "image_channels": 3}


class TestPooling:
    @pytest.mark.parametrize("pooling", ["cls", "mean"])
    @pytest.mark.parametrize("side", ["left", "right"])
    def test_ignores_padding(self, pooling: str, side: str) -> None:
        model, rows = small("encoder", pooling=pooling, n_classes=3), rows_of([6, 2])
        layout = Layout(source=(Padding.left if side == "left" else Padding.right)([6, 2], 6))
        found = model((pad_left if side == "left" else pad_right)(rows, 0), layout)
        assert found.shape == (2, 3)
        assert difference(found[1], model(rows[1:])[0]) < 1e-5

    def test_takes_the_first_token_or_the_mean(self) -> None:
        tokens = ids(2, 5)
        states = numbers(small("encoder")(tokens))
        assert difference(small("encoder", pooling="cls")(tokens), states[:, 0]) < 1e-6
        assert difference(small("encoder", pooling="mean")(tokens), states.mean(axis=1)) < 1e-5

    @pytest.mark.parametrize("pooling", ["cls", "mean"])
    def test_keeps_half_types(self, pooling: str) -> None:
        model = small("encoder", pooling=pooling, n_classes=3)
        model.set_dtype(mx.float16)
        assert model(ids(2, 4)).dtype == mx.float16


class TestImages:
    def test_patches_are_squares_row_by_row(self) -> None:
        images = normal(2, 6, 4, 3)
        found = numbers(cut_patches(mx.array(images), 2))
        assert found.shape == (2, 6, 12)
        for b, row, column in np.ndindex(2, 3, 2):
            square = images[b, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
            np.testing.assert_array_equal(found[b, 2 * row + column], square.ravel())

    @pytest.mark.parametrize(("pooling", "shape"), [("none", (2, 9, 16)), ("cls", (2, 16)), ("mean", (2, 16))])
    def test_shapes(self, pooling: str, shape: tuple[int, ...]) -> None:
        assert small("encoder", pooling=pooling, **IMAGES)(normal(2, 6, 6, 3)).shape == shape

    @pytest.mark.parametrize("pooling", ["cls", "mean"])
    def test_classes_depend_on_every_pixel_and_on_no_other_image(self, pooling: str) -> None:
        model, images = small("encoder", pooling=pooling, n_classes=4, **IMAGES), normal(2, 6, 6, 3)
        before = numbers(model(images))
        assert before.shape == (2, 4)
        for row, column in ((0, 0), (2, 5), (5, 3)):
            changed = images.copy()
            changed[0, row, column, 1] += 3
            after = numbers(model(changed))
            assert np.abs(before[0] - after[0]).max() > 1e-5
            np.testing.assert_array_equal(before[1], after[1])

    @pytest.mark.parametrize("shape", [(6, 6, 3), (2, 3, 6, 6), (2, 6, 4, 3), (2, 6, 6, 1)])
    def test_other_shapes_are_refused(self, shape: tuple[int, ...]) -> None:
        with pytest.raises(UserError, match=r"images: .*batch, 6, 6, 3"):
            small("encoder", **IMAGES)(np.zeros(shape, np.float32))

    def test_half_types(self) -> None:
        model = small("encoder", pooling="cls", n_classes=4, **IMAGES)
        model.set_dtype(mx.float16)
        assert model(normal(1, 6, 6, 3)).dtype == mx.float16
