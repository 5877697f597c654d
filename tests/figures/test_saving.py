"""Figures in files: whole or not there, the same bytes each time, and matplotlib's own state left alone."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import matplotlib
from matplotlib.figure import Figure

from mlxdecoder.errors import UserError
from mlxdecoder.figures import attention_figure, save_figure
from mlxdecoder.maps import AttentionMap


def small_figure() -> Figure:
    return attention_figure(
        AttentionMap("decoder", np.eye(2)[None, None], np.tri(2, dtype=bool), ["α", "β"], ["α", "β"])
    )


def test_the_users_own_style_changes_nothing(tmp_path: Path) -> None:
    save_figure(small_figure(), tmp_path / "plain.png")
    own = {"text.usetex": True, "text.color": "white", "savefig.bbox": "tight", "image.cmap": "jet"}
    with matplotlib.rc_context(own):
        save_figure(small_figure(), tmp_path / "styled.png")
        assert matplotlib.rcParams["text.usetex"]
    assert (tmp_path / "plain.png").read_bytes() == (tmp_path / "styled.png").read_bytes()


@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG\r\n\x1a\n"), ("svg", b"<?xml"), ("PDF", b"%PDF-")])
def test_the_ending_chooses_the_format_and_files_repeat(ending: str, magic: bytes, tmp_path: Path) -> None:
    written = []
    for name in ("first", "second"):
        save_figure(small_figure(), tmp_path / f"{name}.{ending}")
        written.append((tmp_path / f"{name}.{ending}").read_bytes())
    assert written[0].startswith(magic)
    assert written[0] == written[1]
    assert not any(stamp in written[0] for stamp in (b"CreationDate", b"dc:date", b"Software"))
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"first.{ending}", f"second.{ending}"]


def test_fonts_travel_with_the_file(tmp_path: Path) -> None:
    figure = small_figure()
    save_figure(figure, tmp_path / "figure.svg")
    save_figure(figure, tmp_path / "figure.pdf")
    assert "<text" not in (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert b"/FontFile2" in (tmp_path / "figure.pdf").read_bytes()


@pytest.mark.parametrize("name", ["figure.jpg", "figure", "png"])
def test_other_endings_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"must end in .png, .svg or .pdf"):
        save_figure(small_figure(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "figure.png"
    path.write_bytes(b"old")

    def fail(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="no space"):
        save_figure(small_figure(), path)
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("figure.png", b"old")]


def test_without_matplotlib_the_import_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("mlxdecoder.figures")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UserError, match=r"pip install 'mlxdecoder\[plot\]'"):
        importlib.import_module("mlxdecoder.figures")


def test_neither_pyplot_nor_global_settings_are_touched(tmp_path: Path) -> None:
    code = (
        "import sys, matplotlib; before = matplotlib.rcParams.copy()\n"
        "from mlxdecoder.figures import curves_figure, save_figure\n"
        "save_figure(curves_figure([{'step': 1, 'training_loss': 2.0}]), sys.argv[1])\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "assert matplotlib.rcParams.copy() == before\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "curves.png")], check=True)
