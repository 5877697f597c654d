"""MLX's own kernels in the emulator: they agree with float64 NumPy, and nothing is found wrong with them.

They are good code that nobody here wrote: an alarm would be a false one, and a wrong number the fault of the emulator.
"""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder.kernels.emulator import static_check
from mlxdecoder.kernels.emulator.compilers import available
from tests.kernels import mlx_attention, mlx_headers, mlx_metal
from tests.kernels.mlx_attention import Attention
from tests.kernels.mlx_metal import Launch

pytestmark = pytest.mark.skipif(available() is not None, reason=available() or "")

# Relative to the largest output.
TOLERANCE = {mx.float32: 1e-6, mx.float16: 1e-3, mx.bfloat16: 8e-3}


def numbers(*shape: int, dtype: mx.Dtype = mx.float32, seed: int = 0) -> mx.array:
    return mx.array(np.random.default_rng(seed).standard_normal(shape).astype(np.float32)).astype(dtype)


def attention(
    B: int = 1,
    H: int = 2,
    Hkv: int = 2,
    T: int = 1,
    S: int = 40,
    d: int = 64,
    dtype: mx.Dtype = mx.float32,
    **more: Any,
) -> Attention:
    """An attention of random numbers; `mask` may be "boolean" or "added", `sinks` true."""
    mask, sinks = more.pop("mask", None), more.pop("sinks", False)
    return Attention(
        numbers(B, H, T, d, dtype=dtype, seed=1),
        numbers(B, Hkv, S, d, dtype=dtype, seed=2),
        numbers(B, Hkv, S, d, dtype=dtype, seed=3),
        scale=more.pop("scale", d**-0.5),
        mask=None if mask is None else mask_of(mask, (B, H, T, S), dtype),
        sinks=numbers(H, dtype=dtype, seed=5) if sinks else None,
        **more,
    )


def mask_of(kind: str, shape: tuple[int, ...], dtype: mx.Dtype) -> mx.array:
    """Half of the keys may be seen, the first always, since MLX's kernels differ on rows that see nothing."""
    added = numbers(*shape, dtype=dtype, seed=4)
    allowed = (added > 0) | (mx.arange(shape[-1]) == 0)
    return allowed if kind == "boolean" else added


def truth(a: Attention) -> np.ndarray:
    q, k, v = (wide(array) for array in (a.q, a.k, a.v))
    k, v = (np.repeat(array, a.n_sharing, axis=1) for array in (k, v))
    T, S = q.shape[2], k.shape[2]
    scores = q @ k.swapaxes(-1, -2) * a.scale  # [B, H, T, S]
    if a.causal:
        scores = np.where(np.arange(S) <= np.arange(T)[:, None] + S - T, scores, -np.inf)
    if a.mask is not None:
        mask = wide(a.mask)
        scores = np.where(mask > 0, scores, -np.inf) if a.has_boolean_mask else scores + mask
    sinks = np.full(q.shape[1], -np.inf) if a.sinks is None else wide(a.sinks)
    top = np.maximum(scores.max(-1, keepdims=True), sinks[:, None, None])
    raised = np.exp(scores - top)
    return raised @ v / (raised.sum(-1, keepdims=True) + np.exp(sinks[:, None, None] - top))


def wide(array: mx.array) -> np.ndarray:
    return np.array(array.astype(mx.float32), np.float64)


def assert_close(found: mx.array, wanted: np.ndarray) -> None:
    furthest = np.abs(wide(found) - wanted).max() / np.abs(wanted).max()
    assert furthest < TOLERANCE[found.dtype]


def in_one_pass(a: Attention) -> mx.array:
    (output,), _ = mlx_metal.run(mlx_attention.vector_attention(a))
    return output


def in_two_passes(a: Attention, chip: str = "g") -> mx.array:
    (partial, sums, maxima), _ = mlx_metal.run(mlx_attention.first_pass(a, mlx_attention.n_blocks(a, chip)))
    (output,), _ = mlx_metal.run(mlx_attention.second_pass(partial, sums, maxima))
    return output


def in_tiles(a: Attention) -> mx.array:
    (output,), _ = mlx_metal.run(mlx_attention.tiled_attention(a))
    return output.swapaxes(1, 2)


needs_headers = pytest.mark.skipif(not mlx_headers.folder().exists(), reason=mlx_headers.NOT_CACHED)


@pytest.fixture(scope="module")
def fetched() -> None:
    """Skips where the headers cannot be fetched."""
    try:
        mlx_headers.fetch()
    except mlx_headers.NotThere as reason:
        pytest.skip(str(reason))


