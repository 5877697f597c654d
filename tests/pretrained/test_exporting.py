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


LLAMA = {
    "norm_kind": "rms",
    "activation": "swiglu",
    "bias": False,
    "positions": "rotary",
    "scaled_embeddings": False,
}


@pytest.mark.parametrize(
    "changes",
    [{}, {"unrotated_layers": (0,)}, {"unrotated_layers": (1,), "window": 2}, {"sinusoid_order": "halves"}],
    ids=str,
)
def test_an_own_model_that_is_built_like_llama_becomes_one(changes: dict[str, Any], tmp_path: Path) -> None:
    model = small("language_model", **LLAMA, **changes)
    family = export(Checkpoint(model, NoTokenizer(), tmp_path / "own"), tmp_path / "out")
    assert "LlamaForCausalLM" in family.classes
    after: Any = mlxdecoder.load(tmp_path / "out").model
    np.testing.assert_array_equal(np.array(after([[5, 6, 7]])), np.array(model([[5, 6, 7]])))


def refusal(architecture: str, tmp_path: Path, changes: dict[str, Any]) -> str:
    checkpoint = Checkpoint(small(architecture, **changes), NoTokenizer(), tmp_path / "own")
    with pytest.raises(UserError) as caught:
        export(checkpoint, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'own'}: none of the families that transformers has computes this.")
    assert message.count("\n") == 1
    return message


GPT2 = {"positions": "learned", "scaled_embeddings": False, "n_kv_heads": 4}
BERT = {**GPT2, "norm": "post", "embedding_norm": True, "n_segments": 2, "activation": "gelu"}
MARIAN = {"norm": "post", "sinusoid_order": "halves", "n_kv_heads": 4}


@pytest.mark.parametrize(
    ("architecture", "shape", "changes", "family", "in_the_way"),
    [
        ("language_model", GPT2, {"positions": "alibi"}, "gpt2", ["positions"]),
        ("language_model", GPT2, {"positions": "rotary", "rotary_base": 500.0}, "gpt2", ["positions"]),
        ("language_model", GPT2, {"tied": False, "activation": "swiglu"}, "gpt2", ["activation"]),
        ("language_model", LLAMA, {"rotary_scaling": "ntk"}, "llama", ["rotary_scaling"]),
        ("language_model", LLAMA, {"query_key_norm": True, "norm_kind": "layer"}, "qwen3", ["norm_kind"]),
        ("language_model", LLAMA, {"unrotated_layers": (0,), "head_bias": True}, "smollm3", ["head_bias"]),
        ("language_model", {**LLAMA, "n_experts": 4}, {"norm": "post"}, "mixtral", ["norm"]),
        ("translator", MARIAN, {"norm": "pre", "dropout": 0.2}, "marian", ["norm"]),
        ("translator", MARIAN, {"sinusoid_order": "interleaved"}, "marian", ["sinusoid_order"]),
        ("encoder", BERT, {"norm": "pre"}, "bert", ["norm"]),
        (
            "encoder",
            BERT,
            {"activation": "swiglu", "scaled_embeddings": True},
            "bert",
            ["activation", "scaled_embeddings"],
        ),
    ],
)
def test_what_no_family_computes_is_refused_with_the_closest_and_what_is_in_the_way(
    architecture: str,
    shape: dict[str, Any],
    changes: dict[str, Any],
    family: str,
    in_the_way: list[str],
    tmp_path: Path,
) -> None:
    message = refusal(architecture, tmp_path, {**shape, **changes})
    assert f"The closest is {family};\nin the way: " in message
    named = message.partition("in the way: ")[2].rstrip(".").split("; ")
    assert [one.partition(", where it has ")[0] for one in named] == [
        f"{name} = {changes[name]!r}" for name in in_the_way
    ]
    told = {field: value for field, value in changes.items() if field not in in_the_way}
    without = small(architecture, **{**shape, **told})
    export(Checkpoint(without, NoTokenizer(), tmp_path / "own"), tmp_path / "out")  # which the family does hold


def test_a_folder_is_never_written_over(tmp_path: Path, run: Any) -> None:
    status, _, said = run("export", "--model", FIXTURES / "gpt2", "--out", tmp_path)
    assert (status, "exists already" in said) == (2, True)


def test_the_command_says_what_reads_the_folder(tmp_path: Path, run: Any) -> None:
    status, printed, _ = run("export", "--model", FIXTURES / "marian", "--out", tmp_path / "out")
    assert (status, "MarianMTModel" in printed) == (0, True)
