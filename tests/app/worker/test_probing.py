"""The pinned sentence: what is told of it is what the model does at that step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlxdecoder import attend, translate
from mlxdecoder.training.run_folder import RunFolder
from mlxdecoder.translate import load
from tests.app.worker.trained import ask, of_kind

pytestmark = pytest.mark.usefixtures("tiny")


def test_the_probe_reads_the_wording_of_the_corpus_at_each_measurement(tmp_path: Path, corpus: Path) -> None:
    source, target = corpus.read_text(encoding="utf-8").splitlines()[0].split("\t")
    told = of_kind(ask(tmp_path / "run", corpus, probe=source), "probe")
    read = ["".join(message["queries"]["cross"][1:]).replace("▁", " ").strip() for message in told]
    assert read == [target] * 4


def test_the_probe_shows_what_the_saved_model_does(tmp_path: Path, corpus: Path) -> None:
    source, target = corpus.read_text(encoding="utf-8").splitlines()[0].split("\t")
    told = of_kind(ask(tmp_path / "run", corpus, probe=source), "probe")[-1]
    checkpoint = load(RunFolder(tmp_path / "run").newest())
    encode, begin = checkpoint.tokenizer.encode, checkpoint.model.config.begin_id
    assert told["translation"] == translate(checkpoint, [source])[0]
    trace = attend(checkpoint.model, encode(source), [begin, *encode(target)])
    for kind in ("encoder", "decoder", "cross"):
        np.testing.assert_allclose(told.arrays[f"{kind}.weights"], trace.stage(kind), atol=1e-3)


def test_a_sentence_that_no_corpus_knows_is_read_as_the_model_writes_it(tmp_path: Path, corpus: Path) -> None:
    told = of_kind(ask(tmp_path / "run", corpus, probe="Cats cats black."), "probe")[-1]
    tokenizer = load(tmp_path / "run").tokenizer
    assert tokenizer.pieces(tokenizer.encode("Cats cats black.")) == told["keys"]["cross"]
    assert "".join(told["queries"]["cross"][1:]).count("▁") >= len(told["translation"].split()) - 1


def test_the_probe_keeps_the_intended_mask_apart_from_the_weights(tmp_path: Path, corpus: Path) -> None:
    source = corpus.read_text(encoding="utf-8").splitlines()[0].split("\t")[0]
    right, wrong = (
        of_kind(ask(tmp_path / name, corpus, probe=source, steps=1, mistakes=mistakes), "probe")[-1]
        for name, mistakes in (("right", []), ("wrong", ["no-causal-mask"]))
    )
    for message, leaks in ((right, False), (wrong, True)):
        weights, intended = message.arrays["decoder.weights"], message.arrays["decoder.intended"]
        assert (intended == np.tri(len(intended), dtype=bool)).all()
        assert (weights[:, :, ~intended] > 0).any() == leaks
