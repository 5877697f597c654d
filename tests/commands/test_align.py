"""`mlxdecoder align`: a line of links for each line, and scores against gold."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from mlx.utils import tree_flatten

from mlxdecoder.cli import main
from mlxdecoder.text.tokenizer import Tokenizer
from mlxdecoder.text.toy import make_pairs
from mlxdecoder.training.checkpoint import save_checkpoint
from tests.builders import lively
from tests.pretrained.folders import FIXTURES
from tests.pretrained.spoken import spoken

Capture = pytest.CaptureFixture[str]
CORPUS = "The black cat sleeps.\tLe chat noir dort.\n\n\tRien.\nI see it.\t\nHe does not like me.\tIl ne m'aime pas.\n"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text(CORPUS, encoding="utf-8")
    return path


def lines(capsys: Capture) -> list[str]:
    return capsys.readouterr().out.split("\n")[:-1]


def test_there_is_a_line_of_links_for_each_line_of_the_corpus(corpus: Path, capsys: Capture) -> None:
    assert main(["align", "--corpus", str(corpus)]) == 0
    told = capsys.readouterr()
    found = told.out.split("\n")[:-1]
    assert len(found) == 5 and found[0] == "0-0 1-2 2-1 3-3" and found[1:4] == ["", "", ""]
    assert "chosen by 200 pairs with gold alignments" in told.err and "3 of 5 pairs have no links" in told.err


def test_two_files_are_aligned_line_by_line(tmp_path: Path, capsys: Capture) -> None:
    for name, text in (("en", "The cat sleeps.\n\nI see it.\n"), ("fr", "Le chat dort.\n\nJe le vois.\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert main(["align", "--corpus", str(tmp_path / "en"), str(tmp_path / "fr"), "--layer", "1"]) == 0
    assert [bool(line) for line in lines(capsys)] == [True, False, True]


def test_sentences_are_translated_and_aligned_in_json(capsys: Capture) -> None:
    assert main(["align", "The black cat sleeps.", " ", "--json"]) == 0
    first, blank = map(json.loads, lines(capsys))
    assert first == {
        "source": "The black cat sleeps.",
        "target": "Le chat noir dort.",
        "source_words": ["The", "black", "cat", "sleeps."],
        "target_words": ["Le", "chat", "noir", "dort."],
        "links": [[0, 0], [1, 2], [2, 1], [3, 3]],
    }
    assert blank == {"source": "", "target": "", "source_words": [], "target_words": [], "links": []}


def test_so_are_lines_of_stdin(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"The cat sleeps.\n\nThe dog eats.\n")))
    assert main(["align"]) == 0
    assert lines(capsys) == ["0-0 1-1 2-2", "", "0-0 1-1 2-2"]


def test_a_place_that_is_asked_for_is_taken(corpus: Path, capsys: Capture) -> None:
    assert main(["align", "--corpus", str(corpus), "--layer", "0", "--head", "3", "--shift"]) == 0
    assert "layer 0, head 3, the row that has read a word (as asked)" in capsys.readouterr().err


def test_words_that_no_space_divides_are_told_of(tmp_path: Path, capsys: Capture) -> None:
    tokenizer = Tokenizer.train(["我喜欢猫", "他喜欢", "猫", "the cat", "a cat"] * 3, 290)
    model = lively("translator", target_vocab=tokenizer.vocab_size)
    save_checkpoint(tmp_path / "model", model.config, dict(tree_flatten(model.parameters())), tokenizer)
    path = tmp_path / "pairs.tsv"
    path.write_text("我喜欢猫\tthe cat\nthe cat\ta cat\n", encoding="utf-8")
    arguments = ["align", "--model", str(tmp_path / "model"), "--corpus", str(path)]
    assert main(arguments) == 0
    told = capsys.readouterr()
    assert told.out.count("\n") == 2 and "1 of 2 pairs have words that no space divides" in told.err
    assert main([*arguments, "--json"]) == 0
    words = json.loads(lines(capsys)[0])["source_words"]
    assert len(words) > 1 and "".join(words) == "我喜欢猫"


def test_gold_of_every_second_pair_chooses_and_that_of_the_others_scores(tmp_path: Path, capsys: Capture) -> None:
    pairs = [pair for pair in make_pairs(400, seed=3) if pair.construction in ("transitive", "copula", "clitic")][:40]
    corpus, gold = tmp_path / "pairs.tsv", tmp_path / "gold.txt"
    corpus.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")
    # The first word is the subject or its determiner in both; the last one holds the full stop.
    ends = [(len(pair.source.split(" ")) - 1, len(pair.target.split(" ")) - 1) for pair in pairs]
    gold.write_text("".join(f"0?0 {source}?{target}\n" for source, target in ends), encoding="utf-8")
    assert main(["align", "--corpus", str(corpus), "--gold", str(gold), "--json"]) == 0
    (scores,) = json.loads(capsys.readouterr().out)["scores"].values()
    assert scores["pairs"] == 20 and 0 < scores["precision"] < 1 and scores["recall"] is None
    assert main(["align", "--corpus", str(corpus), "--gold", str(gold), "--layer", "1"]) == 0
    assert "40" in capsys.readouterr().out


def test_the_pairs_that_are_chosen_by_are_not_scored(tmp_path: Path, capsys: Capture) -> None:
    """The links of every second pair are right, those of the others wrong: the choice sees but the first."""
    lines = [("The black cat sleeps.", "Le chat noir dort."), ("The old dog runs.", "Le vieux chien court.")] * 4
    gold = ["0-0 1-2 2-1 3-3", "0-3 1-3 2-3 3-0"] * 4
    (tmp_path / "pairs.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in lines), encoding="utf-8")
    (tmp_path / "gold.txt").write_text("\n".join(gold), encoding="utf-8")
    files = ["--corpus", str(tmp_path / "pairs.tsv"), "--gold", str(tmp_path / "gold.txt")]
    assert main(["align", *files, "--json"]) == 0
    told = capsys.readouterr()
    assert "chosen by 4 pairs with gold alignments: error rate 0.0%" in told.err
    (scores,) = json.loads(told.out)["scores"].values()
    assert scores["pairs"] == 4 and scores["error_rate"] == 1


@pytest.mark.parametrize("limit", ["0", "-1"])
def test_a_limit_of_nothing_is_refused(corpus: Path, capsys: Capture, limit: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["align", "--corpus", str(corpus), "--limit", limit])
    told = capsys.readouterr()
    assert (stop.value.code, told.out) == (2, "")
    assert f"--limit: found {limit}" in told.err


@pytest.mark.slow
def test_the_toy_grammar_is_scored_by_its_parts(capsys: Capture) -> None:
    assert main(["align", "--toy", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)["scores"]
    assert set(scores) == {"validation", "combinations", "lengths", "constructions"}
    assert scores["validation"]["error_rate"] < 0.05 and scores["combinations"]["error_rate"] < 0.05


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--gold", "gold.txt"], "give the corpus with --corpus"),
        (["--toy", "--corpus", "pairs.tsv"], "one of them is wanted"),
        (["--head", "1", "--toy"], "give --layer, too"),
        (["--shift", "--toy"], "give --layer, too"),
        (["--layer", "2", "--corpus", "pairs.tsv"], "2 layers and 4 heads"),
        (["--corpus", "pairs.tsv", "--gold", "pairs.tsv"], "pairs.tsv, line 1"),
        (["--corpus", "pairs.tsv", "--gold", "short.txt"], "2 lines found for 5 pairs"),
        (["--corpus", "pairs.tsv", "--gold", "beyond.txt"], "line 1: 0-4 found, but the pair has 4 and 4 words"),
        (["--corpus", "pairs.tsv", "--limit", "1", "--gold", "one.txt"], "two pairs are wanted"),
        (["--corpus", "missing.tsv"], "missing.tsv"),
        (["--model", "nowhere", "--toy"], "nowhere"),
    ],
)
def test_what_is_wrong_is_refused_in_one_line(
    corpus: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(corpus.parent)
    for name, text in (("short", "0-0\n0-0\n"), ("beyond", "0-4\n\n\n\n\n"), ("one", "0-0\n")):
        Path(f"{name}.txt").write_text(text, encoding="utf-8")
    assert main(["align", *arguments]) == 2
    told = capsys.readouterr()
    assert said in told.err and told.err.count("mlxdecoder align:") == 1 and told.out == ""


@pytest.mark.parametrize("name", ["marian", "t5"])
def test_a_folder_from_elsewhere_links_the_words_of_the_lines(name: str, tmp_path: Path, capsys: Capture) -> None:
    folder, corpus = spoken(name, tmp_path / name), tmp_path / "pairs.tsv"
    rows = [("the cat  sings , and runs", "Un élève chante à l’école."), ("", "a"), ("a dog", "un")]
    corpus.write_text("".join(f"{source}\t{target}\n" for source, target in rows), encoding="utf-8")
    assert main(["align", "--model", str(folder), "--corpus", str(corpus), "--layer", "1"]) == 0
    found = lines(capsys)
    assert [bool(line) for line in found] == [True, False, True]
    for (source, target), line in zip(rows, found, strict=True):
        sizes = len(source.split()), len(target.split())
        for link in line.split():
            assert all(0 <= int(word) < size for word, size in zip(link.split("-"), sizes, strict=True))
    assert main(["align", "--model", str(folder), "--corpus", str(corpus), "--json"]) == 0
    first = json.loads(lines(capsys)[0])
    assert first["source_words"] == rows[0][0].split() and first["target_words"] == rows[0][1].split()


def test_without_a_tokenizer_ids_are_aligned_and_text_is_refused(tmp_path: Path, capsys: Capture) -> None:
    corpus = tmp_path / "pairs.tsv"
    corpus.write_text("5 6 7\t8 9\n", encoding="utf-8")
    arguments = ["align", "--model", str(FIXTURES / "marian"), "--corpus", str(corpus), "--layer", "0"]
    assert main(arguments) == 0 and lines(capsys)[0]
    corpus.write_text("the cat\t8 9\n", encoding="utf-8")
    assert main(arguments) == 2
    assert "without a tokenizer; give it ids" in capsys.readouterr().err


def test_a_language_model_is_refused_with_what_it_is_good_for(tmp_path: Path, capsys: Capture) -> None:
    assert main(["align", "the cat", "--model", str(spoken("gpt2", tmp_path / "gpt2"))]) == 2
    assert "a translator is wanted. For a language model: mlxdecoder" in capsys.readouterr().err
