"""`mlxdecoder kernels`, as somebody meets it who has no Mac."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from mlxdecoder.kernels import mode

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def no_metal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mode, "METAL_IS_HERE", False)
    monkeypatch.delenv(mode.VARIABLE, raising=False)


def plans(run: Run, *arguments: object) -> dict[str, dict[str, object]]:
    status, out, _ = run("kernels", "plan", "--json", *arguments)
    assert status == 0
    return {step["kernel"]: step for step in json.loads(out)["plans"]}


def test_a_plan_counts_bytes_as_the_formula_in_the_kernel_says(run: Run) -> None:
    step = plans(run, "--queries", 256, "--width", 64, "--heads", 1)["forward"]
    tile, blocks = 32, 256 // 64  # keys a tile; threadgroups of 8 simdgroups with eight queries each
    assert step["threadgroup_bytes"] == tile * (64 + 64) * 2 + 32 * tile
    assert step["device_bytes_read"] == (256 * 64 + blocks * 256 * (64 + 64)) * 2
    assert step["device_bytes_written"] == 256 * 64 * 2 + 256 * 4


def test_one_query_over_a_long_cache_is_split_and_put_together(run: Run) -> None:
    found = plans(run, "--queries", 1, "--keys", 4096)
    assert found["decode"]["threadgroups"][0] > 1  # type: ignore[index]
    assert "combine" in found and "forward" not in found


def test_a_plan_is_a_table_for_people(run: Run) -> None:
    status, out, _ = run("kernels", "plan", "--queries", 128, "--width", 32)
    assert status == 0
    assert "served by forward: more than 8 queries" in out
    assert "threadgroup bytes" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--width", 12), "key width 12: wanted 8 to 256 in steps of 8"),
        (("--value-width", 264), "value width 264: wanted 8 to 256 in steps of 8"),
        (("--heads", 4, "--kv-heads", 3), "--kv-heads 3: wanted a divisor of 4 heads"),
        (("--queries", 0), "--queries 0: wanted from 1"),
    ],
)
def test_a_shape_that_cannot_be_is_refused_by_its_name(run: Run, arguments: tuple[object, ...], message: str) -> None:
    status, out, err = run("kernels", "plan", *arguments)
    assert (status, out) == (2, "")
    assert message in err


@pytest.mark.usefixtures("no_metal")
def test_the_list_says_what_serves_a_shape_here_and_on_metal(run: Run) -> None:
    status, out, _ = run("kernels", "list")
    assert status == 0
    cells = [re.split(r" {2,}", line) for line in out.splitlines() if line[:1].isdigit()]
    rows = {tuple(row[:3]): row[3:] for row in cells}
    assert rows["16", "16", "16"] == ["MLX", "forward", "more than 8 queries", "unfused: width 16"]
    assert rows["1", "4096", "64"][1] == "decode + combine" and rows["1", "4096", "64"][3] == "fused, vector"
    assert rows["64", "64", "12"][1:3] == ["MLX", "key width 12: wanted 8 to 256 in steps of 8"]


def test_the_list_follows_the_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(mode.VARIABLE, "emulate")
    found = json.loads(run("kernels", "list", "--json")[1])
    assert found["where"] == "emulator"
    assert found["paths"][0][3] == "forward"


@pytest.mark.usefixtures("no_metal")
def test_without_metal_verify_says_how_to_compare_all_the_same(run: Run) -> None:
    status, _, err = run("kernels", "verify")
    assert status == 2
    assert "MLXDECODER_KERNELS=emulate" in err


@pytest.mark.usefixtures("no_metal")
def test_a_wrong_word_in_the_environment_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(mode.VARIABLE, "yes")
    status, _, err = run("kernels", "list")
    assert status == 2
    assert "MLXDECODER_KERNELS = 'yes': wanted off, on or emulate." in err
