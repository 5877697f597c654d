"""What can be trained on: the toy grammar, one file or two, in any script."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlxdecoder.training.checkpoint import load_training
from mlxdecoder.training.run_folder import RunFolder
from mlxdecoder.translate import load
from tests.app.worker.trained import TINY, ask, losses, of_kind

pytestmark = pytest.mark.usefixtures("tiny")


def test_the_toy_grammar_is_what_is_trained_on_without_a_corpus(tmp_path: Path) -> None:
    told = ask(tmp_path / "run", None, steps=1)
    assert "Toy grammar" in " ".join(message["text"] for message in of_kind(told, "preparing"))
    assert load_training(RunFolder(tmp_path / "run").newest()).values["origin"] == {"corpus": [], "limit": None}


def test_two_files_of_equal_length_are_a_corpus_too(tmp_path: Path, corpus: Path) -> None:
    columns = zip(*(line.split("\t") for line in corpus.read_text(encoding="utf-8").splitlines()), strict=True)
    names = [tmp_path / "source.txt", tmp_path / "target.txt"]
    for name, column in zip(names, columns, strict=True):
        name.write_text("\n".join(column) + "\n", encoding="utf-8")
    told = ask(tmp_path / "two", names)
    assert losses(told) == losses(ask(tmp_path / "one", corpus))


def test_a_text_with_more_characters_than_a_preset_has_pieces_gets_more_pieces(tmp_path: Path) -> None:
    characters = [chr(0x4E00 + number) for number in range(600)]
    lines = [f"word {a}\t{b}{a}" for a, b in zip(characters, reversed(characters), strict=True)]
    (tmp_path / "many.tsv").write_text("\n".join(lines), encoding="utf-8")
    told = ask(tmp_path / "run", tmp_path / "many.tsv", steps=1)
    assert (told[-1]["reason"], told[-1]["step"]) == ("done", 1)
    assert load(tmp_path / "run").tokenizer.vocab_size > TINY.vocab_size
