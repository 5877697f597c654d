"""The tokenizer: exact round trips, fixed ids, honest sizes, and errors that say what to do."""

from __future__ import annotations

import hashlib
import io
import re
import unicodedata
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from mlxdecoder.errors import UserError
from mlxdecoder.text.tokenizer import Tokenizer
from mlxdecoder.text.vocabulary import BEGIN, END, PAD, UNKNOWN

LINES = [
    f"{who} {does} {what}{end}"
    for who, does, what, end in product(
        ["The cat", "A dog", "My old friend", "Le chat"],
        ["sees", "wants", "n'aime pas", "mange"],
        ["the red house", "la maison rouge", "un été chaud"],
        [".", "\u202f?"],
    )
]
Kind = Literal["unigram", "bpe"]
KINDS: tuple[Kind, ...] = ("unigram", "bpe")
SMALLEST = 4 + 256 + len(set("".join(LINES)) - {" "}) + 1  # specials, bytes, letters, and the sign for a space

each_kind = pytest.mark.parametrize("kind", KINDS)


@cache
def trained(kind: Kind) -> Tokenizer:
    return Tokenizer.train(LINES, 340, kind=kind)


def expected(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()


def foreign_model(**options: Any) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=model, minloglevel=2, **options
    )
    return model.getvalue()


TRAPS = st.one_of(
    st.sampled_from("a0 \u00a0\u202f\u0301\u2581\u2585\ufdd0\0\t\r\n\u2028\ufeff\u200d\U0001f600中"),
    st.sampled_from(["the ", "  ", "e\u0301", "\ufdd00", "\ufdd01", "<s>", "</s>", "<pad>", "<unk>", "<0x41>"]),
)


@each_kind
@given(text=st.one_of(st.text(), st.lists(TRAPS, max_size=12).map("".join)))
def test_any_text_survives_the_round_trip_and_uses_no_special_id(kind: Kind, text: str) -> None:
    tokenizer = trained(kind)
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == expected(text)
    assert all(END < index < tokenizer.vocab_size for index in ids)
    assert len(tokenizer.pieces(ids)) == len(ids)


@each_kind
@pytest.mark.parametrize(
    "text", ["Courez\u202f!", "a\u00a0b", "two  spaces", "\u2581 and \u2585", "👩\u200d🚀 مرحبا 你好", "<s> </s>"]
)
def test_text_that_toolkits_lose_comes_back_as_it_was(kind: Kind, text: str) -> None:
    assert trained(kind).decode(trained(kind).encode(text)) == text


@each_kind
@pytest.mark.parametrize("text", ["", " ", "\u00a0\u202f\n"])
def test_blank_text_has_no_ids(kind: Kind, text: str) -> None:
    assert trained(kind).encode(text) == []


@each_kind
def test_composed_and_decomposed_letters_are_the_same_ids(kind: Kind) -> None:
    tokenizer = trained(kind)
    assert tokenizer.encode("un e\u0301te\u0301") == tokenizer.encode("un été")


@each_kind
def test_special_ids_have_fixed_places_and_no_text(kind: Kind) -> None:
    tokenizer = trained(kind)
    assert (PAD, UNKNOWN, BEGIN, END) == (0, 1, 2, 3)
    assert tokenizer.pieces([PAD, UNKNOWN, BEGIN, END]) == ["<pad>", "<unk>", "<s>", "</s>"]
    assert tokenizer.decode([BEGIN, *tokenizer.encode("the cat"), END, PAD, PAD]) == "the cat"
    assert "\u2047" in tokenizer.decode([UNKNOWN])


def test_labels_join_to_the_text_and_show_what_has_no_ink() -> None:
    tokenizer = trained("bpe")
    assert "".join(tokenizer.pieces(tokenizer.encode("The cat sees"))) == "▁The▁cat▁sees"
    assert "".join(tokenizer.pieces(tokenizer.encode("rouge\u202f?"))) == "▁rouge<U+202F>?"
    assert tokenizer.pieces(tokenizer.encode("☃"))[1:] == ["<0xE2>", "<0x98>", "<0x83>"]


@each_kind
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_what_the_pieces_spell_is_the_text_behind_a_space(kind: Kind, text: str) -> None:
    ids = trained(kind).encode(text.replace("\u2581", "").replace("\u2585", "").replace("\ufdd0", ""))
    spelled = b"".join(trained(kind).spelling([BEGIN, *ids, END, PAD]))
    assert spelled.decode() == (f" {trained(kind).decode(ids)}" if ids else "")


def test_ids_may_be_integers_of_numpy() -> None:
    tokenizer = trained("bpe")
    assert tokenizer.decode(np.array(tokenizer.encode("the cat"))) == "the cat"


@pytest.mark.parametrize("index", [-1, 340, 10**12])
def test_an_id_outside_the_vocabulary_is_refused(index: int) -> None:
    tokenizer = trained("bpe")
    for read in (tokenizer.decode, tokenizer.pieces):
        with pytest.raises(UserError, match=rf"found {index}, wanted 0 to 339"):
            read([5, index])


def test_a_lone_surrogate_is_refused_with_its_place() -> None:
    with pytest.raises(UserError, match=r"U\+D800.*character 2"):
        trained("bpe").encode("ab\ud800")
    with pytest.raises(UserError, match="surrogate"):
        Tokenizer.train(["ab\udfff"], 300)


