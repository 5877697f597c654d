"""`mlxdecoder evaluate` as a user types it, on small test sets for the packaged model."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlxdecoder.cli import make_parser

Run = Callable[..., tuple[int, str, str]]

SOURCES = ["The black cat sleeps.", "The dog runs.", "", "The dog runs.", "The cat sleeps.", "I see the big house."]
WANTED = ["Le chat noir dort.", "Le chien court.", "Rien.", "Le chien court.", "", "Je vois une maison."]


@pytest.fixture
def test_set(tmp_path: Path) -> list[Path]:
    """Two files, with a blank line on either side and a pair that comes twice."""
    files = [tmp_path / "test.en", tmp_path / "test.fr.gz"]
    files[0].write_text("".join(f"{line}\n" for line in SOURCES), encoding="utf-8")
    files[1].write_bytes(gzip.compress("".join(f"{line}\n" for line in WANTED).encode()))
    return files


def evaluated(run: Run, *arguments: object) -> dict[str, Any]:
    status, out, err = run("evaluate", "--json", *arguments)
    assert status == 0, err
    return json.loads(out)


def test_without_anything_the_packaged_model_is_scored_on_unseen_toy_sentences(run: Run) -> None:
    status, out, _ = run("evaluate", "--limit", 20)
    assert status == 0
    assert out.startswith("Model: the packaged toy model\nTest set: 20 pairs of the toy grammar")
    for said in ("greedy", "beam 5", "BLEU", "chrF", "exact match", "length ratio", "stopped at the limit", "tok:13a"):
        assert said in out


def test_the_whole_test_set_counts(run: Run, test_set: list[Path]) -> None:
    """Five references hold text, of which three are met; nothing is dropped, not even what comes twice."""
    found = evaluated(run, "--corpus", *test_set)
    assert found["pairs"] == len(SOURCES)
    assert found["model"] == "the packaged toy model"
    assert found["perplexity"] > 1
    assert list(found["systems"]) == ["greedy", "beam 5"]
    for scores in found["systems"].values():
        assert scores["exact_match"] == pytest.approx(3 / 5)
        assert scores["stopped_at_limit"] == 0
        assert scores["sentences_per_second"] > 0
    assert "2 of them with a blank side" in run("evaluate", "--corpus", *test_set)[1]


def test_translations_are_written_a_line_each_in_order_and_score_the_same_as_a_file(
    run: Run, test_set: list[Path], tmp_path: Path
) -> None:
    written = tmp_path / "made.fr"
    found = evaluated(run, "--corpus", *test_set, "--search", "greedy", "--out", written, "--moses", "fr")
    lines = written.read_text(encoding="utf-8").split("\n")
    assert lines == [*WANTED[:2], "", "Le chien court.", "Le chat dort.", "Je vois la grande maison.", ""]
    again = evaluated(run, "--corpus", *test_set, "--hypotheses", written, "--moses", "fr")
    scores = again["systems"][str(written)]
    assert scores == {name: found["systems"]["greedy"][name] for name in scores}
    assert {"bleu", "chrf", "bleu_moses", "exact_match", "length_ratio"} == set(scores)


def test_of_both_searches_the_beam_is_written(run: Run, test_set: list[Path], tmp_path: Path) -> None:
    status, out, _ = run("evaluate", "--corpus", *test_set, "--beam", 3, "--out", tmp_path / "both")
    assert status == 0
    assert f"Wrote the translations of beam 3 to {tmp_path / 'both'}" in out
    run("evaluate", "--corpus", *test_set, "--beam", 3, "--search", "beam", "--out", tmp_path / "beam")
    assert (tmp_path / "both").read_text() == (tmp_path / "beam").read_text()


def test_files_of_translations_are_compared_in_columns(run: Run, test_set: list[Path], tmp_path: Path) -> None:
    for name, last in (("a", "Je vois."), ("b", WANTED[-1])):
        (tmp_path / name).write_text("\n".join([*WANTED[:-1], last]), encoding="utf-8")
    files = (tmp_path / "a", tmp_path / "b")
    status, out, _ = run("evaluate", "--corpus", *test_set, "--hypotheses", *files, "--lowercase")
    header = next(line for line in out.splitlines() if str(files[0]) in line)
    assert status == 0
    assert header.split() == [str(files[0]), str(files[1]), "p"]
    assert "BLEU, lower case" in out
    assert "sentences a second" not in out


def test_a_limit_of_tokens_shows_as_a_share(run: Run, test_set: list[Path]) -> None:
    found = evaluated(run, "--corpus", *test_set, "--search", "greedy", "--max-tokens", 1)
    assert found["systems"]["greedy"]["stopped_at_limit"] == pytest.approx(5 / 6)


def test_sources_that_the_model_cannot_read_are_warned_of(run: Run, tmp_path: Path) -> None:
    (tmp_path / "zh.tsv").write_text("我看见一只黑色的大猫睡觉\tThe cat.\nThe cat.\tLe chat.\n", encoding="utf-8")
    status, _, err = run("evaluate", "--corpus", tmp_path / "zh.tsv", "--search", "greedy")
    assert status == 0
    assert "1 of 2 sources hold characters that the model has never seen: 我 看" in err
    assert "and 2 more" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", "nowhere"], "nowhere: no such folder"),
        (["--corpus", "nothing.tsv"], "nothing.tsv"),
        (["--corpus", "a", "b", "c"], "--corpus: 3 files"),
        (["--corpus", "blank.tsv"], "blank.tsv: no sentence with its translation in 2 rows"),
        (["--corpus", "longer", "shorter"], "3 lines"),
        (["--corpus", "shorter", "shorter", "--hypotheses", "longer"], "3 lines found for 2"),
        (["--corpus", "shorter", "shorter", "--hypotheses", "nothing"], "nothing"),
        (["--corpus", "shorter", "shorter", "--hypotheses", "longer", "--beam", 2], "--beam: is for a model"),
        (["--hypotheses", "longer"], "--corpus"),
        (["--columns", 1, 2], "--columns: is for a corpus"),
        (["--limit", 0], "--limit 0"),
        (["--search", "greedy", "--beam", 2], "--beam: is for the beam"),
        (["--beam", 0], "beam = 0"),
        (["--batch-size", 0], "batch_size = 0"),
        (["--corpus", "shorter", "shorter", "--max-tokens", 0], "max_tokens = 0"),
        (["--corpus", "shorter", "shorter", "--moses", "xx"], "moses = 'xx'"),
    ],
)
def test_a_wrong_request_is_answered_in_two_lines_at_most_and_status_2(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[object], said: str
) -> None:
    for name, text in (("longer", "a\nb\nc\n"), ("shorter", "a\nb\n"), ("blank.tsv", "\n\n")):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    status, out, err = run("evaluate", *arguments)
    assert (status, out) == (2, "")
    assert said in err
    assert len(err.strip().splitlines()) <= 2


def test_a_missing_library_is_named_with_its_extra(
    run: Run, test_set: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    status, out, err = run("evaluate", "--corpus", *test_set)
    assert (status, out) == (2, "")
    assert "mlxdecoder[eval]" in err


def test_a_file_that_cannot_be_written_costs_no_figures(run: Run, test_set: list[Path]) -> None:
    status, out, err = run("evaluate", "--corpus", *test_set, "--out", test_set[0] / "made.fr")
    assert status == 2
    assert "BLEU" in out
    assert str(test_set[0]) in err


def test_nothing_is_required_so_that_other_evaluations_can_stand_beside_this_one() -> None:
    options = make_parser().parse_args(["evaluate"])
    assert options.run.__module__ == "mlxdecoder.commands.evaluate"
