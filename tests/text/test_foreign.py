"""Tokenizers that come with models: what they read and write is what the libraries that made them say."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from mlxdecoder.errors import UserError
from mlxdecoder.text.foreign import JsonTokenizer, MarianTokenizer, NoTokenizer, SentencePieceTokenizer, make_tokenizer
from mlxdecoder.text.foreign.json_tokenizer import LARGEST

LINES = ["The cat sleeps on the old wall.", "the dog runs, and a bird sings", "Un élève chante à l’école."] * 4
TEXTS = ["the cat sings", "  an old  dog ", "l’école", "x"]


def json_of(tokenizer: Tokenizer) -> dict[str, bytes]:
    return {"tokenizer.json": tokenizer.to_str().encode()}


def byte_level() -> Tokenizer:
    """Like GPT-2's, with a mark in front as Llama 3 has it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<|end|>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(LINES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="<|end|> $A", special_tokens=[("<|end|>", 0)])
    return tokenizer


def word_pieces() -> Tokenizer:
    """Like BERT's."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokenizer.train_from_iterator(
        LINES, trainers.WordPieceTrainer(vocab_size=120, special_tokens=special, show_progress=False)
    )
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def unigram() -> Tokenizer:
    """Like T5's."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=80, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(LINES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return tokenizer


def sentence_pieces() -> bytes:
    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=model, vocab_size=60, hard_vocab_limit=False, minloglevel=2
    )
    return model.getvalue()


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


class TestSentencePiece:
    def test_marks_stand_round_what_the_model_reads(self) -> None:
        model = sentence_pieces()
        theirs = SentencePieceProcessor.from_proto(model)
        ours = SentencePieceTokenizer({"tokenizer.model": model}, begin=[1], end=[2])
        for text in TEXTS[:3]:
            assert ours.encode(text) == [1, *theirs.encode(text), 2]
            assert ours.encode_target(text) == theirs.encode(text)
            assert ours.decode(ours.encode(text)) == theirs.decode(theirs.encode(text))

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

    def test_unknown_pieces_are_unknown(self, marian: MarianTokenizer) -> None:
        assert 1 in marian.encode("the 漢")
        assert marian.unknown_characters("the 漢") == ["漢"]

    @pytest.mark.parametrize("vocabulary", [b"", b"[]", b'{"</s>": 0}', b'{"</s>": 0, "<unk>": "1"}', b"[" * 100_000])
    def test_a_damaged_vocabulary_is_refused(self, marian: MarianTokenizer, vocabulary: bytes) -> None:
        with pytest.raises(UserError, match="vocab.json"):
            MarianTokenizer({**marian.files, "vocab.json": vocabulary})


def test_a_model_without_a_tokenizer_shows_ids_and_refuses_text() -> None:
    none = NoTokenizer()
    assert none.pieces([3, 7]) == ["<3>", "<7>"]
    assert none.decode([3, 7]) == "3 7"
    with pytest.raises(UserError, match="without a tokenizer"):
        none.encode("text")


def test_an_unknown_kind_or_other_settings_are_refused() -> None:
    with pytest.raises(UserError, match="kind"):
        make_tokenizer("pickle", {}, {})
    with pytest.raises(UserError, match="damaged"):
        make_tokenizer("json", {}, {})
    with pytest.raises(UserError, match="damaged"):
        make_tokenizer("none", {}, {"run": "this"})
