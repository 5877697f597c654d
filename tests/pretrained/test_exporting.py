"""The way back: what was read from a folder is written as a folder that reads the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten

import mlxdecoder
from mlxdecoder.errors import UserError
from mlxdecoder.pretrained.exporting import export
from mlxdecoder.pretrained.loading import load_pretrained
from mlxdecoder.text.foreign import NoTokenizer
from mlxdecoder.training.checkpoint import Checkpoint
from tests.builders import small
from tests.pretrained.folders import FIXTURES
from tests.pretrained.judging import judge
from tests.pretrained.variants import KEPT


@pytest.mark.parametrize("name", [variant.name for variant in KEPT])
def test_numbers_are_still_those_of_transformers(name: str, tmp_path: Path) -> None:
    export(mlxdecoder.load(FIXTURES / name), tmp_path / "out")
    with np.load(FIXTURES / name / "answers.npz") as answers:
        judge(tmp_path / "out", dict(answers))


@pytest.mark.parametrize("name", [variant.name for variant in KEPT])
def test_arrays_are_those_of_the_folder(name: str, tmp_path: Path) -> None:
    export(mlxdecoder.load(FIXTURES / name), tmp_path / "out")
    wanted = mx.load(str(FIXTURES / name / "model.safetensors"))
    found = mx.load(str(tmp_path / "out" / "model.safetensors"))
    assert found.keys() == wanted.keys()
    for key, array in wanted.items():
        np.testing.assert_allclose(np.array(found[key]), np.array(array), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_come_back_to_the_bit(dtype: Any, tmp_path: Path) -> None:
    before = load_pretrained(FIXTURES / "qwen3", dtype)
    export(before, tmp_path / "out")
    after = dict(tree_flatten(load_pretrained(tmp_path / "out").model.parameters()))
    for key, array in tree_flatten(before.model.parameters()):
        assert after[key].dtype == array.dtype
        assert mx.array_equal(after[key], array)


def test_an_own_model_that_is_built_like_llama_becomes_one(tmp_path: Path) -> None:
    shape = {
        "norm_kind": "rms",
        "activation": "swiglu",
        "bias": False,
        "positions": "rotary",
        "scaled_embeddings": False,
    }
    model = small("language_model", **shape)
    family = export(Checkpoint(model, NoTokenizer(), tmp_path / "own"), tmp_path / "out")
    assert "LlamaForCausalLM" in family.classes
    after: Any = mlxdecoder.load(tmp_path / "out").model
    np.testing.assert_array_equal(np.array(after([[5, 6, 7]])), np.array(model([[5, 6, 7]])))


@pytest.mark.parametrize("changes", [{"positions": "alibi"}, {"norm_kind": "rms"}, {"query_key_norm": True}])
def test_what_no_family_computes_is_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    checkpoint = Checkpoint(small("language_model", **changes), NoTokenizer(), tmp_path / "own")
    with pytest.raises(UserError, match="own: none of the families"):
        export(checkpoint, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_never_written_over(tmp_path: Path, run: Any) -> None:
    status, _, said = run("export", "--model", FIXTURES / "gpt2", "--out", tmp_path)
    assert (status, "exists already" in said) == (2, True)


def test_the_command_says_what_reads_the_folder(tmp_path: Path, run: Any) -> None:
    status, printed, _ = run("export", "--model", FIXTURES / "marian", "--out", tmp_path / "out")
    assert (status, "MarianMTModel" in printed) == (0, True)
