"""The adapter of the three libraries."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder.contracts.arrays import Library, find_library, library_of, to_numpy
from mlxdecoder.errors import UserError

x = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("name", ["mlx", "numpy", "torch"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.int64, np.bool_])
def test_what_goes_in_comes_out(name: Any, dtype: type) -> None:
    if name == "torch":
        pytest.importorskip("torch")
    given = (x % 2).astype(dtype)
    there = Library(name).array(given)
    assert library_of(there) == name
    back = to_numpy(there)
    np.testing.assert_array_equal(back, given)
    assert back.dtype.kind == given.dtype.kind


def test_a_function_that_writes_into_its_arguments_spoils_nothing() -> None:
    given = x.copy()
    Library("numpy").array(given)[:] = -1
    np.testing.assert_array_equal(given, x)


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16, mx.float32])
def test_floats_of_mlx_become_float64(dtype: mx.Dtype) -> None:
    back = to_numpy(mx.array(x).astype(dtype))
    assert back.dtype == np.float64
    np.testing.assert_array_equal(back, x)


def test_torch_tensors_of_any_kind() -> None:
    torch = pytest.importorskip("torch")
    for tensor in (torch.tensor(x, requires_grad=True), torch.tensor(x).bfloat16(), torch.tensor(x).half()):
        np.testing.assert_array_equal(to_numpy(tensor), x)


def test_ids_are_the_integers_that_embeddings_take() -> None:
    assert Library("mlx").array(np.array([1], np.int64)).dtype == mx.int32
    torch = pytest.importorskip("torch")
    assert Library("torch").array(np.array([1], np.int32)).dtype == torch.int64


def test_nested_lists_become_numpy() -> None:
    np.testing.assert_array_equal(to_numpy([[1.0, 2.0], [3.0, 4.0]]), [[1, 2], [3, 4]])


def test_an_mlx_function_is_found() -> None:
    assert find_library(lambda library: mx.softmax(library.array(x), axis=-1)).name == "mlx"


def test_a_numpy_function_is_found_though_it_takes_mlx_arrays_too() -> None:
    def half_works(library: Library) -> Any:
        return np.exp(library.array(x))

    assert isinstance(half_works(Library("mlx")), np.ndarray)
    assert find_library(half_works).name == "numpy"


def test_a_torch_function_is_found() -> None:
    torch = pytest.importorskip("torch")
    assert find_library(lambda library: torch.softmax(library.array(x), dim=-1)).name == "torch"


def test_the_first_array_of_an_answer_tells() -> None:
    assert find_library(lambda library: (np.exp(library.array(x)), None)).name == "numpy"


def test_an_answer_in_lists_is_good_enough() -> None:
    assert find_library(lambda library: library.array(x).tolist(), "numpy").name == "numpy"


def test_what_is_wanted_is_taken() -> None:
    assert find_library(lambda library: library.array(x), "numpy").name == "numpy"


def test_all_refusals_are_told() -> None:
    def refuses(library: Library) -> Any:
        raise RuntimeError(f"no {library.name} here")

    with pytest.raises(UserError, match=r"RuntimeError: no mlx here; numpy: RuntimeError: no numpy here"):
        find_library(refuses)


def test_an_unknown_library_is_refused() -> None:
    with pytest.raises(UserError, match="arrays = 'jax': one of mlx, numpy, torch is wanted"):
        find_library(lambda library: x, "jax")


def test_torch_is_not_imported_for_a_function_that_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    find_library(lambda library: tried.append(library.name) or mx.array(x))
    assert tried == ["mlx"]
