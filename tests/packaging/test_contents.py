"""What is put into the bundle, and the files beside it; the bundle as a whole is tried by `make bundle`."""

from __future__ import annotations

import importlib.util
import struct
from pathlib import Path
from types import ModuleType

import pytest

TREE = Path(__file__).parents[2]
ICONS = TREE / "assets" / "icons"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def contents() -> ModuleType:
    spec = importlib.util.spec_from_file_location("contents", TREE / "packaging" / "contents.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_metal_library_lies_beside_every_libmlx(contents: ModuleType) -> None:
    libraries = [
        ("mlx/lib/libmlx.dylib", "/site/mlx/lib/libmlx.dylib", "BINARY"),
        ("libmlx.dylib", "/site/mlx/lib/libmlx.dylib", "SYMLINK"),
        ("mlx/core.so", "/site/mlx/core.so", "EXTENSION"),
    ]
    data = [("mlx/lib/mlx.metallib", "/site/mlx/lib/mlx.metallib", "DATA"), ("a.txt", "/a.txt", "DATA")]
    found = contents.with_metal_library(libraries, data)
    assert sorted(name for name, _, _ in found) == ["a.txt", "mlx.metallib", "mlx/lib/mlx.metallib"]
    assert {source for name, source, _ in found if name.endswith("metallib")} == {"/site/mlx/lib/mlx.metallib"}


def test_an_mlx_without_metal_is_left_as_it_is(contents: ModuleType) -> None:
    libraries, data = [("mlx/lib/libmlx.so", "/site/libmlx.so", "BINARY")], [("a.txt", "/a.txt", "DATA")]
    assert contents.with_metal_library(libraries, data) == data


def test_headers_are_left_out_and_kernels_stay(contents: ModuleType) -> None:
    entries = [
        ("mlx/include/mlx/array.h", "/x", "DATA"),
        ("mlx/lib/mlx.metallib", "/x", "DATA"),
        ("mlxdecoder/kernels/emulator/include/emulator/simd.h", "/x", "DATA"),
    ]
    assert [name for name, _, _ in contents.needed(entries)] == [name for name, _, _ in entries[1:]]


def test_the_icon_file_holds_pictures_of_every_size_that_macos_asks_for() -> None:
    data = (ICONS / "mlxdecoder.icns").read_bytes()
    assert data[:4] == b"icns" and struct.unpack(">I", data[4:8]) == (len(data),)
    sizes, place = set(), 8
    while place < len(data):
        (length,) = struct.unpack(">I", data[place + 4 : place + 8])
        picture = data[place + 8 : place + length]
        assert picture.startswith(PNG)
        sizes.add(struct.unpack(">II", picture[16:24]))  # the header of a PNG begins with width and height
        place += length
    assert sizes == {(size, size) for size in (16, 32, 64, 128, 256, 512, 1024)}


def test_the_icons_of_the_window_have_the_sizes_that_they_are_named_after() -> None:
    found = sorted(ICONS.glob("mlxdecoder-*.png"))
    assert len(found) >= 5
    for path in found:
        size = int(path.stem.rpartition("-")[2])
        assert struct.unpack(">II", path.read_bytes()[16:24]) == (size, size)
