"""What a tokenizer.json may ask for: those in use may, those that grow without bound may not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from mlxdecoder.errors import UserError
from mlxdecoder.text.foreign.bounds import MOST_GROWTH, growth, largest_id, nodes


def file(**parts: Any) -> bytes:
    tokenizer = Tokenizer(models.BPE(vocab={"a": 0, "b": 7}, merges=[]))
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    return tokenizer.to_str().encode()


def albert() -> normalizers.Normalizer:
    quotes = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]
    return normalizers.Sequence([*quotes, normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()])


def llama() -> normalizers.Normalizer:
    return normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])


@pytest.mark.parametrize("normalizer", [albert(), llama(), normalizers.BertNormalizer(), normalizers.NFKC()])
def test_steps_that_are_in_use_are_read(normalizer: normalizers.Normalizer) -> None:
    marks = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 7)])
    cut = pre_tokenizers.Sequence([pre_tokenizers.Digits(), pre_tokenizers.ByteLevel()])
    assert largest_id(file(normalizer=normalizer, pre_tokenizer=cut, post_processor=marks)) == 7


GROWING = {
    "replaced": {"normalizer": normalizers.Sequence([normalizers.Replace("a", "aa")] * 14)},
    "at once": {"normalizer": normalizers.Replace("a", "a" * (MOST_GROWTH + 1))},
    "everywhere": {"normalizer": normalizers.Replace(" ", "a" * 150), "decoder": decoders.Fuse()}
    | {"pre_tokenizer": pre_tokenizers.Sequence([pre_tokenizers.ByteLevel()] * 7)},
    "put in front": {"normalizer": normalizers.Sequence([normalizers.Prepend("a" * 9)] * 5)},
    "bytes as letters": {"normalizer": normalizers.Sequence([normalizers.ByteLevel()] * 14)},
    "said again": {"post_processor": processors.TemplateProcessing(single=" ".join(["$A"] * (MOST_GROWTH + 1)))},
    "in the answer": {"decoder": decoders.Sequence([decoders.Replace("a", "aa")] * 14)},
}


@pytest.mark.parametrize("name", GROWING)
def test_steps_that_grow_without_bound_are_refused(name: str) -> None:
    with pytest.raises(UserError, match="may make a text more than 10,000 times as long"):
        largest_id(file(**GROWING[name]))


@given(
    steps=st.lists(st.tuples(st.sampled_from([" ", "a", "ab"]), st.text("ab ", max_size=4)), max_size=5),
    text=st.text("ab ", min_size=1, max_size=12),
)
def test_no_text_grows_by_more_than_is_reckoned(steps: list[tuple[str, str]], text: str) -> None:
    normalizer = normalizers.Sequence([normalizers.Replace(found, put) for found, put in steps])
    told = json.loads(file(normalizer=normalizer))["normalizer"]
    assert len(normalizer.normalize_str(text)) <= len(text) * growth(told)


def test_added_pieces_are_few() -> None:
    tokenizer = Tokenizer(models.BPE(vocab={"a": 0}, merges=[]))
    tokenizer.add_tokens(["x" * 2**19, "yy"])
    with pytest.raises(UserError, match="524,290 bytes of added tokens found; at most 524,288"):
        largest_id(tokenizer.to_str().encode())


@given(pieces=st.lists(st.binary(max_size=6), max_size=30))
def test_beginnings_are_counted_once(pieces: list[bytes]) -> None:
    assert nodes(pieces) == len({piece[:n] for piece in pieces for n in range(1, len(piece) + 1)})
