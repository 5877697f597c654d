"""What can be chosen of a file: each name that is offered takes its column or language, and no other."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest

from mlxdecoder.text.readers import Choice, Format, Undecided, open_rows
from tests.text.readers.written import zipped

UNITS = "".join(
    f'<tu><tuv xml:lang="en-GB"><seg>colour {n}</seg></tuv><tuv xml:lang="en_US"><seg>color {n}</seg></tuv>'
    f'<tuv xml:lang="de-DE"><seg>Farbe {n}</seg></tuv><tuv xml:lang="fr"><seg>couleur {n}</seg></tuv></tu>'
    for n in range(3)
)
TMX = f'<tmx version="1.4"><header/><body>{UNITS}</body></tmx>'
SIDES = {"a.en": b"go\n", "a.de": b"los\n", "a.fr": b"va\n"}


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def first(path: Path, choice: Choice = Choice()) -> tuple[Format, tuple[str, str]]:
    with open_rows(path, choice=choice) as rows:
        row = next(iter(rows))
        return rows.format, (row.source, row.target)


@pytest.mark.parametrize(
    ("name", "text", "offered", "cells"),
    [
        ("a.tsv", "Go.\tVa.\tme\n", ("1", "2", "3"), ["Go.", "Va.", "me"]),
        ("a.csv", "id,en,fr\n7,Go.,Va.\n", ("id", "en", "fr"), ["7", "Go.", "Va."]),
        # A column without a name of its own is chosen by its number.
        (
            "a.csv",
            ",en,EN,fr,2,a\u00a0b\n0,Go.,Gone.,Va.,4,5\n",
            ("1", "en", "3", "fr", "5", "6"),
            "0 Go. Gone. Va. 4 5",
        ),
        ("a.jsonl", json.dumps({"id": "7", "en": "Go.", "fr": "Va."}), ("id", "en", "fr"), ["7", "Go.", "Va."]),
        ("a.jsonl", '{"9": "Go.", "8": "Va.", "\\ud800": "x"}', ("1", "2", "3"), ["Go.", "Va.", "x"]),
        ("a.jsonl", '["Go.", "Va."]', ("1", "2"), ["Go.", "Va."]),
        ("a.po", 'msgid "Go."\nmsgstr "Va."\n', ("msgid", "msgstr"), ["Go.", "Va."]),
    ],
)
def test_every_column_can_be_chosen_as_it_is_offered(
    tmp_path: Path, name: str, text: str, offered: tuple[str, ...], cells: list[str] | str
) -> None:
    path, cells = write(tmp_path / name, text), cells.split() if isinstance(cells, str) else cells
    for source, target in permutations(range(len(cells)), 2):
        form, pair = first(path, Choice(columns=(offered[source], offered[target])))
        assert form.offered == offered
        assert (form.columns, pair) == ((offered[source], offered[target]), (cells[source], cells[target]))


def test_what_is_taken_without_a_choice_is_among_what_is_offered(tmp_path: Path) -> None:
    form, pair = first(write(tmp_path / "a.csv", ",english,french\n0,Go.,Va.\n"))
    assert (form.columns, form.offered, pair) == (("english", "french"), ("1", "english", "french"), ("Go.", "Va."))


def test_languages_are_offered_and_their_kinds_where_there_are_several(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tmx", TMX)
    form, _ = first(path)
    assert form.offered == ("en", "en-GB", "en_US", "de", "fr")
    assert form.languages == ("en", "de")
    texts = dict(zip(form.offered, ("colour 0", "colour 0", "color 0", "Farbe 0", "couleur 0"), strict=True))
    for source, target in permutations(form.offered, 2):
        assert first(path, Choice(languages=(source, target)))[1] == (texts[source], texts[target])


def test_the_sides_in_a_zip_file_are_told_and_offered(tmp_path: Path) -> None:
    two = write(tmp_path / "two.zip", zipped({name: SIDES[name] for name in ("a.fr", "a.en")}))
    form, pair = first(two)
    assert (form.languages, form.offered, pair) == (("fr", "en"), ("fr", "en"), ("va", "go"))
    assert first(two, Choice(languages=("en", "fr")))[1] == ("go", "va")
    three = write(tmp_path / "three.zip", zipped(SIDES))
    assert first(three, Choice(languages=("DE", "en")))[0].offered == ("en", "de", "fr")


def test_sides_of_one_ending_are_not_told_apart(tmp_path: Path) -> None:
    form, pair = first(write(tmp_path / "a.zip", zipped({"en/a.txt": b"go\n", "fr/a.txt": b"va\n"})))
    assert (form.languages, form.offered, pair) == (None, (), ("go", "va"))


@pytest.mark.parametrize(
    ("name", "content", "choice", "what", "offered"),
    [
        ("a.tsv", "a.\tb.\tc.\td.\n", Choice(), "columns", ("1", "2", "3", "4")),
        ("a.csv", "en,fr\nGo.,Va.\n", Choice(columns=("en", "de")), "columns", ("en", "fr")),
        ("a.csv", "en,fr\nGo.,Va.\n", Choice(columns=("en", "1")), "columns", ("en", "fr")),
        ("a.csv", "en,fr\nGo.,Va.\n", Choice(languages=("en", "fr")), "columns", ("en", "fr")),
        ("a.jsonl", '{"a": "Go.", "b": "Va.", "c": "Los."}', Choice(), "columns", ("a", "b", "c")),
        ("a.tmx", TMX, Choice(columns=("1", "2")), "languages", ("en", "en-GB", "en_US", "de", "fr")),
        ("a.zip", zipped(SIDES), Choice(), "languages", ("en", "de", "fr")),
    ],
)
def test_a_file_that_leaves_its_sides_open_says_what_to_choose_from(
    tmp_path: Path, name: str, content: str | bytes, choice: Choice, what: str, offered: tuple[str, ...]
) -> None:
    with pytest.raises(Undecided) as undecided:
        open_rows(write(tmp_path / name, content), choice=choice)
    assert (undecided.value.what, undecided.value.offered) == (what, offered)


def test_a_language_that_no_unit_has_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    rows = open_rows(write(tmp_path / "a.tmx", TMX), choice=Choice(languages=("en", "it")))
    with pytest.raises(Undecided, match='no unit in the language "it"') as undecided:
        list(rows)
    assert undecided.value.offered == ("de", "en", "en-GB", "en_US", "fr")
