"""What of a folder is taken as numbers, and what tells one folder from another."""

from __future__ import annotations

import json
from collections.abc import Callable
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
from tests.builders import ids, normal, numbers, small
from tests.pretrained.folders import FIXTURES, WEIGHTS, change_arrays, copied, set_values, write_header


@pytest.fixture
def gpt2(tmp_path: Path) -> Path:
    return copied("gpt2", tmp_path / "gpt2")


def stored_as(folder: Path, kind: str, size: int) -> None:
    """The embedding as codes of another type; all other arrays as they are."""
    data = (folder / WEIGHTS).read_bytes()
    length = int.from_bytes(data[:8], "little")
    header, body, written = json.loads(data[8 : 8 + length]), data[8 + length :], b""
    header.pop("__metadata__", None)
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        part = body[begin:end]
        if name == "transformer.wte.weight":
            entry["dtype"], part = kind, part[: 24 * 16 * size]
        entry["data_offsets"] = [len(written), len(written) + len(part)]
        written += part
    write_header(folder / WEIGHTS, header, written)


@pytest.mark.parametrize(
    ("kind", "size"), [("F8_E4M3", 1), ("F8_E5M2", 1), ("I8", 1), ("U8", 1), ("BOOL", 1), ("I32", 4)]
)
def test_codes_of_quantised_weights_are_not_read_as_numbers(gpt2: Path, kind: str, size: int) -> None:
    stored_as(gpt2, kind, size)
    with pytest.raises(UserError, match=f"stores wte.weight as {kind}; wanted are F32, F16, BF16"):
        mlxdecoder.load(gpt2)


def test_buffers_that_are_not_asked_for_may_be_of_any_type(gpt2: Path) -> None:
    change_arrays(gpt2, transformer__h__0__attn__bias=mx.ones((1, 1, 96, 96), mx.uint8))
    mlxdecoder.load(gpt2)


def test_the_first_wrong_shapes_are_told_and_how_many_more_there_are(gpt2: Path) -> None:
    names = ["h__0__ln_1__weight", "h__0__ln_2__weight", "h__1__ln_1__weight", "h__1__ln_2__weight", "ln_f__weight"]
    change_arrays(gpt2, **{f"transformer__{name}": mx.ones((17,)) for name in names})
    with pytest.raises(UserError) as caught:
        mlxdecoder.load(gpt2)
    for name in names[:3]:
        assert f"{name.replace('__', '.')} (17,), wanted (16,)" in str(caught.value)
    assert str(caught.value).endswith("and 2 more.")


def test_names_out_of_files_are_printed_on_one_line_and_cut(gpt2: Path) -> None:
    change_arrays(gpt2, **{"x\ny\x1b[31m": mx.ones((1,)), "z" * 5000: mx.ones((1,))})
    with pytest.raises(UserError) as caught:
        mlxdecoder.load(gpt2)
    assert r"x\ny\x1b[31m" in str(caught.value)
    assert "z" * 70 in str(caught.value) and "z" * 81 not in str(caught.value)


def test_a_byte_order_mark_in_front_of_a_config_changes_nothing(gpt2: Path) -> None:
    before = mlxdecoder.load(gpt2).model.config
    (gpt2 / "config.json").write_bytes(b"\xef\xbb\xbf" + (gpt2 / "config.json").read_bytes())
    assert mlxdecoder.load(gpt2).model.config == before


def test_a_manifest_of_somebody_else_does_not_make_a_folder_ours(gpt2: Path) -> None:
    before = mlxdecoder.load(gpt2).fingerprint
    (gpt2 / "manifest.json").write_text('{"files": 3}')
    assert mlxdecoder.load(gpt2).fingerprint == before


def another_number(folder: Path) -> None:
    change_arrays(folder, transformer__h__1__ln_1__weight=mx.full((16,), 1.5))


def another_name(folder: Path) -> None:
    table = mx.load(str(folder / WEIGHTS))["transformer.ln_f.bias"]
    change_arrays(folder, transformer__ln_f__bias=None, ln_f__bias=table)


def another_config(folder: Path) -> None:
    set_values(folder, layer_norm_epsilon=1e-4)


