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
from mlxdecoder.translate import load
from tests.commands.line_ends import write_line_ends
from tests.perplexity import perplexity_of

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
    both = [pair for pair in zip(SOURCES, WANTED, strict=True) if all(pair)]
    assert found["perplexity"] == pytest.approx(perplexity_of(load(), both), rel=1e-4)
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
        (["--search", "greedy", "--beam", 2], "--beam: is for the beam"),
        (["--beam", 0], "--beam 0"),
        (["--batch-size", 0], "--batch-size 0"),
        (["--corpus", "shorter", "shorter", "--max-tokens", 0], "--max-tokens 0"),
        (["--corpus", "shorter", "shorter", "--moses", "xx"], "--moses 'xx'"),
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


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_nothing_is_refused(run: Run, limit: int) -> None:
    status, out, err = run("evaluate", "--limit", limit)
    assert (status, out) == (2, "")
    assert f"--limit: found {limit}" in err


def test_a_missing_library_is_named_with_its_extra(
    run: Run, test_set: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    status, out, err = run("evaluate", "--corpus", *test_set)
    assert (status, out) == (2, "")
    assert "mlxdecoder[eval]" in err


def test_a_place_that_cannot_be_written_is_told_before_anything_is_translated(
    run: Run, test_set: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlxdecoder.commands.evaluate.evaluate", None)
    for place in (test_set[0] / "made.fr", test_set[0].parent):
        status, out, err = run("evaluate", "--corpus", *test_set, "--out", place)
        assert (status, out) == (2, "")
        assert str(test_set[0].parent) in err
        assert err.count("\n") == 1


def test_what_is_read_is_not_replaced(run: Run, test_set: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    before = [path.read_bytes() for path in test_set]
    monkeypatch.chdir(test_set[0].parent)
    Path("link").symlink_to(test_set[0])
    for place in (*test_set, "link", f"../{test_set[0].parent.name}/{test_set[1].name}"):
        status, out, err = run("evaluate", "--corpus", *test_set, "--out", place)
        assert (status, out) == (2, "")
        assert f"--out {place}: is the same file as" in err
    assert [path.read_bytes() for path in test_set] == before


@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x0c", "\x85", "\u2028"])
def test_a_translation_is_one_line_whatever_ends_of_lines_the_model_writes(
    run: Run, test_set: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    write_line_ends(monkeypatch, "evaluate", end)
    status, _, err = run("evaluate", "--corpus", *test_set, "--search", "greedy", "--out", tmp_path / "made")
    assert status == 0, err
    lines = (tmp_path / "made").read_bytes().decode().splitlines()
    assert lines == [*WANTED[:2], "", "Le chien court.", "Le chat dort.", "Je vois la grande maison."]


def test_pairs_that_are_too_long_are_counted(run: Run, tmp_path: Path) -> None:
    lines = ["The cat sleeps.\tLe chat dort.", "cat " * 600 + "\tLe chat.", "The cat.\t" + "chat " * 600]
    (tmp_path / "a.tsv").write_text("\n".join(lines), encoding="utf-8")
    assert "2 pairs have a side of more than 512 pieces" in run("evaluate", "--corpus", tmp_path / "a.tsv")[1]
    found = evaluated(run, "--corpus", tmp_path / "a.tsv")
    assert found["too_long"] == 2
    assert found["perplexity"] == pytest.approx(perplexity_of(load(), [("The cat sleeps.", "Le chat dort.")]), rel=1e-4)


def test_the_tokens_of_bleu_are_those_of_the_script_unless_others_are_asked_for(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("The cat.\t我喜欢黑猫。\nThe dog.\t我喜欢白狗。\n", encoding="utf-8")
    (tmp_path / "made").write_text("我喜欢白猫。\n我喜欢白狗。\n", encoding="utf-8")
    scored = ("--corpus", tmp_path / "a.tsv", "--hypotheses", tmp_path / "made")
    for asked, told in (((), "tok:zh"), (("--tokenize", "char"), "tok:char"), (("--tokenize", "13a"), "tok:13a")):
        (scores,) = evaluated(run, *scored, *asked)["systems"].values()
        assert told in scores["bleu"]["signature"]


def test_nothing_is_required_so_that_other_evaluations_can_stand_beside_this_one() -> None:
    options = make_parser().parse_args(["evaluate"])
    assert options.run.__module__ == "mlxdecoder.commands.evaluate"
