"""Weights of 4 and 8 bits: MLX's own numbers, and what they cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten

import mlxdecoder
from mlxdecoder.errors import UserError
from mlxdecoder.layers import Linear
from mlxdecoder.pretrained.exporting import export
from mlxdecoder.pretrained.quality import compare
from mlxdecoder.quantized import Quantization, QuantizedLinear, quantize
from mlxdecoder.text.foreign import NoTokenizer
from mlxdecoder.training.checkpoint import Checkpoint
from tests.builders import ids, normal, numbers, small

LLAMA: dict[str, Any] = {
    "norm_kind": "rms",
    "activation": "swiglu",
    "bias": False,
    "positions": "rotary",
    "scaled_embeddings": False,
    "tied": False,
    "d_model": 64,
    "d_ff": 128,
}


def checkpoint_of(model: Any) -> Checkpoint:
    return Checkpoint(model, NoTokenizer(), Path("model"))


def unpacked(layer: QuantizedLinear, bits: int, group: int) -> np.ndarray:
    """The weight [out, in] of a layer, by the formula: the first number in the lowest bits of a word."""
    words = np.array(layer.weight)  # [out, in * bits / 32]
    shifts = np.arange(0, 32, bits)
    whole = ((words[..., None] >> shifts) & (2**bits - 1)).reshape(len(words), -1)
    scales, offsets = (np.repeat(np.array(x, np.float64), group, axis=1) for x in (layer.scales, layer.biases))
    return whole * scales + offsets


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("group", [32, 64, 128])
def test_a_quantised_map_is_the_product_with_its_rounded_weight(bits: int, group: int) -> None:
    linear = Linear(128, 48)
    linear.bias = mx.array(normal(48))
    layer = QuantizedLinear(linear, Quantization(bits, group))
    weight = unpacked(layer, bits, group)
    x = normal(2, 5, 128, seed=1)
    np.testing.assert_allclose(numbers(layer(mx.array(x))), x @ weight.T + np.array(linear.bias), atol=1e-4)
    step = np.repeat(np.abs(np.array(layer.scales)), group, axis=1)  # no weight is further off than one step
    assert (np.abs(weight - np.array(linear.weight).T) <= step).all()


@pytest.mark.parametrize(("bits", "most"), [(8, 0.02), (4, 0.4)])
def test_a_model_says_nearly_the_same(bits: int, most: float) -> None:
    model, tokens = small(**LLAMA), ids(2, 7)
    before = numbers(model(tokens))
    assert quantize(model, Quantization(bits)) == 2 * 7 + 1
    after = numbers(model(tokens))
    assert 0 < np.abs(after - before).max() < most * np.abs(before).max()


def test_maps_whose_inputs_fill_no_group_stay() -> None:
    model = small(**{**LLAMA, "d_model": 48, "head_width": 16})
    assert quantize(model, Quantization(8)) == 4  # outwards: from d_ff = 128 and from four heads of 16, in two layers


class TestWhatItCosts:
    def test_nothing_costs_nothing(self) -> None:
        loss = compare(checkpoint_of(small(**LLAMA)), lambda: None)
        assert (loss.change, loss.kl, loss.agreement) == (0, 0, 1)
        assert loss.perplexities is not None
        assert loss.perplexities[0] == loss.perplexities[1]

    @pytest.mark.parametrize("architecture", ["language_model", "translator", "encoder"])
    def test_fewer_bits_cost_more(self, architecture: str) -> None:
        def change(bits: int) -> float:
            model = small(architecture, d_model=64, d_ff=64)
            return compare(checkpoint_of(model), lambda: quantize(model, Quantization(bits))).change

        assert 0 < change(8) < change(4)

    def test_divergence_and_perplexity_are_their_definitions(self) -> None:
        model: Any = small(**LLAMA)
        tokens = np.random.default_rng(0).integers(0, model.config.target_vocab, 64)

        def probabilities() -> np.ndarray:
            logits = numbers(model([tokens[:-1].tolist()]))[0].astype(np.float64)
            raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
            return np.asarray(raised / raised.sum(axis=-1, keepdims=True))

        p = probabilities()
        loss = compare(checkpoint_of(model), lambda: quantize(model, Quantization(4)))
        q = probabilities()
        assert loss.kl == pytest.approx((p * np.log(p / q)).sum(axis=-1).mean(), abs=1e-5)
        assert loss.perplexities is not None
        for found, x in zip(loss.perplexities, (p, q), strict=True):
            assert found == pytest.approx(np.exp(-np.log(x[np.arange(63), tokens[1:]]).mean()), rel=1e-4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    export(checkpoint_of(small(**LLAMA)), tmp_path / "folder")
    return tmp_path / "folder"


class TestImport:
    def test_says_what_it_costs_and_makes_a_smaller_checkpoint(self, folder: Path, run: Any) -> None:
        out = folder.parent / "small"
        status, printed, _ = run("import", folder, "--out", out, "--bits", "4", "--json")
        told = json.loads(printed)
        assert status == 0
        assert "15 linear maps, 4 bits in groups of 64" in told["quantised"]
        n_parameters = sum(array.size for _, array in tree_flatten(small(**LLAMA).parameters()))
        assert told["parameters"] == f"{n_parameters:,}"
        assert {"divergence", "same best token", "perplexity", "largest change"} <= told.keys()
        run("import", folder, "--out", folder.parent / "whole")
        sizes = [(folder.parent / name / "weights.safetensors").stat().st_size for name in ("small", "whole")]
        assert sizes[0] < 0.35 * sizes[1]

    def test_the_checkpoint_says_what_the_quantised_model_said(self, folder: Path, run: Any) -> None:
        run("import", folder, "--out", folder.parent / "small", "--bits", "8")
        wanted: Any = mlxdecoder.load(folder).model
        quantize(wanted, Quantization(8))
        found: Any = mlxdecoder.load(folder.parent / "small").model
        np.testing.assert_array_equal(numbers(found(ids(2, 5))), numbers(wanted(ids(2, 5))))

    def test_a_quantised_checkpoint_is_not_exported(self, folder: Path, run: Any) -> None:
        run("import", folder, "--out", folder.parent / "small", "--bits", "8")
        with pytest.raises(UserError, match="quantised"):
            export(mlxdecoder.load(folder.parent / "small"), folder.parent / "out")

    def test_other_quantisations_in_a_checkpoint_are_refused(self, folder: Path, run: Any) -> None:
        from tests.training.test_checkpoint import renew_manifest

        out = folder.parent / "small"
        run("import", folder, "--out", out, "--bits", "8")
        told = json.loads((out / "config.json").read_text())
        told["quantization"]["bits"] = 3
        (out / "config.json").write_text(json.dumps(told))
        renew_manifest(out, "config.json")
        with pytest.raises(UserError, match=r"config\.json: quantization"):
            mlxdecoder.load(out)

    def test_groups_are_smaller_where_that_fills_more_maps(self, tmp_path: Path, run: Any) -> None:
        model = small(**{**LLAMA, "d_model": 96})
        export(checkpoint_of(model), tmp_path / "folder")
        _, printed, _ = run("import", tmp_path / "folder", "--out", tmp_path / "small", "--bits", "8")
        assert "quantised: 15 linear maps, 8 bits in groups of 32: " in printed
        quantize(model, Quantization(8, 32))
        found: Any = mlxdecoder.load(tmp_path / "small").model
        np.testing.assert_array_equal(numbers(found(ids(2, 5))), numbers(model(ids(2, 5))))

    def test_a_model_that_is_too_narrow_is_told(self, tmp_path: Path, run: Any) -> None:
        from tests.pretrained.folders import FIXTURES

        status, _, said = run("import", FIXTURES / "bert", "--out", tmp_path / "out", "--bits", "8")
        assert (status, "multiple of 32" in said) == (2, True)
        assert not (tmp_path / "out").exists()

    def test_says_how_much_of_a_mixture_stays_unquantised(self, tmp_path: Path, run: Any) -> None:
        experts = {"n_experts": 4, "experts_per_token": 2}
        model = small(**LLAMA, **experts)
        export(checkpoint_of(model), tmp_path / "folder")
        _, printed, _ = run("import", tmp_path / "folder", "--out", tmp_path / "small", "--bits", "4", "--json")
        told = json.loads(printed)
        sizes = {name: array.size for name, array in tree_flatten(model.parameters())}
        share = sum(size for name, size in sizes.items() if "attention." in name or "router" in name or "head" in name)
        assert told["quantised"].endswith(f": {share / sum(sizes.values()):.0%} of the parameters")
        assert "4 experts of each layer" in told["not quantised"]
