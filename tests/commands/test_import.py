"""`mlxdecoder import` and `export`: what they were measured on, what is refused, and what to go on with."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from mlxdecoder.pretrained.exporting import export
from mlxdecoder.pretrained.quality import LONGEST
from mlxdecoder.text.foreign import NoTokenizer
from mlxdecoder.training.checkpoint import Checkpoint
from tests.builders import ids, small
from tests.pretrained.folders import FIXTURES, change_arrays, copied

Run = Callable[..., tuple[int, str, str]]
WIDE: dict[str, Any] = {
    **{"d_model": 64, "norm_kind": "rms", "activation": "swiglu", "bias": False, "positions": "rotary"},
    **{"scaled_embeddings": False, "tied": False, "max_length": 2 * LONGEST},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A Llama without a tokenizer, wide enough to be quantised."""
    export(Checkpoint(small(**WIDE), NoTokenizer(), tmp_path), tmp_path / "folder")
    return tmp_path / "folder"


def test_a_text_that_cannot_be_read_is_refused_and_one_of_ids_is_cut(run: Run, folder: Path) -> None:
    text, out = folder.parent / "text.txt", folder.parent / "out"
    text.write_text("The black cat sleeps.", encoding="utf-8")
    asked = ["import", folder, "--out", out, "--bits", 8, "--text", text]
    status, _, err = run(*asked)
    assert (status, out.exists()) == (2, False)
    assert "--text: this model came without a tokenizer" in err
    text.write_text(" ".join(map(str, ids(LONGEST + 1))), encoding="utf-8")
    assert f"measured on: the first 256 tokens of {text}" in run(*asked)[1]


def test_without_a_tokenizer_it_is_said_what_is_measured_on_and_what_to_give(run: Run, folder: Path) -> None:
    _, printed, _ = run("import", folder, "--out", folder.parent / "out", "--bits", 8, "--json")
    told = json.loads(printed)
    assert told["measured on"] == "64 random ids, having no tokenizer"
    assert told["tokenizer"] == "none; give ids, such as 5 6 7"


@pytest.mark.parametrize("text", ["", "5"])
def test_a_text_of_less_than_two_tokens_is_refused(run: Run, folder: Path, text: str) -> None:
    (folder.parent / "text.txt").write_text(text, encoding="utf-8")
    asked = ["--out", folder.parent / "out", "--bits", 8, "--text", folder.parent / "text.txt"]
    status, _, err = run("import", folder, *asked)
    assert (status, "--text: " in err) == (2, True)


@pytest.mark.parametrize("name", ["meta-llama/Llama-3.2-1B", "gpt2"])
def test_a_name_is_told_from_a_folder(run: Run, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, err = run("import", name, "--out", "out")
    assert status == 2
    assert f"hf download {name} --local-dir DIR" in err


@pytest.mark.parametrize("name", ["gpt2", "marian", "bert", "vit"])
def test_what_it_names_to_go_on_with_works(
    run: Run, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, printed, _ = run("import", FIXTURES / name, "--out", "out")
    command = printed.splitlines()[-1].removeprefix("Go on with: mlxdecoder ").partition(";")[0]
    status, _, err = run(*shlex.split(command))
    assert status == 0, err


def test_export_wants_a_model_and_says_how_transformers_reads_it(run: Run, tmp_path: Path) -> None:
    status, _, err = run("export", "--out", tmp_path / "out")
    assert (status, "--model" in err) == (2, True)
    _, printed, _ = run("export", "--model", FIXTURES / "gpt2", "--out", tmp_path / "out")
    assert f"GPT2LMHeadModel.from_pretrained('{tmp_path / 'out'}')" in printed
    assert "not in it" not in printed


def test_import_says_what_it_leaves_out(run: Run, tmp_path: Path) -> None:
    folder = copied("bert", tmp_path / "bert")
    change_arrays(folder, classifier__weight=None, classifier__bias=None, cls__predictions__bias=mx.zeros(24))
    assert "left out: cls.*, pooler.*, not computed here\n" in run("import", folder, "--out", tmp_path / "out")[1]
    assert "left out" not in run("import", FIXTURES / "bert", "--out", tmp_path / "classes")[1]  # of which all is read


@pytest.mark.parametrize(("name", "parts"), [("bert", "cls.*, pooler.*"), ("vit", "pooler.*")])
def test_export_says_what_is_not_in_it(run: Run, tmp_path: Path, name: str, parts: str) -> None:
    folder = copied(name, tmp_path / name)
    change_arrays(folder, classifier__weight=None, classifier__bias=None)
    _, printed, _ = run("export", "--model", folder, "--out", tmp_path / "out")
    assert f"not in it: {parts}; transformers takes random numbers" in printed
    assert "not in it" not in run("export", "--model", FIXTURES / name, "--out", tmp_path / "classes")[1]