@pytest.mark.parametrize("change", [another_number, another_name, another_config])
def test_folders_that_differ_have_other_fingerprints(
    gpt2: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    same, other = copied("gpt2", tmp_path / "same"), copied("gpt2", tmp_path / "other")
    change(other)
    one, copy, two = (mlxdecoder.load(folder).fingerprint for folder in (gpt2, same, other))
    assert one == copy != two


def in_halves(name: str, to: Path) -> Path:
    folder = copied(name, to)
    arrays = mx.load(str(folder / WEIGHTS))
    mx.eval(arrays)
    mx.save_safetensors(str(folder / WEIGHTS), {key: array.astype(mx.bfloat16) for key, array in arrays.items()})
    return folder


@pytest.mark.parametrize("name", ["t5", "t5-untied"])
def test_factors_of_t5_do_not_round_its_halves(tmp_path: Path, name: str) -> None:
    folder = in_halves(name, tmp_path / "halves")
    read, wanted = (
        dict(tree_flatten(load_pretrained(folder, dtype).model.parameters())) for dtype in (None, "float32")
    )
    for key, array in read.items():
        np.testing.assert_array_equal(np.array(array.astype(mx.float32)), np.array(wanted[key]), err_msg=key)
    assert read["embedding.weight"].dtype == mx.bfloat16
    export(load_pretrained(folder), tmp_path / "back")
    before, after = (mx.load(str(path / WEIGHTS)) for path in (folder, tmp_path / "back"))
    assert {key: array.dtype for key, array in after.items()} == dict.fromkeys(before, mx.bfloat16)
    assert all(mx.array_equal(before[key], after[key]) for key in before)


@pytest.mark.parametrize("scale", [True, False])
def test_a_tied_t5_of_halves_comes_back_to_the_bit(tmp_path: Path, scale: bool) -> None:
    """States of width 32, as those of 512, have a scale that would round the last norm."""
    form: dict[str, Any] = {"norm_kind": "rms", "bias": False, "positions": "relative", "scaled_embeddings": False}
    own = small("translator", **form, d_model=32, n_kv_heads=4, max_length=512)
    own.decoder.norm.weight = mx.array(normal(32, seed=3))
    export(Checkpoint(own, NoTokenizer(), tmp_path / "own"), tmp_path / "whole")
    folder = in_halves(str(tmp_path / "whole"), tmp_path / "halves")
    set_values(folder, scale_decoder_outputs=scale)
    export(load_pretrained(folder), tmp_path / "back")
    assert json.loads((tmp_path / "back" / "config.json").read_text())["scale_decoder_outputs"] is scale
    before, after = (mx.load(str(path / WEIGHTS)) for path in (folder, tmp_path / "back"))
    assert before.keys() == after.keys()
    assert all(mx.array_equal(before[key], after[key]) for key in before)


def test_factors_of_t5_leave_queries_in_the_type_of_keys(tmp_path: Path) -> None:
    """Kernels take no others; heads of width 6, as those of 128, have a factor that would round their weights."""
    model: Any = load_pretrained(in_halves("t5-untied", tmp_path / "halves")).model
    told: dict[str, set[mx.Dtype]] = {}
    tokens = ids(2, 5, high=24)
    model(tokens, tokens, watch=lambda name, array: told.setdefault(name.rpartition(".")[2], set()).add(array.dtype))
    weights = dict(tree_flatten(model.parameters()))
    assert weights["decoder.blocks.1.attention.query.weight"].dtype == mx.float32
    assert told["query"] == told["key"] == told["value"] == told["context"] == told["logits"] == {mx.bfloat16}


def test_experts_in_halves_say_nearly_what_they_say_in_float32(tmp_path: Path) -> None:
    folder = in_halves("mixtral", tmp_path / "halves")
    halves: Any = load_pretrained(folder).model
    whole: Any = load_pretrained(folder, "float32").model
    for length in (1, 7):  # fewer chosen than there are experts, and more
        tokens = ids(1, length, high=24)
        assert np.abs(numbers(halves(tokens)) - numbers(whole(tokens))).max() < 0.1


def test_names_of_classes_go_through_a_checkpoint_and_an_export(tmp_path: Path, run: Any) -> None:
    folder = copied("vit", tmp_path / "vit")
    words = ["cat", "dog", "bird", "tree", "l’école"]
    set_values(folder, id2label={str(i): word for i, word in enumerate(words)})
    assert run("import", folder, "--out", tmp_path / "ours")[0] == 0
    assert mlxdecoder.load(tmp_path / "ours").labels == tuple(words)
    export(mlxdecoder.load(tmp_path / "ours"), tmp_path / "back")
    said = json.loads((tmp_path / "back" / "config.json").read_text())
    assert list(said["id2label"].values()) == words
    assert said["label2id"] == {word: i for i, word in enumerate(words)}


def test_labels_that_are_no_words_are_refused(tmp_path: Path, run: Any) -> None:
    from tests.training.test_checkpoint import renew_manifest

    run("import", FIXTURES / "vit", "--out", tmp_path / "ours")
    set_values(tmp_path / "ours", labels=[1, 2])
    renew_manifest(tmp_path / "ours", "config.json")
    with pytest.raises(UserError, match=r"config\.json: labels: a list of words"):
        mlxdecoder.load(tmp_path / "ours")
