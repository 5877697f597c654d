"""What a training run reads: what is chosen of a corpus, one to measure by, and the same again when it resumes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mlxdecoder.commands.train_text import Origin
from mlxdecoder.errors import UserError
from mlxdecoder.text.corpus import Pair
from mlxdecoder.text.readers import Choice
from mlxdecoder.training.checkpoint import load_training
from mlxdecoder.training.run_folder import RunFolder

Run = Callable[..., tuple[int, str, str]]
SMALL = "--steps 2 --d-model 16 --n-heads 2 --d-ff 32 --n-layers 1 --n-encoder-layers 1 --vocab-size 320".split()


def write(path: Path, *lines: str) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "origin",
    [
        Origin([], None),
        Origin(["a.tsv"], 10),
        Origin(["a.csv"], None, ("no-mask",), Choice(columns=("en", "2"))),
        Origin(["a.csv"], None, (), Choice(header=False)),
        Origin(["a.csv"], None, (), Choice(header=True)),
        Origin(["a.tmx"], None, (), Choice(languages=("en", "fr")), ("b.tmx",)),
    ],
)
def test_an_origin_comes_back_from_json(origin: Origin) -> None:
    assert Origin.from_dict(json.loads(json.dumps(origin.to_dict()))) == origin


def test_what_was_not_asked_for_is_not_kept_so_that_older_runs_go_on() -> None:
    assert Origin(["a.tsv"], 10).to_dict() == {"corpus": ["a.tsv"], "limit": 10}
    assert Origin.from_dict({"corpus": ["a.tsv"], "limit": 10}) == Origin(["a.tsv"], 10)


def test_the_pairs_to_measure_by_are_those_of_the_other_corpus_and_leaks_are_dropped(tmp_path: Path) -> None:
    corpus = write(tmp_path / "a.csv", "en,de,fr", *(f"word {n},Wort {n},mot {n}" for n in range(10)))
    other = write(tmp_path / "b.csv", "fr,en", "Mot 1,new", "neuf,WORD  2", "autre,other")
    text = Origin([corpus], None, choice=Choice(columns=("en", "fr")), validation=(other,)).read()
    assert text.validation == [Pair("new", "Mot 1"), Pair("WORD  2", "neuf"), Pair("other", "autre")]
    assert text.train == [Pair(f"word {n}", f"mot {n}") for n in range(10) if n not in (1, 2)]
    assert "8 pairs to train on, 3 to measure by" in text.said
    assert "Dropped from training, since they share one: 2." in text.said
    assert 'a.csv: CSV, UTF-8, header; source: column "en", target: column "fr"' in text.said


@pytest.mark.parametrize(("count", "held_out"), [(10, 2), (14, 2), (2504, 500), (3000, 500)])
def test_a_fifth_is_held_out_but_never_more_than_500_pairs(tmp_path: Path, count: int, held_out: int) -> None:
    corpus = write(tmp_path / "a.tsv", *(f"word {n}\tmot {n}" for n in range(count)))
    text = Origin([corpus], None).read()
    assert (len(text.train), len(text.validation)) == (count - held_out, held_out)


def test_fewer_are_held_out_where_pairs_hang_together_by_a_sentence(tmp_path: Path) -> None:
    corpus = write(tmp_path / "a.tsv", *(f"hello\tbonjour {n}" for n in range(19)), "cat\tchat")
    text = Origin([corpus], None).read()
    assert text.validation == [Pair("cat", "chat")]
    assert len(text.train) == 19


def test_a_corpus_of_which_nothing_is_left_is_refused(tmp_path: Path) -> None:
    corpus = write(tmp_path / "a.tsv", "one\tun", "two\tdeux")
    with pytest.raises(UserError, match="--validation: every pair of a.tsv shares a sentence with a.tsv"):
        Origin([corpus], None, validation=(corpus,)).read()


def test_a_run_is_measured_by_another_corpus_and_resumes(run: Run, tmp_path: Path) -> None:
    corpus = [write(tmp_path / f"a.{side}", *(f"{side} number {n}" for n in range(9))) for side in ("en", "fr")]
    other = [write(tmp_path / f"b.{side}", f"{side} number one", f"{side} number 4") for side in ("en", "fr")]
    out = tmp_path / "run"
    status, said, err = run("train", "--corpus", *corpus, "--validation", *other, "--out", out, *SMALL)
    assert status == 0, err
    assert "b.en and b.fr: two files, UTF-8." in said
    assert "8 pairs to train on, 2 to measure by, with no sentence in both. Dropped" in said
    assert load_training(RunFolder(out).newest()).values["origin"]["validation"] == other
    status, said, err = run("train", "--resume", "--out", out, "--steps", 3)
    assert status == 0, err
    assert "8 pairs to train on, 2 to measure by" in said


def test_at_the_end_what_was_measured_by_is_translated_and_nothing_that_was_too_long_for_it(
    run: Run, tmp_path: Path
) -> None:
    corpus = write(tmp_path / "a.tsv", *(f"en {n}\tfr {n}" for n in range(9)))
    other = write(tmp_path / "b.tsv", "one en\tun fr", "en " * 30_000 + "\tfr", "en\t" + "fr " * 101, "two\tdeux")
    status, out, err = run("train", "--corpus", corpus, "--validation", other, "--out", tmp_path / "run", *SMALL)
    assert status == 0, err
    assert "over 2 sentences, greedy" in out
    assert [line for line in out.splitlines() if "(wanted: " in line] == ["    (wanted: un fr)", "    (wanted: deux)"]


def test_a_run_with_chosen_languages_resumes(run: Run, tmp_path: Path) -> None:
    units = "".join(
        f'<tu><tuv xml:lang="de"><seg>Wort {n}</seg></tuv><tuv xml:lang="en"><seg>word {n}</seg></tuv>'
        f'<tuv xml:lang="fr"><seg>mot {n}</seg></tuv></tu>'
        for n in range(8)
    )
    corpus = write(tmp_path / "a.tmx", f'<tmx version="1.4"><header/><body>{units}</body></tmx>')
    out = tmp_path / "run"
    status, said, err = run("train", "--corpus", corpus, "--languages", "fr", "en", "--out", out, *SMALL)
    assert status == 0, err
    assert 'TMX, UTF-8; source: language "fr", target: language "en"; not taken: language "de".' in said
    status, said, err = run("train", "--resume", "--out", out, "--steps", 3)
    assert status == 0, err
    assert 'source: language "fr", target: language "en"' in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--columns", "1", "2"], "--columns 1 2: is for a corpus; leave it out with the toy grammar"),
        (["--validation", "a", "b"], "--validation a b: is for a corpus"),
        (["--corpus", "a", "b", "c"], "--corpus: 3 files found; one or two are wanted"),
        (["--corpus", "a", "--validation", "a", "b", "c"], "--validation: 3 files found"),
        (["--resume", "--languages", "en", "fr"], "--languages: a resumed run goes on as it began"),
        (["--resume", "--validation", "a"], "--validation: a resumed run goes on as it began"),
        (["--resume", "--limit", 5], "--limit: a resumed run goes on as it began"),
        (["--resume", "--no-header"], "--header: a resumed run goes on as it began"),
        (["--resume", "--vocab-size", 0], "--vocab-size: a resumed run goes on as it began"),
        (["--resume", "--toy"], "--toy: a resumed run goes on as it began"),
    ],
)
def test_what_makes_no_sense_is_refused(run: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    status, _, err = run("train", "--out", tmp_path / "run", *arguments)
    assert status == 2
    assert message in err