@each_kind
def test_the_same_text_gives_the_same_vocabulary(kind: Kind) -> None:
    again = Tokenizer.train(iter(LINES), 340, kind=kind)
    assert again.model == trained(kind).model
    assert again.fingerprint == trained(kind).fingerprint
    assert Tokenizer.train(LINES[1:], 340, kind=kind).fingerprint != again.fingerprint


def test_the_size_asked_for_is_the_size_obtained_when_the_text_supports_it() -> None:
    assert trained("bpe").vocab_size == 340


@each_kind
def test_a_small_text_trains_what_it_supports_and_says_so(kind: Kind) -> None:
    told: list[str] = []
    lines = ["the cat", "a dog", "the dog sat"]
    tokenizer = Tokenizer.train(lines, 8000, kind=kind, progress=told.append)
    assert 260 < tokenizer.vocab_size < 400
    assert [tokenizer.decode(tokenizer.encode(line)) for line in lines] == lines
    assert "3 lines" in told[0]
    assert "8,000" in told[-1] and str(tokenizer.vocab_size) in told[-1]


@each_kind
def test_a_size_below_the_alphabet_is_refused_with_both_numbers(kind: Kind) -> None:
    for size in (SMALLEST - 1, 5, 0, -3):
        with pytest.raises(UserError, match=rf"found {size}, wanted at least {SMALLEST}"):
            Tokenizer.train(LINES, size, kind=kind)
    assert Tokenizer.train(LINES, SMALLEST, kind=kind).vocab_size == SMALLEST


def test_a_size_beyond_all_sense_is_refused_at_once() -> None:
    with pytest.raises(UserError, match="at most 1,000,000"):
        Tokenizer.train(LINES, 10**9)
    assert Tokenizer.train(LINES, 10**6).vocab_size < 1000


def test_an_unknown_kind_is_refused_by_name() -> None:
    with pytest.raises(UserError, match="'words'"):
        Tokenizer.train(LINES, 340, kind="words")  # type: ignore[arg-type]


@pytest.mark.parametrize("lines", [[], [""], [" ", "\u00a0", "\n"]])
def test_a_text_without_words_has_its_own_message(lines: list[str]) -> None:
    with pytest.raises(UserError, match="no text"):
        Tokenizer.train(lines, 300)


@each_kind
@pytest.mark.parametrize("line", ["zq zzq qqz qz " * 1000, "zq" * 5000, "zqzq \u2585 zqzq", "zqzq \u2581 zqzq"])
def test_no_line_is_dropped_for_its_length_or_its_characters(kind: Kind, line: str) -> None:
    tokenizer = Tokenizer.train([*LINES, line], 400, kind=kind)
    assert not re.search("<0x", "".join(tokenizer.pieces(tokenizer.encode("zq"))))


def test_training_and_failing_to_load_leave_the_terminal_alone(capfd: pytest.CaptureFixture[str]) -> None:
    Tokenizer.train(LINES, 340)
    with pytest.raises(UserError):
        Tokenizer.from_bytes(b"")
    assert capfd.readouterr() == ("", "")


def test_what_the_progress_hook_raises_stops_the_training() -> None:
    class StoppedError(Exception):
        pass

    def stop(message: str) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        Tokenizer.train(LINES, 340, progress=stop)


def test_a_saved_tokenizer_is_the_same_one_after_loading(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "words.model"
    trained("unigram").save(path)
    loaded = Tokenizer.load(path)
    assert loaded.fingerprint == hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    assert loaded.fingerprint == trained("unigram").fingerprint
    assert loaded.encode(LINES[0]) == trained("unigram").encode(LINES[0])
    assert [entry.name for entry in path.parent.iterdir()] == ["words.model"]


@pytest.mark.parametrize("content", [b"", b"\n", b"hello, this is a text", bytes(range(256)) * 9])
def test_a_file_that_is_no_tokenizer_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.model"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"other\.model"):
        Tokenizer.load(path)


def test_a_missing_file_and_a_folder_are_refused_by_name(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.model", tmp_path):
        with pytest.raises(UserError, match=re.escape(str(path))):
            Tokenizer.load(path)


def test_a_file_cut_anywhere_is_refused() -> None:
    model = trained("bpe").model
    for length in range(len(model)):
        with pytest.raises(UserError, match="tokenizer"):
            Tokenizer.from_bytes(model[:length])


def test_tokenizers_made_elsewhere_are_refused_with_the_reason() -> None:
    ids = {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3}
    with pytest.raises(UserError, match=r"theirs: .*\(-1, 0, 1, 2\)"):
        Tokenizer.from_bytes(foreign_model(vocab_size=295, byte_fallback=True), "theirs")
    with pytest.raises(UserError, match=r"theirs: .*changes text"):
        Tokenizer.from_bytes(foreign_model(vocab_size=295, byte_fallback=True, **ids), "theirs")
    with pytest.raises(UserError, match=r"theirs: .*changes text"):
        Tokenizer.from_bytes(foreign_model(vocab_size=45, normalization_rule_name="identity", **ids), "theirs")


def test_it_says_which_text_has_characters_that_it_lacks() -> None:
    tokenizer = trained("bpe")
    assert tokenizer.unknown_characters(LINES[0]) == []
    assert tokenizer.unknown_characters("🦊" + LINES[0] + " 🦊☃") == ["🦊", "☃"]
