"""The counts of MLX's work: the primitives are those that the installed MLX names, and kernels move what they must."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import pytest

from mlxdecoder.kernels.emulator.compilers import available
from tests.kernels import mlx_headers
from tests.kernels.mlx_counts import B, H, Kind, mlx_kind, mlx_work, n_launches, primitives

needs_emulator = pytest.mark.skipif(available() is not None, reason=available() or "")
needs_headers = pytest.mark.skipif(not mlx_headers.folder().exists(), reason=mlx_headers.NOT_CACHED)

VIEWS = {"Broadcast", "Transpose", "ExpandDims"}
NAMES = {
    "range of queries": "Arange",
    "range of keys": "Arange",
    "comparison": "GreaterEqual",
    "selection": "Select",
    "scale": "Multiply",
    "scores": "Matmul",
    "softmax": "Softmax",
    "context": "Matmul",
}


def exported(T: int, S: int, dk: int, causal: bool) -> list[dict[str, Any]]:
    """What MLX does for an attention that it does not fuse; without Metal it fuses none."""
    steps = list[dict[str, Any]]()
    q, k = mx.zeros((B, H, T, dk), mx.float16), mx.zeros((B, H, S, dk), mx.float16)
    mask = "causal" if causal else None

    def attend(q: mx.array, k: mx.array, v: mx.array) -> mx.array:
        return mx.fast.scaled_dot_product_attention(q, k, v, scale=0.5, mask=mask, stream=mx.cpu)

    mx.export_function(steps.append, attend, q, k, k)
    return [step for step in steps if step["type"] == "primitive" and step["name"] not in VIEWS]


@pytest.mark.parametrize("causal", [False, True])
def test_the_unfused_path_is_the_one_that_the_installed_mlx_takes(causal: bool) -> None:
    steps, counted = exported(20, 30, 16, causal), primitives(20, 30, 16, causal)
    assert sorted(step["name"] for step in steps) == sorted(NAMES[name] for name in counted)
    assert len(steps) == n_launches("unfused", causal)
    written = [mx.zeros(shape, dtype).nbytes for step in steps for _, shape, dtype in step["outputs"]]
    assert sorted(written) == sorted(bytes_ for _, bytes_ in counted.values())


@needs_emulator
@needs_headers
@pytest.mark.parametrize("causal", [False, True])
def test_the_unfused_path_moves_more_than_the_least(causal: bool) -> None:
    counted, least = (mlx_work(kind, 64, 64, 16, causal) for kind in ("unfused", "unfused at least"))
    assert counted.device_bytes_written == least.device_bytes_written
    assert counted.device_bytes_read > least.device_bytes_read


@needs_emulator
@needs_headers
def test_the_tiled_kernel_reads_keys_and_values_once_for_every_32_queries() -> None:
    T, S, dk = 64, 96, 64
    work = mlx_work("tiled", T, S, dk)
    assert work.device_bytes_read == B * H * 2 * (T * dk + T // 32 * S * 2 * dk)
    assert work.device_bytes_written == B * H * 2 * T * dk
    assert work.threadgroups == B * H * T // 32


@needs_emulator
@needs_headers
def test_the_vector_kernel_reads_keys_and_values_once_and_the_query_in_every_simdgroup() -> None:
    S, dk = 128, 64
    work = mlx_work("vector", 1, S, dk)
    assert work.device_bytes_read == B * H * 2 * (S * 2 * dk + 32 * dk)
    assert work.device_bytes_written == B * H * 2 * dk


@pytest.mark.parametrize(
    ("T", "S", "dk", "chip", "kind"),
    [
        (256, 256, 64, "g", "tiled"),
        (256, 256, 32, "g", "unfused"),
        (1, 1024, 16, "d", "unfused"),
        (1, 1024, 128, "g", "vector"),
        (1, 1024, 128, "s", "two passes"),
        (1, 1000, 128, "d", "vector"),
    ],
)
def test_which_way_mlx_goes(T: int, S: int, dk: int, chip: str, kind: Kind) -> None:
    assert mlx_kind(T, S, dk, chip) == kind
