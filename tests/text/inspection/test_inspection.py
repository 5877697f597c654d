"""Inspection: it counts what reading drops, and finds what is wrong where it was put, with the places."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxdecoder.errors import UserError
from mlxdecoder.text.corpus import read_corpus
from mlxdecoder.text.inspection import Finding, Inspection, inspect_corpus
from mlxdecoder.text.inspection.examples import shown
from mlxdecoder.text.inspection.report import summary
from mlxdecoder.text.readers import Row, open_rows
from mlxdecoder.text.tokenizer import Tokenizer

WORDS = "the a cat dog house sees eats with under big small red and runs to from one tree bird sleeps".split()


def rows(pairs: Sequence[tuple[str, str]]) -> list[Row]:
    return [Row(source, target, f"line {number}") for number, (source, target) in enumerate(pairs, 1)]


def inspect(pairs: Sequence[tuple[str, str]], longest: int = 100, limit: int | None = None) -> Inspection:
    return inspect_corpus(rows(pairs), lambda: rows(pairs), longest, 400, limit)


def counts(findings: Sequence[Finding]) -> dict[str, int]:
    return {f"{one.id} {one.side}".strip(): one.count for one in findings}


def usual(count: int) -> list[tuple[str, str]]:
    """Distinct pairs of sentences of which none is remarkable."""
    chance = random.Random(5)
    texts = (" ".join(chance.choices(WORDS, k=chance.randint(4, 9))) for _ in range(count))
    return [(f"{text} {letters(n)}", f"{text.upper()} X{letters(n)}") for n, text in enumerate(texts)]


def letters(number: int) -> str:
    return "".join("abcdefghij"[int(digit)] for digit in str(number))


cells = st.sampled_from(["a", "A", "b ", " ", "", "c c", "c\u00a0c", "é", "e\u0301", "\ufeff", "d\re"])
tables = st.lists(st.tuples(cells, cells), min_size=1, max_size=30)


@given(tables, st.none() | st.integers(1, 8))
def test_what_training_drops_is_what_reading_drops(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]], limit: int | None
) -> None:
    path = tmp_path_factory.mktemp("any") / "a.tsv"
    path.write_bytes("".join(f"{source}\t{target}\n" for source, target in [*pairs, ("last", "one")]).encode())
    report = read_corpus(path, limit=limit).report
    found = inspect_corpus(open_rows(path), lambda: open_rows(path), 100, 400, limit)
    dropped = counts(found.dropped)
    assert (found.rows, found.pairs) == (report.lines, report.pairs)
    assert dropped.get("blank", 0) == report.blank
    assert dropped.get("incomplete", 0) == report.incomplete
    assert dropped.get("duplicate", 0) == report.duplicates
    assert counts(found.suspicions).get("copy", 0) == report.copies


@given(tables)
def test_repeated_sentences_are_counted_up_to_case_and_spaces(pairs: list[tuple[str, str]]) -> None:
    def alike(text: str) -> str:
        return " ".join(text.replace("e\u0301", "é").replace("\ufeff", "").lower().split())

    kept = list(dict.fromkeys((s.strip().replace("e\u0301", "é"), t.strip().replace("e\u0301", "é")) for s, t in pairs))
    distinct = list(dict.fromkeys((alike(s), alike(t)) for s, t in kept if alike(s) and alike(t)))
    targets, sources = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for source, target in distinct:
        targets[source].add(target)
        sources[target].add(source)
    found = counts(inspect(pairs).suspicions)
    assert found.get("several-targets", 0) == sum(len(one) for one in targets.values() if len(one) > 1)
    assert found.get("several-sources", 0) == sum(len(one) for one in sources.values() if len(one) > 1)


def test_findings_come_with_the_places_of_the_first_three() -> None:
    pairs = [*usual(5), ("", "x"), ("y", ""), (" ", "\u00a0"), ("z", ""), ("", "w"), usual(1)[0]]
    found = inspect(pairs)
    assert counts(found.dropped) == {"blank": 1, "incomplete": 4, "duplicate": 1}
    places = {one.id: [found.example(one, row).place for row in one.rows] for one in found.dropped}
    assert places == {"blank": ["line 8"], "incomplete": ["line 6", "line 7", "line 9"], "duplicate": ["line 11"]}


def test_rows_with_more_cells_than_columns_are_found(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("en,fr\nGo.,Va !\nHello, my friend,Bonjour\nRun!,Cours !,\n,,,x\n", encoding="utf-8")
    found = inspect_corpus(open_rows(path), lambda: open_rows(path), 100, 400)
    wide = next(one for one in found.suspicions if one.id == "wide")
    assert (wide.count, [found.example(wide, row).place for row in wide.rows]) == (1, ["line 3"])


def test_an_unremarkable_corpus_has_no_findings() -> None:
    found = inspect(usual(300))
    assert not found.dropped and not found.suspicions and not found.marks
    assert found.scripts == {("Latin", "Latin"): 300}


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (("a cat sees the small dog", "X"), "ratio"),
        (("a cat", "A CAT SEES THE DOG " * 10), "ratio"),
        (("in 1990 a cat", "IN 1991 A CAT"), "numbers"),
        (("the same here", "the same here"), "copy"),
        (("THE CAT", "quite something else"), ""),
        (("in 19 and 90 cats", "A 1990 CAT"), ""),
        (("a cat with ١٢", "A CAT WITH 12"), ""),
    ],
)
def test_a_suspicious_pair_is_found_among_usual_ones(pair: tuple[str, str], expected: str) -> None:
    found = inspect([*usual(200), pair])
    assert counts(found.suspicions) == ({expected: 1} if expected else {})
    assert all(found.example(one, row).place == "line 201" for one in found.suspicions for row in one.rows)


def test_exchanged_sides_and_foreign_scripts_are_told_apart() -> None:
    pairs = [(source, "кошка " * (n + 1)) for n, (source, _) in enumerate(usual(20))]
    found = inspect([*pairs, ("большая кошка", "a big cat"), ("a small dog", "μικρό σκυλί"), ("12", "собака")])
    assert counts(one for one in found.suspicions if one.id != "ratio") == {"swapped": 1, "script target": 1}
    assert found.scripts["Cyrillic", "Latin"] == 1 and found.scripts["Latin", "Greek"] == 1


def test_a_sentence_on_both_sides_is_found() -> None:
    found = inspect([*usual(50), ("one two three", "eins zwei drei"), ("Eins zwei  drei", "un deux trois")])
    assert counts(found.suspicions) == {"other-side": 2}


@given(
    st.lists(st.tuples(st.text("ab \u00a0", max_size=30), st.text("ab \u00a0", max_size=300)), min_size=1, max_size=40)
)
def test_histograms_count_every_kept_pair_and_percentiles_are_those_of_numpy(pairs: list[tuple[str, str]]) -> None:
    found = inspect(pairs)
    kept = list(dict.fromkeys((s.strip(), t.strip()) for s, t in pairs if s.strip() and t.strip()))
    for place, side in enumerate(("source", "target")):
        measured = {
            "characters": [len(pair[place]) for pair in kept],
            "words": [len(pair[place].split()) for pair in kept],
        }
        for lengths in found.lengths:
            expected = sorted(measured[lengths.unit])
            bins = [sum(1 for n in expected if n > 10 * lengths.step)]
            bins = [
                sum(1 for n in expected if i * lengths.step < n <= (i + 1) * lengths.step) for i in range(10)
            ] + bins
            assert lengths.histogram[side] == bins
            if expected:
                method = "inverted_cdf"
                assert lengths.percentiles[side] == [
                    np.percentile(expected, q, method=method) for q in (50, 90, 99, 100)
                ]


def test_the_estimate_of_too_long_pairs_is_near_the_truth() -> None:
    chance = random.Random(1)
    pairs = [(" ".join(chance.choices(WORDS, k=chance.randint(1, 40))), "X") for _ in range(400)]
    tokenizer = Tokenizer.train([text for pair in pairs for text in pair], 400, kind="bpe")
    truth = sum(len(tokenizer.encode(source)) > 25 for source, _ in pairs)
    estimated = inspect(pairs, longest=25).too_long.count
    assert 0.9 * truth < estimated < 1.1 * truth
    assert inspect(pairs, longest=1000).too_long.sample == 0


def test_a_single_long_text_does_not_decide_what_a_token_is() -> None:
    """Of what is more than a thousand characters long, no more than that is looked at."""
    found = [inspect([*usual(50), ("tick tock " * count, "X")]).too_long for count in (101, 20_000)]
    assert found[0].sample == 51
    assert found[0].per_token == found[1].per_token


def test_an_alphabet_that_is_larger_than_the_vocabulary_is_said() -> None:
    pairs = [("".join(map(chr, range(0x4E00 + n, 0x4E00 + n + 150))), f"{letters(n)} x") for n in range(0, 600, 10)]
    assert "wanted at least" in inspect(pairs).too_long.refusal


def test_rows_that_cannot_be_read_twice_are_refused() -> None:
    once = iter(rows([*usual(3), ("", "x")]))
    with pytest.raises(UserError, match="not as a pipe"):
        inspect_corpus(once, lambda: once, 100, 400)


def test_no_more_is_read_than_the_limit_asks_for() -> None:
    def some() -> Iterator[Row]:
        yield from rows([("a", "b"), ("a", "b"), ("", "c"), ("d", "e")])
        raise AssertionError("read too far")

    found = inspect_corpus(some(), some, 100, 400, limit=2)
    assert (found.rows, found.pairs) == (4, 2)


def test_a_summary_says_what_is_kept_and_what_is_dropped() -> None:
    found = inspect([("a", "b"), ("a", "b"), ("", "c"), ("", ""), ("d", "e")])
    assert summary(found) == [
        "5 rows; 2 pairs.",
        "Dropped: blank rows (1), one side blank (1), duplicates (1).",
    ]
    assert summary(inspect([("a", "b")])) == ["1 rows; 1 pairs."]
    mixed = [*((f"word {letters(n)}", f"слово {letters(n)}") for n in range(20)), ("чужое", "foreign"), ("x", "語")]
    assert summary(inspect(mixed)) == [
        "22 rows; 22 pairs.",
        "Have a look: probably exchanged (1), target not in Cyrillic, as most are (1).",
    ]
    long = [(" ".join(map(letters, range(n, n + 40))), "x") for n in range(0, 400, 40)]
    assert summary(inspect([*long, ("a", "b")], longest=25)) == [
        "11 rows; about 1 pairs.",
        "Dropped: more than 25 tokens on a side (about 10).",
    ]


def test_no_rows_are_no_error() -> None:
    found = inspect([])
    assert (found.rows, found.pairs, found.dropped, found.suspicions, found.marks) == (0, 0, [], [], [])


@pytest.mark.parametrize(
    ("row", "finding", "expected"),
    [
        (("", "x"), ("", ""), "line 7: ∅ → x"),
        (("Va\u202f!", ""), ("source", "narrow-no-break-space"), "line 7: VaU+202F!"),
        (("cafe\u0301 noir", ""), ("source", "not-nfc"), "line 7: cafe\u0301 (U+0065 U+0301) noir"),
        (("a\u0323\u0302b", ""), ("source", "not-nfc"), "line 7: a\u0323\u0302 (U+0061 U+0323 U+0302)b"),
        (("", "capit\u0430l city"), ("target", "mixed-scripts"), "line 7: capit\u0430 (U+0430)l city"),
        (("a" * 50 + " \u00ad" + "b" * 50, ""), ("source", "soft-hyphen"), f"line 7: …{'a' * 14} U+00AD{'b' * 16}…"),
    ],
)
def test_examples_show_the_point(row: tuple[str, str], finding: tuple[str, str], expected: str) -> None:
    side, mark = finding
    assert shown(Row(*row, "line 7"), Finding("", "", side, 1, (0,), mark)) == expected


@pytest.mark.parametrize("place", [0, 900, 40_000])
def test_examples_of_long_texts_are_cut_around_their_marks(place: int) -> None:
    long = "word " * (place // 5) + "soft\u00adhyphen " + "words " * 20_000 + "capit\u0430l "
    found = inspect([*usual(20), (long, "x " * 30_000)], longest=25)
    told = {one.id: shown(found.example(one, one.rows[0]), one) for one in found.marks}
    assert "softU+00ADhyphen" in told["soft-hyphen"] and "capit\u0430 (U+0430)l" in told["mixed-scripts"]
    assert all(len(row.source) <= 2001 and len(row.target) <= 2001 for row in found.examples.values())


def test_a_part_of_a_long_text_may_be_all_in_the_other_script() -> None:
    found = inspect([*usual(20), ("word " * 2000 + "\u0430\u0431" * 500, "x")])
    mixed = next(one for one in found.marks if one.id == "mixed-scripts")
    assert "\u0430 (U+0430)\u0431" in shown(found.example(mixed, mixed.rows[0]), mixed)


def test_examples_are_short_and_on_one_line(tmp_path: Path) -> None:
    row = Row("word\n" + "\x7f" * 100_000, "語" * 200_000, "line 7")
    for side, mark in (("", ""), ("source", "break"), ("source", "control"), ("target", "compatibility")):
        if mark == "compatibility":
            row = Row("", "²" + "\u0301" * 200_000, "line 7")
        text = shown(row, Finding("", "", side, 1, (0,), mark))
        assert len(text) < 90 and text.isprintable()
