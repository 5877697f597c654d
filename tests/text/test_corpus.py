"""Corpus reading: every trap of real files is either read right, counted, or refused with its place."""

from __future__ import annotations

import gzip
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxdecoder.errors import UserError
from mlxdecoder.text.corpus import Pair, clean, read_corpus


def write(path: Path, content: str | bytes) -> Path:
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["fra.txt", "fra.txt.gz"])
def test_tab_separated_pairs_are_read_plain_or_packed(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, "Go.\tVa !\nRun!\tCourez\u202f!\tCC-BY 2.0 attribution\n")
    corpus = read_corpus(path)
    assert corpus.pairs == [Pair("Go.", "Va !"), Pair("Run!", "Courez\u202f!")]
    assert corpus.name == name


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_two_files_are_paired_line_by_line(tmp_path: Path, suffix: str) -> None:
    source = write(tmp_path / f"a.en{suffix}", "one\ntwo\n")
    target = write(tmp_path / f"a.de{suffix}", "eins\nzwei")  # the last line end may be missing
    corpus = read_corpus(source, target)
    assert corpus.pairs == [Pair("one", "eins"), Pair("two", "zwei")]
    assert source.name in corpus.name and target.name in corpus.name


def test_the_report_counts_what_became_of_every_line(tmp_path: Path) -> None:
    lines = ["Go.\tVa !", "", "Go.\tVa !", " \t ", "Stop\t\u00a0", "\tRien", "Taxi\tTaxi", "Go.\tAllez !", "Go. \tVa !"]
    corpus = read_corpus(write(tmp_path / "a.tsv", "\n".join(lines)))
    assert corpus.pairs == [Pair("Go.", "Va !"), Pair("Taxi", "Taxi"), Pair("Go.", "Allez !")]
    report = corpus.report
    assert (report.lines, report.pairs, report.blank, report.incomplete) == (9, 3, 2, 2)
    assert (report.duplicates, report.copies, report.stopped) == (2, 1, False)
    told = report.describe()
    for part in ("read: 9", "kept: 3", "blank 2", "one side blank 2", "duplicates 2", "same 1"):
        assert part in told
    assert len(told.split("\n")) == 3


def test_a_clean_corpus_is_described_in_one_line(tmp_path: Path) -> None:
    told = read_corpus(write(tmp_path / "a.tsv", "a\tb\nc\td\n")).report.describe()
    assert "\n" not in told and "Dropped" not in told


def test_a_blank_side_drops_its_pair_and_shifts_no_other(tmp_path: Path) -> None:
    source = write(tmp_path / "a.en", "one\n\nthree\nfour\n")
    target = write(tmp_path / "a.de", "eins\nzwei\n \nvier\n")
    corpus = read_corpus(source, target)
    assert corpus.pairs == [Pair("one", "eins"), Pair("four", "vier")]
    assert corpus.report.incomplete == 2


@pytest.mark.parametrize(("sources", "targets"), [("a\nb\nc\n", "x\n"), ("a\n", "x\ny\nz\n"), ("a\nb\nc\n", "")])
def test_files_of_unequal_length_are_refused_with_both_counts(tmp_path: Path, sources: str, targets: str) -> None:
    source, target = write(tmp_path / "a.en", sources), write(tmp_path / "a.de", targets)
    message = rf"a\.en has {sources.count(chr(10))} lines, .*a\.de has {targets.count(chr(10))}"
    with pytest.raises(UserError, match=message):
        read_corpus(source, target)


def test_both_sides_are_composed_and_stripped_but_not_changed_inside(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "\u00a0caf\ufeffe\u0301 \t\u202fa\u202f?  b\u00a0c\u3000\r\n")
    assert read_corpus(path).pairs == [Pair("café", "a\u202f?  b\u00a0c")]


def texts(excluded: str) -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_characters=excluded, exclude_categories=["Cs"]))


