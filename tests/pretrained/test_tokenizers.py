"""Tokenizers of folders: old files read as the library's own classes read them, and all settings go along."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import ByteLevelBPETokenizer, decoders
from tokenizers.implementations import BertWordPieceTokenizer

import mlxdecoder
from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.pretrained.exporting import export
from mlxdecoder.pretrained.folder import open_folder
from mlxdecoder.pretrained.tokenizers import find_tokenizer
from mlxdecoder.text.protocol import TextTokenizer
from tests.pretrained.folders import copied, set_values
from tests.pretrained.spoken import spoken
from tests.text.made import byte_level, sentence_pieces, word_pieces

CONFIG = ModelConfig(architecture="language_model")
LETTERS = "the caTÉé\u0301ñßİ漢か가\u200b\u00a0\t\n\u2028\ufdfaﬁ…\U0001f600०Ⅷ.,'-#"
TEXTS = st.one_of(st.text(st.sampled_from(LETTERS), max_size=30), st.text(max_size=20))


def found(folder: Path) -> TextTokenizer:
    return find_tokenizer(open_folder(folder), CONFIG)


def bert(to: Path, **settings: Any) -> Path:
    folder = copied("bert", to)
    ids = word_pieces().get_vocab()
    (folder / "vocab.txt").write_text("\n".join([*sorted(ids, key=lambda piece: ids[piece]), "[MASK]"]) + "\n")
    if settings:
        set_values(folder, "tokenizer_config.json", **settings)
    return folder


def gpt2(to: Path, **settings: Any) -> Path:
    folder = copied("gpt2", to)
    model = json.loads(byte_level().to_str())["model"]
    ids = model["vocab"] | {"<|endoftext|>": len(model["vocab"])}
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]]
    (folder / "vocab.json").write_text(json.dumps(ids))
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]) + "\n")
    if settings:
        set_values(folder, "tokenizer_config.json", **settings)
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("old")


@cache
def pair_of_bert(place: Path, lower: bool, accents: bool | None) -> tuple[TextTokenizer, Any]:
    folder = bert(place / f"bert-{lower}-{accents}", do_lower_case=lower, strip_accents=accents)
    theirs = BertWordPieceTokenizer(str(folder / "vocab.txt"), lowercase=lower, strip_accents=accents)
    return found(folder), theirs


@given(text=TEXTS, lower=st.booleans(), accents=st.sampled_from([None, True, False]))
def test_a_vocabulary_of_word_pieces_is_read_as_the_library_reads_it(
    place: Path, text: str, lower: bool, accents: bool | None
) -> None:
    ours, theirs = pair_of_bert(place, lower, accents)
    ids = theirs.encode(text).ids if text.strip() else []
    assert ours.encode(text) == ids
    assert ours.decode(ids) == decoders.WordPiece(prefix="##").decode(
        [piece for piece in theirs.encode(text, add_special_tokens=False).tokens if piece != "[UNK]"]
    )


@cache
def pair_of_gpt2(place: Path, spaced: bool) -> tuple[TextTokenizer, Any]:
    folder = gpt2(place / f"gpt2-{spaced}", add_prefix_space=spaced)
    files = (str(folder / "vocab.json"), str(folder / "merges.txt"))
    return found(folder), ByteLevelBPETokenizer(*files, add_prefix_space=spaced)


@given(text=TEXTS, spaced=st.booleans())
def test_a_vocabulary_with_merges_is_read_as_the_library_reads_it(place: Path, text: str, spaced: bool) -> None:
    ours, theirs = pair_of_gpt2(place, spaced)
    ids = theirs.encode(text).ids if text.strip() else []
    assert ours.encode(text) == ids
    assert ours.decode(ids) == theirs.decode(ids)


def test_special_pieces_of_old_files_are_not_cut(tmp_path: Path) -> None:
    ours = found(gpt2(tmp_path / "gpt2", add_bos_token=True))
    end = ours.encode_target("<|endoftext|>")
    assert len(end) == 1
    assert ours.encode("a<|endoftext|>") == [*end, *ours.encode_target("a"), *end]
    assert ours.decode(end) == ""
    ours = found(bert(tmp_path / "bert"))
    assert ours.encode("[MASK]") == [2, ours.vocab_size - 1, 3]


def test_added_pieces_of_old_files_have_the_ids_that_they_are_given(tmp_path: Path) -> None:
    folder = gpt2(tmp_path / "gpt2")
    (folder / "added_tokens.json").write_text('{"<tool>": 302, "<new>": 301}')
    assert found(folder).encode_target("<tool><new>") == [302, 301]


@pytest.mark.parametrize(("name", "kind"), [("bert", "BertJapaneseTokenizer"), ("gpt2", "Qwen2Tokenizer")])
def test_old_files_with_other_rules_are_refused_by_the_name_of_their_class(
    tmp_path: Path, name: str, kind: str
) -> None:
    folder = {"bert": bert, "gpt2": gpt2}[name](tmp_path / name, tokenizer_class=kind)
    with pytest.raises(UserError, match=rf"of {kind} found, which only .* reads so; let transformers write"):
        found(folder)


@pytest.mark.parametrize("text", ["a b c", "a", "漢 \ufffd x"])
def test_damaged_merges_are_refused(tmp_path: Path, text: str) -> None:
    folder = gpt2(tmp_path / "gpt2")
    (folder / "merges.txt").write_text(text)
    with pytest.raises(UserError, match="gpt2: the files of its tokenizer are damaged"):
        found(folder)


BESIDE = {
    "tokenizer_config.json": '{"tokenizer_class": "GPT2Tokenizer", "eos_token": "<|end|>", "model_max_length": 77}',
    "special_tokens_map.json": '{"pad_token": "<|end|>"}',
    "chat_template.jinja": "{{ messages }}",
    "preprocessor_config.json": '{"size": 3}',
}


@pytest.mark.parametrize("name", ["gpt2", "llama-3", "marian"])
def test_settings_go_through_a_checkpoint_and_an_export(tmp_path: Path, name: str, run: Any) -> None:
    folder = spoken(name, tmp_path / "model")
    for file, text in BESIDE.items():
        (folder / file).write_text(text)
    assert run("import", folder, "--out", tmp_path / "ours")[0] == 0
    export(mlxdecoder.load(tmp_path / "ours"), tmp_path / "back")
    before, after = ({file.name for file in path.iterdir()} for path in (folder, tmp_path / "back"))
    assert before == after >= BESIDE.keys()
    for file in before - {"config.json", "model.safetensors"}:
        assert (tmp_path / "back" / file).read_bytes() == (folder / file).read_bytes()


def test_a_file_beside_that_is_too_large_is_refused(tmp_path: Path) -> None:
    folder = copied("gpt2", tmp_path / "gpt2")
    (folder / "chat_template.jinja").write_text(" " * (4 * 2**20 + 1))
    with pytest.raises(UserError, match=r"chat_template\.jinja: 4,194,305 bytes found"):
        found(folder)


@pytest.mark.parametrize("known", ["by T5", "added_tokens.json", "tokenizer_config.json"])
def test_pieces_that_sentencepiece_would_spell_out_are_refused_by_name(tmp_path: Path, known: str) -> None:
    folder, piece = copied("t5" if known == "by T5" else "llama-3", tmp_path / "model"), "<extra_id_7>"
    (folder / "spiece.model").write_bytes(sentence_pieces())
    if known == "added_tokens.json":
        (folder / known).write_text(json.dumps({piece: 70}))
    if known == "tokenizer_config.json":
        set_values(folder, known, added_tokens_decoder={"70": {"content": piece}, "0": {"content": "<unk>"}})
    ours = found(folder)
    for read in (ours.encode, ours.encode_target, ours.cut):
        with pytest.raises(UserError, match=f"text: holds {piece}, which is no piece of the SentencePiece model"):
            read(f"the {piece} cat")
    assert ours.encode("the <unk> <extra_id_x> cat")
