"""Our kernels move less than MLX's, on the same inputs: device memory and barriers, counted in the emulator."""

from __future__ import annotations

import pytest

from mlxdecoder.kernels.emulator import available
from tests.kernels.counts import Row, our_work, rows
from tests.kernels.mlx_counts import mlx_work
from tests.kernels.mlx_headers import NotThere, fetch

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(available()), reason=str(available()))]


@pytest.fixture(scope="module", autouse=True)
def headers() -> None:
    try:
        fetch()
    except NotThere as reason:
        pytest.skip(str(reason))


def name(row: Row) -> str:
    return f"{row.kind}-{row.T}x{row.S}-{row.width}{'-causal' if row.causal else ''}"


@pytest.mark.parametrize("row", [row for row in rows() if row.kind != "unfused"], ids=name)
def test_where_mlx_has_a_kernel_ours_moves_no_more_and_waits_no_more(row: Row) -> None:
    ours = our_work(row.T, row.S, row.width, row.causal)
    theirs = mlx_work(row.kind, row.T, row.S, row.width, row.causal, chip=row.chip)
    assert sum(work.device_bytes for work in ours) <= theirs.device_bytes
    assert sum(work.threadgroup_barriers for work in ours) <= theirs.threadgroup_barriers


@pytest.mark.parametrize("row", [row for row in rows() if row.kind == "unfused"], ids=name)
def test_where_mlx_has_none_ours_moves_a_quarter(row: Row) -> None:
    ours = our_work(row.T, row.S, row.width, row.causal)
    theirs = mlx_work("unfused", row.T, row.S, row.width, row.causal)
    assert sum(work.device_bytes for work in ours) <= theirs.device_bytes / 4
