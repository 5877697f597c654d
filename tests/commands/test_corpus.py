"""`mlxdecoder corpus` as a user types it."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from mlxdecoder.text.corpus import Pair, read_corpus

Run = Callable[..., tuple[int, str, str]]

LINES = ["Go.\tVa\u202f!", "Go.\tAllez\u202f!", "", "Go.\tVa\u202f!", "Stop\t", "capit\u0430l\tcapitale"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.csv"
    rows = ["id,French,English", *(f'{n},"Le chat, n° {n}","The cat, no {n}\nhere"' for n in range(60))]
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.txt.gz"
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in LINES).encode()))
    return path


def test_an_inspection_says_what_training_drops_and_what_to_look_at(run: Run, lines: Path) -> None:
    status, out, err = run("corpus", "inspect", lines)
    assert (status, err) == (0, "")
    assert out.startswith("pairs.txt.gz: tab-separated, gzip")
    told = " ".join(out.split())
    for part in (
        "6 rows; training keeps 3 pairs",
        "1 blank rows line 3: ∅ → ∅",
        "1 one side blank line 5: Stop → ∅",
        "1 duplicates: both sides as in an earlier row line 4: Go. → VaU+202F!",
        "2 pairs whose source has several targets line 1: Go. → VaU+202F!",
        "3 target: narrow no-break spaces (U+202F) line 1: VaU+202F!",
        "1 source: letters of several scripts line 6: capit\u0430 (U+0430)l",
        "3 Latin to Latin",
        f"train --corpus {lines}",
        f"corpus split {lines}",
    ):
        assert part in told
    assert all(len(line) <= 100 or str(lines) in line for line in out.splitlines())


def test_an_inspection_for_programs_is_one_object(run: Run, lines: Path) -> None:
    status, out, _ = run("corpus", "inspect", "--json", lines)
    found = json.loads(out)
    assert status == 0
    assert (found["rows"], found["pairs"], found["format"]["kind"]) == (6, 3, "tab-separated")
    assert [(one["id"], one["count"]) for one in found["dropped"]] == [
        ("blank", 1),
        ("incomplete", 1),
        ("duplicate", 1),
    ]
    assert found["dropped"][1]["examples"] == [{"place": "line 5", "source": "Stop", "target": ""}]
    assert found["scripts"] == [{"source": "Latin", "target": "Latin", "pairs": 3}]
    assert found["lengths"]["words"]["source"]["percentiles"]["100"] == 1
    assert sum(found["lengths"]["characters"]["target"]["histogram"].values()) == 3


def test_choices_are_kept_in_the_advice(run: Run, table: Path) -> None:
    _, out, _ = run("corpus", "inspect", table, "--columns", "English", "French", "--limit", 50, "--preset", "toy")
    assert "50 rows; training keeps 50 pairs" in out
    assert f"train --corpus {table} --columns English French --limit 50 --preset toy" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["inspect", "missing.tsv"], "missing.tsv"),
        (["inspect", "a", "b", "c"], "3 files found"),
        (["inspect", "{lines}", "--limit", 0], "limit: found 0"),
        (["inspect", "{table}", "--columns", "x", "y"], "no column"),
        (["split", "{table}", "--out", "{lines}"], "nothing is overwritten"),
        (["split", "{table}", "--out", "new", "--test", "many"], "'many' found; wanted a number of pairs"),
        (["split", "{table}", "--out", "new", "--test", "101%"], "'101%' found"),
        (["split", "{table}", "--out", "new", "--test", "9" * 400], "found; wanted a number of pairs"),
        (["split", "{table}", "--out", "new", "--test", 60], "--test 60: the corpus has 60 pairs; wanted fewer"),
        (["split", "{lines}", "--out", "new"], "--validation=1: no pair can be held out"),
        (["split", "{table}", "--out", "new", "--limit", -1], "--limit: found -1, wanted a number from 1"),
        (["leaks", "--train", "{table}", "--test", "missing.tsv"], "missing.tsv"),
    ],
)
def test_wrong_requests_are_refused_in_words(
    run: Run, table: Path, lines: Path, arguments: list[object], said: str
) -> None:
    status, _, err = run("corpus", *(str(one).format(table=table, lines=lines) for one in arguments))
    assert status == 2
    assert said in err and "Traceback" not in err


@pytest.mark.parametrize("shape", [[], ["--as", "two-files"], ["--gzip"], ["--as", "two-files", "--gzip"]])
def test_parts_hold_every_pair_once_without_leaks(run: Run, table: Path, shape: list[str]) -> None:
    folder = table.parent / "parts"
    sizes = ["--validation", 10, "--test", "20%", "--seed", 3]
    status, out, _ = run("corpus", "split", table, "--out", folder, *sizes, *shape)
    assert status == 0
    assert "train 38, validation 10, test 12" in out and "60 groups" in out
    parts = [read_corpus(*sorted(folder.glob(f"{part}.*"))).pairs for part in ("train", "validation", "test")]
    assert list(map(len, parts)) == [38, 10, 12]
    assert {pair for part in parts for pair in part} == set(read_corpus(table).pairs)
    assert Pair("Le chat, n° 7", "The cat, no 7 here") in {pair for part in parts for pair in part}


def test_the_same_seed_gives_the_same_files(run: Run, table: Path) -> None:
    sizes = ["--validation", 10, "--test", 10]
    for name, seed in (("one", 1), ("same", 1), ("other", 2)):
        run("corpus", "split", table, "--out", table.parent / name, *sizes, "--seed", seed)
    one, same, other = ((table.parent / name / "test.tsv").read_bytes() for name in ("one", "same", "other"))
    assert one == same != other


def test_leaks_are_counted_and_change_the_exit_status(run: Run, tmp_path: Path) -> None:
    for name, text in (("train.tsv", "Go.\tVa.\nStop.\tArrête.\n"), ("test.tsv", "go. \tPars.\nRun.\tCours.\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    status, out, _ = run("corpus", "leaks", "--train", tmp_path / "train.tsv", "--test", tmp_path / "test.tsv")
    assert status == 1
    assert out.splitlines()[0] == "1 of 2 pairs of test.tsv share a sentence with train.tsv."
    assert "go. → Pars." in out
    status, out, _ = run("corpus", "leaks", "--train", tmp_path / "test.tsv", "--test", tmp_path / "test.tsv")
    assert (status, out.splitlines()[0][:6]) == (1, "2 of 2")


def test_a_split_of_a_tangled_corpus_has_no_leaks(run: Run, tmp_path: Path) -> None:
    chance = random.Random(0)
    words = [f"w{n}" for n in range(400)]
    pairs = [f"{chance.choice(words)}\t{chance.choice(words)}" for _ in range(200)]
    (tmp_path / "all.tsv").write_text("\n".join(pairs))
    run("corpus", "split", tmp_path / "all.tsv", "--out", tmp_path / "parts", "--validation", 5, "--test", 15)
    for part in ("validation", "test"):
        files = ["--train", tmp_path / "parts" / "train.tsv", "--test", tmp_path / "parts" / f"{part}.tsv"]
        assert run("corpus", "leaks", *files)[0] == 0


def test_whether_there_is_a_header_can_be_said(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("eins,zwei\nGo.,Va !\nRun!,Cours !\n", encoding="utf-8")
    rows = {"--header": 2, "--no-header": 3}
    for option, count in rows.items():
        _, out, _ = run("corpus", "inspect", path, option)
        assert f"{count} rows" in out and f"train --corpus {path} {option}" in out


@pytest.mark.parametrize(("pairs", "held_out"), [(3, 1), (60, 3), (1001, 50), (10_100, 500)])
def test_a_split_holds_out_500_pairs_or_a_twentieth(run: Run, tmp_path: Path, pairs: int, held_out: int) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"word {n}\tmot {n}\n" for n in range(pairs)))
    status, out, err = run("corpus", "split", path, "--out", tmp_path / "parts")
    assert status == 0, err
    assert f"train {pairs - 2 * held_out:,}, validation {held_out}, test {held_out}" in out