FEW_QUERIES: dict[str, dict[str, Any]] = {
    "one query": {},
    "one key": {"S": 1},
    "grouped heads": {"B": 2, "H": 4, "T": 2, "S": 45},
    "causal, 16 bits": {"T": 3, "S": 37, "causal": True, "dtype": mx.float16},
    "boolean mask": {"T": 2, "mask": "boolean", "dtype": mx.bfloat16},
    "added mask": {"T": 2, "S": 70, "mask": "added", "d": 128},
    "added mask, 16 bits": {"T": 2, "mask": "added", "dtype": mx.float16},
    "sinks": {"H": 4, "sinks": True},
    "sinks, 16 bits": {"T": 8, "sinks": True, "causal": True, "dtype": mx.bfloat16, "d": 96},
    "sharp": {"T": 2, "scale": 5.0, "dtype": mx.float16},
}
MANY_QUERIES: dict[str, dict[str, Any]] = {
    "whole tiles": {"T": 64, "S": 64},
    "ragged": {"T": 40, "S": 45, "H": 4},
    "fewer keys than queries": {"T": 33, "S": 9},
    "causal, 16 bits": {"T": 64, "S": 64, "causal": True, "dtype": mx.float16, "d": 128},
    "causal, ragged, more keys": {"T": 37, "S": 70, "causal": True},
    "boolean mask": {"B": 2, "T": 33, "S": 40, "mask": "boolean", "dtype": mx.bfloat16},
    "added mask": {"T": 20, "S": 32, "mask": "added", "d": 80},
    "sinks": {"T": 20, "S": 32, "sinks": True, "d": 72},
    "sharp": {"T": 32, "S": 40, "scale": 5.0, "dtype": mx.float16},
}


@needs_headers
def test_vector_attention_with_grouped_heads_and_sinks() -> None:
    a = attention(H=4, T=2, S=45, sinks=True)
    assert_close(in_one_pass(a), truth(a))


@needs_headers
def test_attention_in_two_passes_with_a_mask() -> None:
    a = attention(T=2, mask="boolean", dtype=mx.bfloat16)
    assert_close(in_two_passes(a), truth(a))


@needs_headers
def test_tiled_attention_on_ragged_lengths() -> None:
    a = attention(H=2, Hkv=1, T=40, S=45, causal=True, dtype=mx.float16)
    assert_close(in_tiles(a), truth(a))


@pytest.mark.slow
@pytest.mark.parametrize("case", FEW_QUERIES)
def test_vector_attention(case: str, fetched: None) -> None:
    a = attention(**FEW_QUERIES[case])
    assert_close(in_one_pass(a), truth(a))


@pytest.mark.slow
@pytest.mark.parametrize("chip", ["g", "d"])
@pytest.mark.parametrize("case", FEW_QUERIES)
def test_attention_in_two_passes(case: str, chip: str, fetched: None) -> None:
    a = attention(**FEW_QUERIES[case])
    assert_close(in_two_passes(a, chip), truth(a))


@pytest.mark.slow
@pytest.mark.parametrize("case", MANY_QUERIES)
def test_tiled_attention(case: str, fetched: None) -> None:
    a = attention(**MANY_QUERIES[case])
    assert_close(in_tiles(a), truth(a))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("width", [1, 32, 130])
def test_softmax(width: int, dtype: mx.Dtype, fetched: None) -> None:
    scores = numbers(6, width, dtype=dtype) * 5
    (weights,), _ = mlx_metal.run(mlx_metal.softmax(scores))
    raised = np.exp(wide(scores))
    assert_close(weights, raised / raised.sum(-1, keepdims=True))


@pytest.mark.slow
@pytest.mark.parametrize("chip", ["g", "s"])
@pytest.mark.parametrize("b_is_transposed", [False, True])
def test_product(b_is_transposed: bool, chip: str, fetched: None) -> None:
    a, b = numbers(2, 70, 40, dtype=mx.float16), numbers(2, 40, 50, dtype=mx.float16, seed=1)
    given = mx.contiguous(b.swapaxes(1, 2)) if b_is_transposed else b
    (output,), _ = mlx_metal.run(mlx_metal.product(a, given, b_is_transposed, chip))
    assert_close(output, wide(a) @ wide(b))


@pytest.mark.slow
@pytest.mark.skipif(static_check.available() is not None, reason=static_check.available() or "")
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_the_static_check_finds_nothing_in_the_vector_kernels_and_softmax(dtype: mx.Dtype, fetched: None) -> None:
    a = attention(dtype=dtype)
    launches = [
        mlx_attention.vector_attention(a),
        mlx_attention.first_pass(a, 32),
        mlx_attention.second_pass(numbers(1, 2, 1, 32, 64, dtype=dtype), numbers(1, 2, 1, 32), numbers(1, 2, 1, 32)),
        mlx_metal.softmax(numbers(4, 4, dtype=dtype)),
    ]
    assert [static_check.check(instantiated(launch), launch.kernel) for launch in launches] == [()] * 4


def instantiated(launch: Launch) -> str:
    """The kernel's text as a library that has it once, without MLX's copyright signs, which are not ASCII."""
    lines = mlx_headers.library(*launch.headers).split("\n")
    text = "\n".join(line for line in lines if not line.startswith(("#line", "// Copyright")))
    instance = f"{launch.kernel}<{launch.arguments}>"
    return f'{text}\ntemplate [[host_name("{launch.kernel}")]] [[kernel]] decltype({instance}) {instance};\n'
