"""A corpus inspected as the window asks for it: what it is, how it begins, what training drops; or why it cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.worker import inspecting
from mlxdecoder.app.worker.engine import Engine
from mlxdecoder.app.worker.link import Inbox, Link
from mlxdecoder.app.worker.loop import JOBS
from mlxdecoder.errors import UserError
from tests.app.worker.asking import RUN, ask
from tests.text.readers.written import tmx, zipped


def write(path: Path, content: str | bytes) -> str:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def asked(*files: str, **wishes: Any) -> dict[str, Any]:
    return {"corpus": list(files), "columns": None, "languages": None, "limit": None, "preset": "toy", **wishes}


def inspect(*files: str, stop_after: int | None = None, **wishes: Any) -> list[Message]:
    return ask(Engine(), "inspect", stop_after, **asked(*files, **wishes))


def refused(file: str, **wishes: Any) -> tuple[Message, str]:
    """What is told of a corpus that cannot be read, and why it cannot."""
    inbox, told = Inbox(), list[Message]()
    message = Message("inspect", RUN, asked(file, **wishes))
    inbox.put(message)
    with pytest.raises(UserError) as error:
        JOBS["inspect"](Engine(), message, Link(RUN, inbox, told.append))
    return told[-1], str(error.value)


def test_a_table_is_told_with_its_columns_its_beginning_and_what_is_dropped(tmp_path: Path) -> None:
    rows = ["id,English,Deutsch,Français", *(f"{n},word {n},Wort {n},mot {n}" for n in range(9)), "9,word 1,Wort 1,x"]
    file = write(tmp_path / "a.csv", "\n".join([*rows, "10,alone,,", ",,,"]))
    recognised, inspected = inspect(file)
    assert recognised.fields == {
        "text": 'CSV, UTF-8, header; source: column "English", target: column "Deutsch"; '
        'not taken: column "id", "Français"',
        "sides": "columns",
        "offered": ["id", "English", "Deutsch", "Français"],
        "chosen": [1, 2],
        "header": True,
        "pairs": [[f"word {n}", f"Wort {n}"] for n in range(5)],
    }
    assert inspected["text"] == "12 rows; 9 pairs.\nDropped: blank rows (1), one side blank (1), duplicates (1)."


def test_what_is_chosen_is_what_is_shown(tmp_path: Path) -> None:
    file = write(tmp_path / "a.tsv", "".join(f"word {n}\tmot {n}\tby me\n" for n in range(30)))
    recognised, inspected = inspect(file, columns=["2", "1"], limit=20)
    assert (recognised["offered"], recognised["chosen"]) == (["1", "2", "3"], [1, 0])
    assert recognised["pairs"][0] == ["mot 0", "word 0"]
    assert "no header" in recognised["text"]
    assert inspected["text"] == "20 rows; 20 pairs."


def test_the_first_row_can_be_said_to_be_a_pair_or_names(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "English,French\nword,mot\n")
    assert (inspect(file)[0]["header"], inspect(file)[0]["pairs"]) == (True, [["word", "mot"]])
    told = inspect(file, header=False)[0]
    assert (told["header"], told["pairs"]) == (False, [["English", "French"], ["word", "mot"]])
    other = write(tmp_path / "a.tmx", tmx([("Go.", "Va.")]))
    assert inspect(other)[0]["header"] is None


def test_what_was_said_of_the_first_row_can_be_taken_back_while_columns_are_missing(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "note,English,French,German\nyes,word,mot,Wort\nno,two,deux,zwei\n")
    told, _ = refused(file, header=False)
    assert (told["header"], len(told["offered"]), told["chosen"]) == (False, 4, None)


def test_languages_of_tmx_and_of_a_zip_file_are_offered(tmp_path: Path) -> None:
    one = write(tmp_path / "a.tmx", tmx([("Go.", "Va."), ("Run.", "Cours.")]))
    recognised = inspect(one, languages=["FR", "en"])[0]
    assert (recognised["sides"], recognised["offered"], recognised["chosen"]) == ("languages", ["en", "fr"], [1, 0])
    two = write(tmp_path / "a.zip", zipped({"a.en": b"go\n", "a.fr": b"va\n"}))
    recognised = inspect(two)[0]
    assert (recognised["sides"], recognised["offered"], recognised["chosen"]) == ("languages", ["en", "fr"], [0, 1])


def test_of_two_files_their_names_are_offered(tmp_path: Path) -> None:
    files = [write(tmp_path / name, f"{name}\n" * 3) for name in ("a.en", "a.fr")]
    recognised = inspect(*files)[0]
    assert (recognised["sides"], recognised["offered"], recognised["chosen"]) == ("files", ["a.en", "a.fr"], [0, 1])
    assert recognised["pairs"] == [["a.en", "a.fr"]] * 3


def test_long_sentences_are_shown_in_part_and_in_one_line(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", json.dumps({"en": "so long " * 500, "fr": "un\ndeux"}))
    ((source, target),) = inspect(file)[0]["pairs"]
    assert (len(source), target) == (inspecting.CUT, "un deux")


@pytest.mark.parametrize(
    ("name", "content", "sides", "offered"),
    [
        ("a.tsv", "a.\tb.\tc.\td.\n", "columns", ["1", "2", "3", "4"]),
        ("a.jsonl", '{"a": "Go.", "b": "Va.", "c": "Los."}', "columns", ["a", "b", "c"]),
        ("a.zip", zipped({"a.en": b"go\n", "a.fr": b"va\n", "a.de": b"los\n"}), "languages", ["en", "fr", "de"]),
    ],
)
def test_what_has_to_be_chosen_first_is_offered(
    tmp_path: Path, name: str, content: str | bytes, sides: str, offered: list[str]
) -> None:
    told, why = refused(write(tmp_path / name, content))
    assert (told["sides"], told["offered"], told["chosen"]) == (sides, offered, None)
    assert "hoose two" in why


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.tsv", b"", "no sentence pairs in 0 rows"),
        ("one.txt", b"There is no tab in this line.\n" * 9, "one.txt, line 1: no tab; .*\nGive two files"),
        ("one.csv", b"text\nonly one\n", "one.csv: one column; wanted two"),
        ("blank.tsv", b"\t\n" * 9, "no sentence pairs in 9 rows; .* are these the columns"),
        ("picture.png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "picture.png, line 1: "),
        ("binary.tsv", bytes(range(256)) * 9, "binary.tsv, line 1: .*binary"),
        ("latin.tsv", "caf\xe9\tcaf\xe9\n".encode("latin-1"), "latin.tsv, line 1: byte 0xE9 .* is not UTF-8"),
        ("half.gz", b"\x1f\x8b\x08\x00", "not a whole gzip file"),
    ],
)
def test_what_is_no_corpus_is_refused_in_words(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    with pytest.raises(UserError, match=f"(?s){words}"):
        inspect(write(tmp_path / name, content))


def test_of_a_file_that_cannot_be_read_at_all_nothing_is_said_to_be_recognised(tmp_path: Path) -> None:
    told, _ = refused(write(tmp_path / "picture.png", b"\x89PNG\r\n\x1a\n" + bytes(range(256))))
    assert (told["text"], told["offered"], told["pairs"]) == ("", [], [])


def test_what_can_be_read_before_an_error_is_shown(tmp_path: Path) -> None:
    told, why = refused(write(tmp_path / "a.tsv", b"one\tun\ntwo\tdeux\ncaf\xe9\tx\n"))
    assert told["text"].startswith("Tab-separated")
    assert told["pairs"] == [["one", "un"], ["two", "deux"]]
    assert "line 3" in why


def test_columns_that_cannot_be_read_leave_others_to_choose_from(tmp_path: Path) -> None:
    told, why = refused(write(tmp_path / "a.csv", 'id,en,fr\n1,"Go.,Va.\n'))
    assert (told["text"], told["offered"]) == ("", ["id", "en", "fr"])
    assert "never ends" in why


def test_a_missing_file_and_too_many_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file"):
        inspect(str(tmp_path / "none.tsv"))
    with pytest.raises(UserError, match="3 files found; one or two are wanted"):
        inspect("a", "b", "c")


@pytest.mark.usefixtures("every_row_is_told")
def test_the_progress_is_told_and_a_stop_ends_it(tmp_path: Path) -> None:
    file = write(tmp_path / "a.tsv", "".join(f"word {n}\tmot {n}\n" for n in range(50)))
    told = inspect(file)
    assert [message["rows"] for message in told if message.kind == "counted"][:50] == list(range(1, 51))
    assert told[-1].kind == "inspected"
    assert [message.kind for message in inspect(file, stop_after=7)] == ["recognised", *["counted"] * 6]


@pytest.fixture
def every_row_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspecting, "AT_A_TIME", 1)
    monkeypatch.setattr(inspecting, "BETWEEN", 0.0)
