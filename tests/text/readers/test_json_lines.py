"""JSON lines: which keys hold the two sides, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers import Choice, open_rows


def read(folder: Path, text: str, choice: Choice = Choice()) -> list[tuple[str, str]]:
    path = folder / "a.jsonl"
    path.write_bytes(text.encode())
    return [(row.source, row.target) for row in open_rows(path, choice=choice)]


@pytest.mark.parametrize(
    ("line", "columns"),
    [
        ('{"en": "Go.", "fr": "Va !"}', None),
        ('{"anything": "Go.", "else": "Va !"}', None),
        ('{"id": 7, "en": "Go.", "fr": "Va !", "tags": ["x"]}', None),
        ('{"id": "7", "target": "Va !", "source": "Go."}', None),
        ('{"translation": {"en": "Go.", "fr": "Va !"}, "id": "7"}', None),
        ('{"id": "7", "text": "Go.", "translation": "Va !"}', None),
        ('["Go.", "Va !"]', None),
        ('["x", "Va !", "Go."]', ("3", "2")),
        ('{"en": "Go.", "de": "Los.", "fr": "Va !"}', ("en", "fr")),
        ('{"translation": {"de": "Los.", "en": "Go.", "fr": "Va !"}}', ("en", "fr")),
    ],
)
def test_the_two_sides_are_found(tmp_path: Path, line: str, columns: tuple[str, str] | None) -> None:
    assert read(tmp_path, f"{line}\n", Choice(columns=columns)) == [("Go.", "Va !")]


def test_what_is_missing_is_blank_and_lines_count(tmp_path: Path) -> None:
    text = '\n{"en": "a", "fr": "b"}\n\n{"en": "c"}\n{"fr": null, "en": "d"}\n{"fr": "\\u00e9"}'
    assert read(tmp_path, text) == [("", ""), ("a", "b"), ("", ""), ("c", ""), ("d", ""), ("", "é")]


def test_keys_are_those_of_many_objects(tmp_path: Path) -> None:
    more = '{"en": "a", "fr": "b"}\n' * 3
    assert read(tmp_path, '{"en": null, "fr": "x"}\n' + more)[:2] == [("", "x"), ("a", "b")]
    assert read(tmp_path, '{"x": "a", "y": "b"}\n' * 3 + '{"x": "c", "y": "d", "rare": "e"}\n')[3] == ("c", "d")
    assert read(tmp_path, '{"x": "a", "y": null, "z": null}\n{"z": null, "y": "b"}\n') == [("a", ""), ("", "b")]


def test_tabs_may_stand_between_tokens(tmp_path: Path) -> None:
    assert read(tmp_path, '{"en":\t"a",\t"fr":\t"b"}\n') == [("a", "b")]


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ('{"en": "a", "fr": "b"}\n{"en": "c", "fr": 1}', None, r'a\.jsonl, line 2: "fr" holds no text but int'),
        ('{"en": "a", "fr": "b"}\n{"en": "c"', None, r"a\.jsonl, line 2: not JSON"),
        ('{"en": "a", "fr": "b"}\n"c"', None, r"line 2: JSON, but no object"),
        ('{"en": "a", "fr": "\\ud83d"}', None, r'line 1: "fr" holds a zero character or half of a pair'),
        ('{"en": "a", "fr": "\\u0000"}', None, r'line 1: "fr" holds a zero character'),
        ('{"a": "a", "b": "b", "c": "c"}', None, 'found texts under "a", "b", "c"; choose two'),
        ('{"en": "a", "fr": "b"}', ("en", "de"), 'no column "de"; found "en", "fr"'),
        ('{"one": 1}', None, "found texts under no key"),
        ("[" * 100_000, None, r"line 1: not JSON"),
        ('{"a":' * 100_000, None, r"line 1: not JSON"),
        ('{"en": "a", "fr": ' + "9" * 5000 + "}", None, r"line 1: not JSON"),
        ('[\n{"en": "a", "fr": "b"}\n]', None, r"line 1: JSON in one piece; wanted an object a line"),
        ('[{"en": "a", "fr": "b"}]', None, r"line 1: JSON in one piece"),
        ('{\n"en": "a"\n}', None, r"line 1: JSON in one piece"),
        ('{"en": "' + "a" * 2**20 + '"}', None, r"line 1: more than 1,048,576 bytes"),
    ],
)
def test_what_is_no_pair_is_refused_with_its_line(
    tmp_path: Path, text: str, columns: tuple[str, str] | None, message: str
) -> None:
    with pytest.raises(UserError, match=message) as error:
        read(tmp_path, text, Choice(columns=columns))
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500
