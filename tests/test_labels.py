"""Tokens as labels: everything can be seen, nothing is too long, what belongs together stays together."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxdecoder.labels import elided, visible

FAMILY = "👨\u200d👩\u200d👧"


@given(st.text(st.characters(codec="utf-8")))
def test_no_control_or_formatting_character_is_left(text: str) -> None:
    left = visible(text).replace("\u200c", "").replace("\u200d", "")
    assert left
    assert not [character for character in left if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Cn")]


@given(st.text(st.characters(categories=["Lu", "Ll", "Nd"]), min_size=1))
def test_plain_words_stay_as_they_are(word: str) -> None:
    assert visible(word) == word


@pytest.mark.parametrize("text", [FAMILY, "❤\ufe0f", "नमस्ते", "e\u0301", "می\u200cخواهم"])
def test_what_acts_on_its_neighbours_stays(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize("text", ["\u200d", "\ufe0f", "\u034f", "\u2800", "\u00a0", "\u202f", "\n"])
def test_what_nobody_sees_alone_is_spelled(text: str) -> None:
    assert visible(text) == f"U+{ord(text):04X}"


@given(st.text(min_size=1), st.integers(4, 20))
def test_a_shortened_text_is_the_text_or_has_its_ends(text: str, widest: int) -> None:
    short, whole = elided(text, widest), visible(text)
    head, _, tail = short.partition("…")
    assert short == whole or (whole.startswith(head) and whole.endswith(tail))


@given(st.text("abc你", min_size=1, max_size=60))
def test_a_shortened_text_fits(text: str) -> None:
    assert sum(2 if character == "你" else 1 for character in elided(text)) <= 16
