"""Tokenizers that come with models: what they read and write is what the libraries that made them say."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors

from mlxdecoder.errors import UserError
from mlxdecoder.text.foreign import JsonTokenizer, MarianTokenizer, NoTokenizer, SentencePieceTokenizer, make_tokenizer
from mlxdecoder.text.foreign.bounds import LARGEST
from mlxdecoder.text.protocol import TextTokenizer
from mlxdecoder.text.tokenizer import Tokenizer as OwnTokenizer
from mlxdecoder.words import word_labels
from tests.text.made import LINES, byte_level, json_of, marian_tokenizer, sentence_pieces, unigram, word_pieces

TEXTS = ["the cat sings", "  an old  dog ", "l’école", "x"]


MAKERS: list[Callable[[], Tokenizer]] = [byte_level, word_pieces, unigram]


@pytest.mark.parametrize("make", MAKERS)
class TestJson:
    def test_reads_and_writes_as_the_library_does(self, make: Callable[[], Tokenizer]) -> None:
        theirs = make()
        ours = JsonTokenizer(json_of(theirs))
        for text in TEXTS:
            ids = theirs.encode(text).ids
            assert ours.encode(text) == ids
            assert ours.encode_target(text) == theirs.encode(text, add_special_tokens=False).ids
            assert ours.decode(ids) == theirs.decode(ids)
        assert ours.vocab_size == theirs.get_vocab_size()

    def test_padding_and_truncation_of_the_file_are_put_off(self, make: Callable[[], Tokenizer]) -> None:
        tokenizer = make()
        wanted = tokenizer.encode(LINES[0]).ids
        tokenizer.enable_padding(length=64)
        tokenizer.enable_truncation(4)
        assert JsonTokenizer(json_of(tokenizer)).encode(LINES[0]) == wanted

    def test_a_blank_text_has_no_tokens(self, make: Callable[[], Tokenizer]) -> None:
        ours = JsonTokenizer(json_of(make()))
        assert ours.encode("") == ours.encode("  \n") == ours.encode_target(" ") == []

    def test_ids_that_a_model_has_room_for_but_no_piece_read_as_numbers(self, make: Callable[[], Tokenizer]) -> None:
        ours = JsonTokenizer(json_of(make()))
        assert ours.pieces([ours.vocab_size + 5]) == [f"<{ours.vocab_size + 5}>"]
        assert ours.decode([ours.vocab_size + 5]) == ""

    def test_what_is_no_unicode_text_is_refused(self, make: Callable[[], Tokenizer]) -> None:
        with pytest.raises(UserError, match="surrogate"):
            JsonTokenizer(json_of(make())).encode("a\ud800")


def test_labels_of_bytes_show_spaces_and_letters() -> None:
    ours = JsonTokenizer(json_of(byte_level()))
    ids = ours.encode_target("a the é")
    assert "".join(ours.pieces(ids)) == "a▁the▁é"


def test_labels_of_word_pieces_show_where_words_begin() -> None:
    ours = JsonTokenizer(json_of(word_pieces()))
    ids = ours.encode("the wall, \u6f22 sleeping")
    assert ours.pieces(ids)[0] == "[CLS]" and ours.pieces(ids)[-1] == "[SEP]"
    assert "".join(ours.pieces(ids[1:-1])) == "\u2581the\u2581wall\u2581,\u2581[UNK]\u2581sleeping"
    assert word_labels(ours.pieces(ids)) == ["[CLS]", "the", "wall", ",", "[UNK]", "sleeping", "[SEP]"]


def test_a_part_of_a_character_still_has_a_label() -> None:
    ours = JsonTokenizer(json_of(byte_level()))
    labels = ours.pieces(ours.encode_target("\U0001f600"))
    assert len(labels) > 1
    assert all(labels)
    assert "\ufffd" not in "".join(labels)


def test_characters_that_a_vocabulary_lacks_are_named() -> None:
    assert JsonTokenizer(json_of(word_pieces())).unknown_characters("the 漢 cat Ж") == ["漢", "Ж"]
    assert JsonTokenizer(json_of(unigram())).unknown_characters("the 漢 cat") == ["漢"]
    assert JsonTokenizer(json_of(byte_level())).unknown_characters("the 漢 cat") == []


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"model": 1}', b"\xff", b"[" * 100_000])
def test_a_damaged_file_is_refused_in_a_line(data: bytes) -> None:
    with pytest.raises(UserError, match=r"tokenizer\.json") as caught:
        JsonTokenizer({"tokenizer.json": data})
    assert "\n" not in str(caught.value)


def test_a_file_that_is_larger_than_any_is_refused() -> None:
    with pytest.raises(UserError, match="bytes found"):
        JsonTokenizer({"tokenizer.json": b" " * (LARGEST + 1)})


@pytest.mark.parametrize("dropout", [0.25, 1.0])
def test_pieces_that_are_cut_at_random_are_refused(dropout: float) -> None:
    tokenizer = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")], dropout=dropout))
    with pytest.raises(UserError, match=rf"tokenizer\.json: model, dropout = {dropout:g}: .*write null for it"):
        JsonTokenizer(json_of(tokenizer))


@pytest.mark.parametrize("dropout", [None, 0.0])
def test_pieces_that_are_cut_in_one_way_are_read(dropout: float | None) -> None:
    tokenizer = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")], dropout=dropout))
    assert JsonTokenizer(json_of(tokenizer)).encode("ab") == [2]


class TestSentencePiece:
    def test_marks_stand_round_what_the_model_reads(self) -> None:
        model = sentence_pieces()
        theirs = SentencePieceProcessor.from_proto(model)
        ours = SentencePieceTokenizer({"tokenizer.model": model}, begin=[1], end=[2])
        for text in TEXTS[:3]:
            assert ours.encode(text) == [1, *theirs.encode(text), 2]
            assert ours.encode_target(text) == theirs.encode(text)
            assert ours.decode(ours.encode(text)) == theirs.decode(theirs.encode(text))

    @pytest.mark.parametrize(("mark", "id"), [("<unk>", 0), ("<s>", 1), ("</s>", 2)])
    @pytest.mark.parametrize("space", ["", " "])
    def test_a_mark_that_a_text_spells_is_that_mark(self, mark: str, id: int, space: str) -> None:
        model = sentence_pieces()
        theirs = SentencePieceProcessor.from_proto(model)
        ours = SentencePieceTokenizer({"tokenizer.model": model}, begin=[1], end=[2])
        wanted = [*theirs.encode("the cat"), id, *theirs.encode("sings"), id, id]
        text = f"the cat{space}{mark}{space}sings{mark}{space}{mark}"
        assert ours.encode_target(text) == wanted
        assert ours.encode(text) == [1, *wanted, 2]
        cut = ours.cut(text, target=True)
        assert [letters for letters, one in zip(cut.letters, wanted, strict=True) if one == id] == [mark] * 3

    def test_what_is_nearly_a_mark_is_spelled(self) -> None:
        ours = SentencePieceTokenizer({"tokenizer.model": sentence_pieces()})
        assert 2 not in ours.encode_target("the < /s> cat </S> s>")

    def test_is_the_same_again_from_its_files_and_settings(self) -> None:
        ours = SentencePieceTokenizer({"tokenizer.model": sentence_pieces()}, begin=[1])
        again = make_tokenizer(ours.kind, ours.files, json.loads(json.dumps(ours.settings)))
        assert again.encode("the cat") == ours.encode("the cat")
        assert again.fingerprint == ours.fingerprint

    def test_a_damaged_model_is_refused(self) -> None:
        with pytest.raises(UserError, match="tokenizer.model"):
            SentencePieceTokenizer({"tokenizer.model": sentence_pieces()[:100]})


@pytest.fixture(scope="module")
def marian() -> MarianTokenizer:
    model = sentence_pieces()
    processor = SentencePieceProcessor.from_proto(model)
    pieces = [processor.id_to_piece(i) for i in range(3, processor.get_piece_size())]
    vocabulary = {"</s>": 0, "<unk>": 1, **{piece: i + 2 for i, piece in enumerate(pieces[::-1])}, ">>fr<<": 58}
    vocabulary["<pad>"] = 59
    files = {"source.spm": model, "target.spm": model, "vocab.json": json.dumps(vocabulary).encode()}
    return MarianTokenizer(files)


class TestMarian:
    def test_pieces_have_the_numbers_of_the_vocabulary(self, marian: MarianTokenizer) -> None:
        ids = marian.encode("the cat")
        assert ids[-1] == 0
        assert "".join(marian.pieces(ids[:-1])) == "▁the▁cat"
        assert marian.encode_target("the cat") == ids[:-1]
        assert marian.decode([59, *ids]) == "the cat"

    def test_a_code_in_front_is_one_token(self, marian: MarianTokenizer) -> None:
        assert marian.encode(">>fr<< the cat") == [58, *marian.encode("the cat")]

    def test_a_mark_that_a_text_spells_is_that_mark(self, marian: MarianTokenizer) -> None:
        the, cat = marian.encode_target("the"), marian.encode_target("cat")
        assert marian.encode("the </s> cat") == [*the, 0, *cat, 0]
        assert marian.encode(">>fr<< the<unk>cat <pad>") == [58, *the, 1, *cat, 59, 0]
        assert marian.encode_target("</s>") == [0]
        assert marian.encode("the </s> cat")[:-1] != marian.encode_target("the < /s> cat")

    def test_unknown_pieces_are_unknown(self, marian: MarianTokenizer) -> None:
        assert 1 in marian.encode("the 漢")
        assert marian.unknown_characters("the 漢") == ["漢"]

    @pytest.mark.parametrize("vocabulary", [b"", b"[]", b'{"</s>": 0}', b'{"</s>": 0, "<unk>": "1"}', b"[" * 100_000])
    def test_a_damaged_vocabulary_is_refused(self, marian: MarianTokenizer, vocabulary: bytes) -> None:
        with pytest.raises(UserError, match="vocab.json"):
            MarianTokenizer({**marian.files, "vocab.json": vocabulary})


def test_a_model_without_a_tokenizer_reads_and_shows_ids_and_refuses_text() -> None:
    none = NoTokenizer()
    assert none.pieces([3, 7]) == ["<3>", "<7>"]
    assert none.decode([3, 7]) == "3 7"
    assert none.encode(" 3  7 ") == none.encode_target("3 7") == [3, 7]
    for text in ("text", "3 x", "-3", "3.5", "\u0663", "1234567890"):
        with pytest.raises(UserError, match="without a tokenizer"):
            none.encode(text)


CUTTERS: dict[str, Callable[[], TextTokenizer]] = {
    **{make.__name__: lambda make=make: JsonTokenizer(json_of(make())) for make in MAKERS},  # type: ignore[misc]
    "sentence_pieces": lambda: SentencePieceTokenizer({"tokenizer.model": sentence_pieces()}, begin=[1], end=[2]),
    "marian": marian_tokenizer,
    "own": lambda: OwnTokenizer.train(LINES, 300),
    "none": NoTokenizer,
}


@pytest.fixture(scope="module", params=CUTTERS)
def cutter(request: pytest.FixtureRequest) -> TextTokenizer:
    return CUTTERS[request.param]()


class TestCut:
    @given(text=st.text(st.sampled_from("the catsing élÖ漢ﬁ…\u00a0\t\u2581\ufdd0>f<</s\U0001f600"), max_size=20))
    def test_pieces_are_those_that_are_encoded_and_their_letters_those_of_the_text(
        self, cutter: TextTokenizer, text: str
    ) -> None:
        text = unicodedata.normalize("NFC", text).strip()
        if cutter.kind == "none":
            text = " ".join(str(ord(character)) for character in text)
        if cutter.kind == "own":  # of which it spells these two in letters that the text does not have
            text = text.translate({0x2581: None, 0xFDD0: None}).strip()
        assert cutter.cut(text).ids == cutter.encode(text)
        cut = cutter.cut(text, target=True)
        assert cut.ids == cutter.encode_target(text)
        assert len(cut.letters) == len(cut.places) == len(cut.ids)
        places = [place for place in cut.places if place is not None]
        assert places == sorted(places) and len(places) == len(cut.ids)
        for place, letters in zip(places, cut.letters, strict=True):
            byte = letters.startswith("<0x") and cutter.kind == "own"
            assert text.encode()[place:].startswith(bytes.fromhex(letters[3:5]) if byte else letters.encode())

    def test_marks_stand_for_nothing(self, cutter: TextTokenizer) -> None:
        text = "3 7" if cutter.kind == "none" else "the cat"
        cut, bare = cutter.cut(text), cutter.cut(text, target=True)
        marks = [id for id, place in zip(cut.ids, cut.places, strict=True) if place is None]
        assert len(marks) == len(cut.ids) - len(bare.ids)
        assert bool(marks) == (cutter.kind not in ("own", "none"))
        assert [one for one in cut.places if one is not None] == bare.places

    def test_so_does_a_code_that_chooses_the_language(self) -> None:
        cut = marian_tokenizer().cut(">>fr<< the")
        assert (cut.places[0], cut.places[-1], cut.places[1]) == (None, None, 7)


def test_an_unknown_kind_or_other_settings_are_refused() -> None:
    with pytest.raises(UserError, match="kind"):
        make_tokenizer("pickle", {}, {})
    with pytest.raises(UserError, match="damaged"):
        make_tokenizer("json", {}, {})
    with pytest.raises(UserError, match="damaged"):
        make_tokenizer("none", {}, {"run": "this"})


def test_without_the_library_it_is_named_and_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(UserError) as caught:
        make_tokenizer("json", json_of(byte_level()), {})
    assert str(caught.value) == "tokenizer.json: wants the tokenizers library: pip install 'mlxdecoder[pretrained]'."


def test_ids_with_gaps_are_all_read_and_shown() -> None:
    tokenizer = Tokenizer(models.BPE(vocab={"a": 0, "b": 5}, merges=[]))
    tokenizer.add_special_tokens(["<x>"])
    ours = JsonTokenizer(json_of(tokenizer))
    assert ours.vocab_size == max(tokenizer.get_vocab().values()) + 1 == 6
    assert ours.decode([0, 5]) == tokenizer.decode([0, 5])
    assert ours.pieces([0, 3, 5]) == ["a", "<3>", "b"]


def test_padding_to_a_length_beyond_all_memory_is_put_off() -> None:
    tokenizer = byte_level()
    tokenizer.enable_padding(length=2**40)
    assert JsonTokenizer(json_of(tokenizer)).encode("the") == byte_level().encode("the").ids


ENDLESS = Regex("(e+)+$")  # which tries every way to divide a row of e that does not end the text
LETTERS = models.BPE({"e": 0, "!": 1}, [])


class TestHostile:
    @pytest.mark.parametrize("target", [False, True])
    def test_a_pattern_that_fails_on_a_text_is_an_error_in_a_line(
        self, target: bool, capfd: pytest.CaptureFixture[str]
    ) -> None:
        tokenizer = Tokenizer(LETTERS)
        tokenizer.pre_tokenizer = pre_tokenizers.Split(ENDLESS, "isolated")
        ours, text = JsonTokenizer(json_of(tokenizer)), "e" * 40 + "!"
        assert ours.encode("ee!") == [0, 0, 1]
        for ask in (ours.encode_target if target else ours.encode, lambda text: ours.cut(text, target=target)):
            with pytest.raises(
                UserError, match=r"^text: tokenizer\.json fails on it.*retry-limit-in-match over"
            ) as caught:
                ask(text)
            assert "\n" not in str(caught.value)
        assert ours.encode("ee!") == [0, 0, 1]
        assert capfd.readouterr().err == ""

    def test_a_pattern_that_fails_on_an_answer_is_an_error_in_a_line(self, capfd: pytest.CaptureFixture[str]) -> None:
        tokenizer = Tokenizer(LETTERS)
        tokenizer.decoder = decoders.Sequence([decoders.Fuse(), decoders.Replace(ENDLESS, "e")])
        ours = JsonTokenizer(json_of(tokenizer))
        with pytest.raises(UserError, match=r"^ids: tokenizer\.json fails on them"):
            ours.decode([0] * 40 + [1])
        assert capfd.readouterr().err == ""

    @pytest.mark.parametrize("table", ["AAAAAA==", "/////w=="])
    def test_a_damaged_table_of_characters_is_an_error_in_a_line(
        self, table: str, capfd: pytest.CaptureFixture[str]
    ) -> None:
        values = json.loads(Tokenizer(LETTERS).to_str())
        values["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": table}
        with pytest.raises(UserError, match=r"^tokenizer\.json: not a tokenizer, or damaged"):
            JsonTokenizer({"tokenizer.json": json.dumps(values).encode()})
        assert capfd.readouterr().err == ""

    def test_ids_that_only_a_post_processor_has_need_room_too(self) -> None:
        tokenizer = Tokenizer(LETTERS)
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 2**31)])
        assert JsonTokenizer(json_of(tokenizer)).vocab_size == 2**31 + 1

    @pytest.mark.parametrize("stop", [KeyboardInterrupt, MemoryError, SystemExit])
    def test_what_stops_the_program_is_not_taken_for_damage(
        self, stop: type[BaseException], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Stopped:
            def encode(self, text: str, add_special_tokens: bool) -> None:
                raise stop

        ours = JsonTokenizer(json_of(byte_level()))
        monkeypatch.setattr(ours, "_tokenizer", Stopped())
        with pytest.raises(stop):
            ours.encode("the cat")
