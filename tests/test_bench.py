"""The measurements measure: every part gives figures, and the peer is the same model."""

import json
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from mlxdecoder.bench import decoding, translation
from mlxdecoder.bench.peer import peer
from mlxdecoder.bench.timing import paired
from mlxdecoder.cli import main
from mlxdecoder.errors import UserError


def test_pairs_run_in_turn_after_one_round_that_does_not_count():
    calls = []
    paired(lambda: calls.append("a"), lambda: calls.append("b"), 3, "letters")
    assert calls == ["a", "b"] * 4


def test_a_part_that_takes_time_has_a_bar_on_a_terminal_alone(capsys, monkeypatch):
    decoding.tracing(length=2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for part in (
        lambda: decoding.tracing(2),
        lambda: decoding.cached_and_not((2,)),
        lambda: decoding.by_prefix((2,), 1),
    ):
        part()
        assert "2 tokens" in capsys.readouterr().err


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
def test_without_torch_the_comparisons_are_skipped_with_a_word(capsys):
    assert main(["bench", "--only", "training", "translation"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(",")[0] for line in said if "not installed" in line] == ["Training step", "Translation"]


def test_speeds_are_medians_and_ratios_are_of_one_round():
    rounds = [[1.0, 2.0, 0.5], [2.0, 8.0, 0.5], [4.0, 12.0, 8.0]]  # seconds of ours, transformers, CTranslate2
    targets = [[[5], [6]], [[5], [6]], [[5], [7]]]
    found = translation.figures("small", 4, rounds, targets)
    assert (found.size, found.beam, found.batch) == ("small", 4, 2)
    assert (found.ours, found.transformers, found.ctranslate2) == (2 / 2, 2 / 8, 2 / 0.5)
    assert (found.to_transformers, found.to_ctranslate2) == (3, 0.5)
    assert found.same == 0.5


def test_fewer_operations_when_prepared_and_as_many_more_as_there_are_layers():
    small, prepared = translation.operations("small")
    assert 0 < prepared < small
    assert translation.operations("opus")[1] > 2 * prepared  # six layers, not two


def test_a_peer_answers_line_by_line_and_its_end_is_told(tmp_path, monkeypatch):
    (tmp_path / "parrot.py").write_text("print(input() + '!', flush=True)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with peer("parrot") as ask:
        assert ask("hello") == "hello!\n"
        with pytest.raises(UserError, match="parrot"):
            ask("again")


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
