"""Tokenizers of folders that transformers saved: ours read and write the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

transformers = pytest.importorskip("transformers")

from mlxdecoder.config import ModelConfig
from mlxdecoder.pretrained.folder import open_folder
from mlxdecoder.pretrained.tokenizers import find_tokenizer
from tests.pretrained.folders import copied
from tests.text.test_foreign import MAKERS, TEXTS, sentence_pieces

CONFIG = ModelConfig(begin_id=1, end_id=2)


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
    for text in (*TEXTS, ">>fr<< the cat", "the 漢"):
        ids = theirs(text)["input_ids"]
        assert ours.encode(text) == ids
        assert [*ours.encode_target(text), 0] == theirs(text_target=text)["input_ids"] or text.startswith(">>")
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