@given(cells=st.lists(texts('\t\n\r\v\f\0\ufeff"'), min_size=2, max_size=3))
def test_any_text_without_tabs_comes_back_from_a_file(
    tmp_path_factory: pytest.TempPathFactory, cells: list[str]
) -> None:
    """Quotes are left out: in a row of nothing but tabs and quotes, nobody can tell whether they are those of CSV.

    So are the line ends of old printers, which are spaces afterwards.
    """
    source, target = (unicodedata.normalize("NFC", cell).strip() for cell in cells[:2])
    path = write(tmp_path_factory.mktemp("any") / "a.tsv", '"The first," he said.\tone\n' + "\t".join(cells) + "\n")
    kept = [Pair(source, target)] if source and target else []
    assert read_corpus(path).pairs == [Pair('"The first," he said.', "one"), *kept]


@pytest.mark.parametrize(("line", "found"), [("no tab here", "no tab"), ("a\tb\tc\td", "4 columns")])
def test_a_line_of_other_columns_is_refused_with_its_number(tmp_path: Path, line: str, found: str) -> None:
    path = write(tmp_path / "a.tsv", f"a\tb\n\n{line}\n")
    with pytest.raises(UserError, match=rf"a\.tsv, line 3: {found}"):
        read_corpus(path)


def test_the_limit_stops_reading_early_and_is_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", b"a\tb\na\tb\nc\td\ne\tf\n\xff broken\n")
    corpus = read_corpus(path, limit=2)
    assert corpus.pairs == [Pair("a", "b"), Pair("c", "d")]
    assert corpus.report.stopped and "stopped" in corpus.report.describe()
    assert not read_corpus(write(tmp_path / "b.tsv", "a\tb\nc\td\n"), limit=2).report.stopped


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(tmp_path: Path, limit: int) -> None:
    with pytest.raises(UserError, match=f"limit: found {limit}"):
        read_corpus(write(tmp_path / "a.tsv", "a\tb\n"), limit=limit)


@pytest.mark.parametrize("content", ["", "\n\n", "\t\n", "a\t\n"])
def test_a_corpus_without_pairs_is_refused_by_name(tmp_path: Path, content: str) -> None:
    with pytest.raises(UserError, match=r"a\.tsv: no sentence pairs"):
        read_corpus(write(tmp_path / "a.tsv", content))


def test_what_was_found_is_described_above_what_was_read(tmp_path: Path) -> None:
    told = read_corpus(write(tmp_path / "a.tsv.gz", "one\tun\ntwo\tdeux\n")).describe().split("\n")
    assert told[0] == "a.tsv.gz: tab-separated, gzip, UTF-8, no header; source: column 1, target: column 2."
    assert told[1:] == ["Rows read: 2; pairs kept: 2."]


@given(texts("\0"))
def test_a_cleaned_text_is_one_line_and_stays_as_it_is(text: str) -> None:
    cleaned = clean(text)
    assert not {"\n", "\t", "\r", "\v", "\f"} & set(cleaned)
    assert clean(cleaned) == cleaned == cleaned.strip()


def test_line_ends_and_tabs_inside_become_single_spaces() -> None:
    assert clean("one,\r\n  two \t\tthree\n") == "one, two three"
    assert clean("one\rtwo\vthree \f\r four\u2028five") == "one two three four\u2028five"


def test_pairs_of_rows_with_more_cells_than_columns_are_told(tmp_path: Path) -> None:
    text = "en,fr\nGo.,Va !\nHello, my friend,Bonjour\nRun!,Cours !,\nStop.,Halte.\n"
    report = read_corpus(write(tmp_path / "a.csv", text)).report
    assert (report.pairs, report.wide) == (4, 1)
    assert "Kept, but have a look: more cells than columns 1." in report.describe()
    copies = read_corpus(write(tmp_path / "b.csv", text + "Taxi,Taxi\n")).report.describe()
    assert "have a look: source and target the same 1, more cells than columns 1." in copies


@pytest.mark.parametrize("name", ["missing.tsv", "missing.tsv.gz", "."])
def test_a_file_that_cannot_be_opened_is_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_corpus(tmp_path / name)


def test_the_progress_is_told_and_may_end_the_reading(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "".join(f"word {n}\tmot {n}\n" for n in range(25_000)))
    told: list[str] = []
    assert len(read_corpus(path, progress=told.append).pairs) == 25_000
    assert told == ["Reading a.tsv: 10,000 rows", "Reading a.tsv: 20,000 rows"]

    def stop(text: str) -> None:
        raise KeyboardInterrupt(text)

    with pytest.raises(KeyboardInterrupt, match="10,000"):
        read_corpus(path, progress=stop)
