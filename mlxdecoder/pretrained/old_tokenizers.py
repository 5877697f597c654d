"""Tokenizers in the files of before tokenizer.json, as transformers reads them: those of BERT and of GPT-2."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from mlxdecoder.pretrained.settings import Settings
from mlxdecoder.text.foreign.json_tokenizer import library

NAMES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
FLAGS = ("lstrip", "rstrip", "single_word", "normalized")
WORD_PIECES = {
    "unk_token": "[UNK]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
    "do_lower_case": True,
    "tokenize_chinese_chars": True,
}
END, TEXTS = "<|endoftext|>", ("$A:0", "$B:1")
MERGED = {
    "bos_token": END,
    "eos_token": END,
    "unk_token": END,
    "add_prefix_space": False,
    "add_bos_token": False,
    "add_eos_token": False,
}


@dataclass(frozen=True)
class Told:
    """What tokenizer_config.json says, and the pieces that are added to a vocabulary, by their ids."""

    settings: Settings
    added: dict[int, dict[str, Any]]

    def over(self, defaults: dict[str, Any]) -> Told:
        return Told(self.settings.over(defaults), self.added)

    def piece(self, key: str) -> str:
        """A special piece, which may be told with flags or without; raises `UserError` for what is neither."""
        found = self.settings.values.get(key)
        content = found.get("content") if isinstance(found, dict) else found
        if not isinstance(content, str):
            raise self.settings.refused(key, "a piece is wanted")
        return content


def of_word_pieces(vocabulary: bytes, told: Told) -> bytes:
    """The tokenizer.json of a vocab.txt."""
    tokenizers, told = library(), told.over(WORD_PIECES)
    lines = vocabulary.decode().removesuffix("\n").split("\n")
    ids = {line.removesuffix("\r"): id for id, line in enumerate(lines)}
    accents = None if told.settings.values.get("strip_accents") is None else told.settings.flag("strip_accents")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(ids, unk_token=told.piece("unk_token")))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=told.settings.flag("tokenize_chinese_chars"),
        strip_accents=accents,
        lowercase=told.settings.flag("do_lower_case"),
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = tokenizers.decoders.WordPiece(prefix="##")
    _add(tokenizer, told)
    begin, end = told.piece("cls_token"), told.piece("sep_token")
    single = [f"{begin}:0", "$A:0", f"{end}:0"]
    _put_round(tokenizer, [begin, end], single, [*single, "$B:1", f"{end}:1"])
    return str(tokenizer.to_str()).encode()


def of_merges(vocabulary: bytes, merges: bytes, told: Told) -> bytes:
    """The tokenizer.json of a vocab.json and its merges.txt."""
    tokenizers, told = library(), told.over(MERGED)
    lines = merges.decode().removesuffix("\n").split("\n")
    pairs = [tuple(line.removesuffix("\r").split(" ")) for line in lines if line and not line.startswith("#version")]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(json.loads(vocabulary), pairs))
    spaced = told.settings.flag("add_prefix_space")
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=spaced)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    _add(tokenizer, told)
    begin, end = ([told.piece(f"{key}_token")] * told.settings.flag(f"add_{key}_token") for key in ("bos", "eos"))
    single, more = ([*(f"{p}:{i}" for p in begin), text, *(f"{p}:{i}" for p in end)] for i, text in enumerate(TEXTS))
    _put_round(tokenizer, [*begin, *end], single, [*single, *more])
    return str(tokenizer.to_str()).encode()


def _add(tokenizer: Any, told: Told) -> None:
    """The added pieces in the order of their ids, then the special ones, which are not cut."""
    values = told.settings.values
    specials = {told.piece(key): values[key] for key in NAMES if values.get(key) is not None}
    added = {piece["content"]: piece for _, piece in sorted(told.added.items())}
    named = {content: piece if isinstance(piece, dict) else {} for content, piece in specials.items()}
    for content, piece in (added | {content: named[content] for content in named if content not in added}).items():
        special = piece.get("special", content in named)
        flags = {"normalized": not special, **{key: piece[key] for key in FLAGS if key in piece}}
        tokenizer.add_tokens([library().AddedToken(content, special=special, **flags)])


def _put_round(tokenizer: Any, marks: list[str], single: list[str], pair: list[str]) -> None:
    """Marks round what a model reads, one text or two."""
    ids = [(mark, tokenizer.token_to_id(mark)) for mark in dict.fromkeys(marks)]
    tokenizer.post_processor = library().processors.TemplateProcessing(single=single, pair=pair, special_tokens=ids)
