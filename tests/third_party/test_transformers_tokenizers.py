"""Tokenizers of folders that transformers saved: ours read and write the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

transformers = pytest.importorskip("transformers")
from tokenizers import Tokenizer, models

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.pretrained.folder import open_folder
from mlxdecoder.pretrained.tokenizers import find_tokenizer
from tests.pretrained.folders import copied, set_values
from tests.text.test_foreign import MAKERS, TEXTS, sentence_pieces

CONFIG = ModelConfig(begin_id=1, end_id=2)
SPELLED = ("the cat </s> sings", "the</s>cat", "</s>", "<unk> the", "the\u2581</s>", "</s></s> a")  # marks in a text


@pytest.mark.parametrize("make", MAKERS)
def test_a_tokenizer_of_one_file(make: Callable[[], Any], tmp_path: Path) -> None:
    folder = copied("gpt2", tmp_path / "model")
    transformers.PreTrainedTokenizerFast(tokenizer_object=make()).save_pretrained(folder)
    theirs = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
    ours = find_tokenizer(open_folder(folder), CONFIG)
    for text in TEXTS:
        ids = theirs(text)["input_ids"]
        assert ours.encode(text) == ids
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)


def test_marian(tmp_path: Path) -> None:
    folder = copied("marian", tmp_path / "model")
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(sentence_pieces())
    letters = "▁ abcdefghilnorstuwz"
    pieces = ["</s>", "<unk>", *dict.fromkeys(["▁the", "▁cat", "▁s", *letters]), ">>fr<<", "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}))
    theirs = transformers.MarianTokenizer.from_pretrained(folder)
    ours = find_tokenizer(open_folder(folder), CONFIG)
    for text in (*TEXTS, *SPELLED, ">>fr<< the cat", "the 漢", "the <pad> cat"):
        ids = theirs(text)["input_ids"]
        assert ours.encode(text) == ids
        assert [*ours.encode_target(text), 0] == theirs(text_target=text)["input_ids"] or text.startswith(">>")
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)


def test_t5(tmp_path: Path) -> None:
    pytest.importorskip("google.protobuf")
    folder = copied("t5", tmp_path / "model")
    (folder / "spiece.model").write_bytes(sentence_pieces())
    set_values(folder, "tokenizer_config.json", tokenizer_class="T5Tokenizer")
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    ours = find_tokenizer(open_folder(folder), CONFIG)
    for text in ("the cat sings", "  an old  dog ", *SPELLED):
        assert ours.encode(text) == theirs(text)["input_ids"]


def test_pieces_that_are_cut_at_random_are_refused_for_transformers_cuts_them_so(tmp_path: Path) -> None:
    folder = copied("gpt2", tmp_path / "model")
    cutter = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")], dropout=0.5))
    transformers.PreTrainedTokenizerFast(tokenizer_object=cutter).save_pretrained(folder)
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    assert len({tuple(theirs("ab" * 20)["input_ids"]) for _ in range(20)}) > 1
    with pytest.raises(UserError, match="dropout = 0.5"):
        find_tokenizer(open_folder(folder), CONFIG)
