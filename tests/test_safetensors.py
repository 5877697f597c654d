"""What a safetensors file claims is checked before anything is read."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder.errors import UserError
from mlxdecoder.safetensors import LARGEST_HEADER, load_safetensors, read_header, save_safetensors
from tests.pretrained.folders import write_header

PAIR = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


def test_names_types_and_shapes_are_read_without_the_arrays(tmp_path: Path) -> None:
    arrays = {"a": mx.ones((2, 3)), "b.c": mx.zeros((4,), mx.float16), "none": mx.zeros((0, 5)), "one": mx.array(1)}
    save_safetensors(tmp_path / "x.safetensors", arrays)
    entries = read_header(tmp_path / "x.safetensors")
    assert {name: (entry.kind, entry.shape) for name, entry in entries.items()} == {
        "a": ("F32", (2, 3)),
        "b.c": ("F16", (4,)),
        "none": ("F32", (0, 5)),
        "one": ("I32", ()),
    }
    np.testing.assert_array_equal(np.array(load_safetensors(tmp_path / "x.safetensors")[0]["a"]), np.ones((2, 3)))


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="no device that is always full")
def test_a_full_disk_is_told_as_one() -> None:
    with pytest.raises(OSError, match="/dev/full") as full:
        save_safetensors("/dev/full", {"a": mx.zeros((300, 300))})
    assert full.value.errno == errno.ENOSPC


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_safetensors(path, {"a": mx.ones((2, 3)), "b": mx.ones((5,))})
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(UserError, match="x.safetensors"):
            read_header(path)
    path.write_bytes(whole + b"x")
    with pytest.raises(UserError, match="x.safetensors"):
        read_header(path)


@pytest.mark.parametrize(
    ("header", "data", "length"),
    [
        pytest.param({"a": PAIR}, bytes(8), 2**60, id="a header of 2^60 bytes"),
        pytest.param(b"{" + b" " * LARGEST_HEADER + b"}", b"", None, id="a header as long as no real one"),
        pytest.param(b"[" * 100_000, b"", None, id="brackets without end"),
        pytest.param(b'{"a": 1}', b"", None, id="a number for an array"),
        pytest.param(b'["a"]', b"", None, id="a list"),
        pytest.param(b"\xff\xfe", b"", None, id="no text"),
        pytest.param(
            b'{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "a": {}}', bytes(8), None, id="twice"
        ),
        pytest.param({"a": {**PAIR, "shape": [3]}}, bytes(8), None, id="another shape than bytes"),
        pytest.param({"a": {**PAIR, "shape": [-2, -1]}}, bytes(8), None, id="a shape below 0"),
        pytest.param({"a": {**PAIR, "shape": [2.0]}}, bytes(8), None, id="a shape that is no whole number"),
        pytest.param({"a": {**PAIR, "shape": [2**62, 2**62]}}, bytes(8), None, id="a shape beyond any memory"),
        pytest.param({"a": {**PAIR, "dtype": "F31"}}, bytes(8), None, id="an unknown type"),
        pytest.param({"a": PAIR, "b": PAIR}, bytes(8), None, id="two arrays in one place"),
        pytest.param({"a": {**PAIR, "data_offsets": [4, 12]}}, bytes(12), None, id="a gap in front"),
        pytest.param({"a": {**PAIR, "data_offsets": [-4, 4]}}, bytes(8), None, id="a place before the data"),
        pytest.param({"a": {**PAIR, "data_offsets": [0]}}, bytes(8), None, id="half a place"),
        pytest.param({"a": PAIR}, bytes(12), None, id="bytes that belong to nobody"),
    ],
)
def test_what_cannot_be_true_is_refused(tmp_path: Path, header: Any, data: bytes, length: int | None) -> None:
    write_header(tmp_path / "x.safetensors", header, data, length)
    with pytest.raises(UserError, match="not a whole safetensors file") as caught:
        load_safetensors(tmp_path / "x.safetensors")
    assert str(caught.value).count("\n") == 0
