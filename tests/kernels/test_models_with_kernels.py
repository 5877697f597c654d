"""Models say the same with emulated kernels as in plain MLX: logits, gradients, caches, and what a watcher sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from mlx.utils import tree_flatten

from mlxdecoder import Layout, kernels
from mlxdecoder.kernels import launch
from mlxdecoder.masks import Documents, Padding
from tests.builders import POSITIONS, difference, ids, lively, numbers

Run = Callable[[], mx.array]


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels that were launched."""
    names: list[str] = []
    monkeypatch.setattr(launch, "observers", [lambda name, kernel: names.append(name)])
    return names


@pytest.fixture(autouse=True)
def place(where: str, launched: list[str]) -> Iterator[None]:
    """No test may pass because no kernel ran."""
    yield
    assert launched


def wide(architecture: str = "language_model", **changes: Any) -> Any:
    """A model whose heads are eight wide, which kernels take."""
    return lively(architecture, **{"d_model": 32, **changes})


def both_ways(run: Run) -> tuple[mx.array, mx.array]:
    """What it gives with kernels, and without."""
    with_kernels = run()
    mx.eval(with_kernels)
    with kernels.using("off"):
        plain = run()
        mx.eval(plain)
    return with_kernels, plain


def says_the_same(run: Run) -> None:
    with_kernels, plain = both_ways(run)
    assert difference(with_kernels, plain) < 1e-5


PADDED = Layout(target=Padding.right([12, 5], 12))
PACKED = Layout(target=Documents(((0,) * 5 + (1,) * 7, (0,) * 9 + (1,) * 3)))


@pytest.mark.parametrize("positions", POSITIONS)
def test_language_models_of_every_kind_of_positions(positions: str) -> None:
    model = wide(positions=positions)
    for layout in (Layout(), PADDED, Layout(target=Padding.left([12, 5], 12)), PACKED):
        says_the_same(lambda layout=layout: model(ids(2, 12), layout=layout))


@pytest.mark.parametrize(
    "changes", [{"window": 4}, {"n_kv_heads": 1}, {"n_kv_heads": 4}, {"head_width": 24}, {"norm": "post"}], ids=str
)
def test_windows_and_heads(changes: dict[str, Any]) -> None:
    model = wide(positions="rotary", **changes)
    says_the_same(lambda: model(ids(2, 12), layout=PADDED))


@pytest.mark.parametrize("layout", [Layout(), Layout(source=Padding.right([11, 3], 11))], ids=("even", "padded"))
def test_translators(layout: Layout) -> None:
    model = wide("translator")
    says_the_same(lambda: model(ids(2, 11), ids(2, 9, seed=1), layout))


def test_translators_of_packed_pairs() -> None:
    source, target = ((0,) * 6 + (1,) * 5, (0,) * 2 + (1,) * 9), ((0,) * 4 + (1,) * 5, (0,) * 8 + (1,))
    model = wide("translator", positions="relative")
    says_the_same(lambda: model(ids(2, 11), ids(2, 9, seed=1), Layout(Documents(source), Documents(target))))


def test_encoders() -> None:
    model = wide("encoder")
    says_the_same(lambda: model(ids(2, 11), Layout(source=Padding.left([11, 3], 11))))


@pytest.mark.parametrize("positions", ["rotary", "alibi", "learned"])
@pytest.mark.parametrize("limit", [None, 6], ids=("growing", "rotating"))
def test_generation_step_by_step_over_caches(positions: str, limit: int | None) -> None:
    model, tokens = wide(positions=positions), ids(2, 15)
    layout = Layout(target=Padding.left([9, 4], 9))

    def run() -> mx.array:
        cache = model.make_cache(limit)
        parts = [model(tokens[:, begin:end], cache, layout) for begin, end in ((0, 9), (9, 10), (10, 11), (11, 15))]
        return mx.concatenate(parts, axis=1)

    says_the_same(run)


def test_a_window_rotates_its_cache() -> None:
    model, tokens = wide(positions="rotary", window=5), ids(2, 15)

    def run() -> mx.array:
        cache = model.make_cache()
        return mx.concatenate([model(tokens[:, t : t + 1], cache) for t in range(15)], axis=1)

    says_the_same(run)


def test_translating_over_caches() -> None:
    model, target = wide("translator"), ids(2, 6, seed=1)

    def run() -> mx.array:
        memory, cache = model.encode(ids(2, 11), Layout(source=Padding.right([11, 3], 11))), model.make_cache()
        return mx.concatenate([model.decode(target[:, t : t + 1], memory, cache) for t in range(6)], axis=1)

    says_the_same(run)


@pytest.mark.parametrize("positions", POSITIONS)
def test_gradients_of_every_parameter(positions: str, launched: list[str]) -> None:
    model = wide(positions=positions)

    def loss() -> mx.array:
        return (model(ids(2, 12), layout=PADDED) * mx.cos(mx.arange(24))).sum()

    gradients = nn.value_and_grad(model, loss)
    with_kernels = dict(tree_flatten(gradients()[1]))
    mx.eval(with_kernels)
    assert {"forward", "backward_query", "backward_key"} <= set(launched)
    with kernels.using("off"):
        plain = dict(tree_flatten(gradients()[1]))
        mx.eval(plain)
    largest = max(float(mx.abs(gradient).max()) for gradient in plain.values())
    for name, gradient in plain.items():
        assert float(mx.abs(gradient - with_kernels[name]).max()) < 1e-4 * largest, name


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16], ids=str)
def test_half_types(dtype: mx.Dtype) -> None:
    model = wide(positions="rotary")
    model.set_dtype(dtype)
    with_kernels, plain = both_ways(lambda: model(ids(2, 12), layout=PADDED))
    assert with_kernels.dtype == dtype
    assert difference(with_kernels, plain) < 8 * (2e-3 if dtype == mx.float16 else 1.6e-2)  # eight roundings or so


@pytest.mark.parametrize("positions", ["rotary", "relative"])
def test_watching_shows_the_same_and_changes_no_output(positions: str, launched: list[str]) -> None:
    model = wide(positions=positions)
    shown: dict[str, dict[str, np.ndarray]] = {"with": {}, "without": {}}

    def run(side: str) -> mx.array:
        return model(ids(2, 12), layout=PADDED, watch=lambda name, x: shown[side].update({name: numbers(x)}))

    watched = run("with")
    np.testing.assert_array_equal(numbers(watched), numbers(model(ids(2, 12), layout=PADDED)))
    assert "weights" in launched
    with kernels.using("off"):
        run("without")
    assert shown["with"].keys() == shown["without"].keys()
    for name, plain in shown["without"].items():
        found = shown["with"][name]
        np.testing.assert_array_equal(np.isfinite(found), np.isfinite(plain))
        finite = np.isfinite(plain)
        np.testing.assert_allclose(found[finite], plain[finite], atol=2e-5, rtol=1e-4, err_msg=name)


def test_rows_that_see_nothing(launched: list[str]) -> None:
    model = wide()
    says_the_same(lambda: model(ids(2, 12), layout=Layout(target=Padding.left([12, 0], 12))))


def test_dropped_weights_are_left_to_plain_mlx(launched: list[str]) -> None:
    model = wide(attention_dropout=0.5)
    model(ids(2, 12))
    assert launched == ["forward", "forward"]  # a layer each
    model.train()
    model(ids(2, 12))
    assert launched == ["forward", "forward"]
