"""Characters: scripts as Unicode has them, and marks that are found where they are and nowhere else."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxdecoder.text.inspection.characters import MARKS, find_mark, mark_of, marks, script, script_of

GREETINGS = [
    "Où êtes-vous allés cet été ?",
    "Größe, Übermaß und Äpfel",
    "¿Dónde está el niño?",
    "Não, obrigado: a manhã é tão fria!",
    "Привет, как дела?",
    "Γειά σου, τι κάνεις;",
    "مرحبا كيف حالك",
    "שלום, מה שלומך",
    "你好，世界",
    "नमस्ते दुनिया",
    "“Smart quotes” – it’s…",
]


SCRIPTS = (
    "Latin Greek Cyrillic Armenian Georgian Arabic Hebrew Devanagari Bengali Tamil Thai Han Hiragana Katakana Common"
)


@pytest.mark.parametrize("name", SCRIPTS.split())
def test_scripts_are_those_of_unicode(name: str) -> None:
    regex = pytest.importorskip("regex")
    letters = "".join(one for one in map(chr, range(0x10000)) if unicodedata.category(one) in ("Lu", "Ll", "Lo"))
    ours = [script_of(one) for one in regex.findall(rf"\p{{Script={name}}}", letters)]
    expected = {"Hiragana": "Kana", "Katakana": "Kana", "Common": ""}.get(name, name)
    assert set(ours) <= {expected, ""}  # Unicode counts some signs to a script, which are no letters of it
    assert ours.count(expected) > 0.85 * len(ours)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "none"),
        ("12 + 3 = 15 €", "none"),
        ("Go!", "Latin"),
        ("Où ça ?", "Latin"),
        ("Ｇｏ", "Latin"),
        ("Привет, Tom и Ann", "Cyrillic"),
        ("我用Twitter。", "Han"),
        ("漢字かな交じり文", "Kana"),
        ("한국어", "Hangul"),
        ("IFN\u03b2 levels rose", "Latin"),
    ],
)
def test_the_script_of_a_text_is_that_of_most_words(text: str, expected: str) -> None:
    assert script(text) == expected


@pytest.mark.parametrize(
    ("text", "expected", "place"),
    [
        ("cafe\u0301", "not-nfc", 3),
        ("a ", "outer-space", 1),
        ("\u00a0a", "outer-space", 0),
        ("a\ufeffb", "byte-order-mark", 1),
        ("Va\u00a0!", "no-break-space", 2),
        ("Va\u202f!", "narrow-no-break-space", 2),
        ("a\u2009b", "other-space", 1),
        ("你\u3000好", "other-space", 1),
        ("a\u200bb", "zero-width", 1),
        ("sof\u00adt", "soft-hyphen", 3),
        ("a\u200fb", "direction", 1),
        ("a\tb", "break", 1),
        ("a\nb", "break", 1),
        ("a\rb", "carriage-return", 1),
        ("a\u2028b", "line-separator", 1),
        ("a\x07b", "control", 1),
        ("a\x85b", "control", 1),
        ("a\ufffdb", "replacement", 1),
        ("cafÃ© noir", "mojibake", 3),
        ("a\ue000b", "private-use", 1),
        ("a\U000e0fffb", "unassigned", 1),
        ("a\ud800b", "unassigned", 1),
        ("\ufb01n", "ligature", 0),
        ("Ｇo", "width", 0),
        ("x²", "compatibility", 1),
        ("fish &amp; chips", "entity", 5),
        ("it&#39;s", "entity", 2),
        ("a <b>c</b>", "tag", 2),
        ("capit\u0430l", "mixed-scripts", 5),
    ],
)
def test_a_mark_is_found_and_placed(text: str, expected: str, place: int) -> None:
    assert expected in marks(text)
    assert find_mark(text, expected) == place


@pytest.mark.parametrize(
    "text", ["", "Go!", "fish & chips", "1 < 2 > 0", "AT&T; fine", "œuvre", "漢字かな", "ทำ", "😀", *GREETINGS]
)
def test_usual_text_bears_no_mark(text: str) -> None:
    assert marks(text) <= {"width", "compatibility"}  # ， and …


def as_windows_1252(text: str) -> str:
    """UTF-8 read as Windows-1252, with Latin-1 for the bytes that it lacks, as browsers do it."""
    return "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in text.encode())


@pytest.mark.parametrize("text", GREETINGS)
def test_text_that_was_decoded_wrongly_is_suspected(text: str) -> None:
    assert "mojibake" in marks(text.encode().decode("latin-1"))
    assert "mojibake" in marks(as_windows_1252(text))


@given(st.text())
def test_marks_are_placed_where_the_text_bears_them(text: str) -> None:
    found = marks(text)
    assert found <= set(MARKS)
    assert ("not-nfc" in found) == (unicodedata.normalize("NFC", text) != text)
    for mark in found:
        place = find_mark(text, mark)
        assert 0 <= place < len(text)
        if mark in map(mark_of, text):
            assert mark_of(text[place]) == mark and mark not in map(mark_of, text[:place])
