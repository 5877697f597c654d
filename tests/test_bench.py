"""The measurements measure: every part gives figures, and the peer is the same model."""

import json
from importlib.util import find_spec

import numpy as np
import pytest

from mlxdecoder.bench import decoding
from mlxdecoder.bench.timing import paired
from mlxdecoder.cli import main


def test_pairs_run_in_turn_after_one_round_that_does_not_count():
    calls = []
    paired(lambda: calls.append("a"), lambda: calls.append("b"), rounds=3)
    assert calls == ["a", "b"] * 4


def test_a_cache_is_compared_with_none_and_prefixes_with_each_other():
    rows = decoding.cached_and_not((4, 8))
    assert [row[0] for row in rows] == [4, 8]
    assert all(np.isfinite(row[1:]).all() and min(row[1:]) > 0 for row in rows)
    assert [length for length, _ in decoding.by_prefix((4, 8), tokens=4)] == [4, 8]


def test_bench_prints_json_for_programs(capsys):
    assert main(["bench", "--only", "tracing", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["tokens"] == 32
    assert row["watched / unwatched"] > 0


@pytest.mark.skipif(find_spec("torch") is not None, reason="what is said without torch")
def test_without_torch_the_comparison_is_skipped_with_a_word(capsys):
    assert main(["bench", "--only", "training"]) == 0
    assert "torch is not installed" in capsys.readouterr().out


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
def test_the_twin_in_pytorch_is_the_same_model():
    import torch
    from mlx.utils import tree_flatten

    from mlxdecoder.bench.torch_twin import Twin
    from mlxdecoder.bench.training import CASES, make_batch
    from mlxdecoder.models import Translator

    config, batch = CASES[0].config, make_batch(CASES[0])
    twin, ours = Twin(config).eval(), Translator(config).eval()
    trained = sum(array.size for _, array in tree_flatten(ours.parameters()))
    assert sum(parameter.numel() for parameter in twin.parameters()) == trained
    copy_weights(ours, twin)
    with torch.no_grad():
        theirs = twin(torch.from_numpy(batch.source), torch.from_numpy(batch.inputs)).numpy()
    np.testing.assert_allclose(np.array(ours(batch.source, batch.inputs)), theirs, atol=2e-4)


def copy_weights(ours, twin):
    """Ours into PyTorch's modules of the same place."""
    import torch

    def linear(theirs, layer):
        theirs.weight.data = torch.from_numpy(np.array(layer.weight.T))
        theirs.bias.data = torch.from_numpy(np.array(layer.bias))

    def norm(theirs, layer):
        theirs.weight.data, theirs.bias.data = (torch.from_numpy(np.array(x)) for x in (layer.weight, layer.bias))

    def attention(theirs, layer):
        for name in ("query", "key", "value", "output"):
            linear(getattr(theirs, name), getattr(layer, name))

    twin.embedding.weight.data = torch.from_numpy(np.array(ours.embedding.weight))
    for blocks, stack in ((twin.encoder, ours.encoder), (twin.decoder, ours.decoder)):
        for theirs, block in zip(blocks, stack.blocks, strict=True):
            attention(theirs.attention, block.attention)
            norm(theirs.attention_norm, block.attention_norm)
            if theirs.crosses:
                attention(theirs.cross, block.cross_attention)
                norm(theirs.cross_norm, block.cross_norm)
            linear(theirs.mlp[0], block.mlp.inward)
            linear(theirs.mlp[2], block.mlp.outward)
            norm(theirs.mlp_norm, block.mlp_norm)
    norm(twin.encoder_norm, ours.encoder.norm)
    norm(twin.decoder_norm, ours.decoder.norm)
