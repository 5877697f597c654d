"""Tokenizers that come with models from elsewhere; each is known by its kind, and made of the bytes of its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlxdecoder.errors import UserError, shown
from mlxdecoder.text.foreign.json_tokenizer import JsonTokenizer
from mlxdecoder.text.foreign.marian_tokenizer import MarianTokenizer
from mlxdecoder.text.foreign.no_tokenizer import NoTokenizer
from mlxdecoder.text.foreign.sentencepiece_tokenizer import SentencePieceTokenizer
from mlxdecoder.text.protocol import TextTokenizer

KINDS: dict[str, Callable[..., TextTokenizer]] = {
    kind.kind: kind for kind in (JsonTokenizer, MarianTokenizer, NoTokenizer, SentencePieceTokenizer)
}


def make_tokenizer(kind: str, files: Mapping[str, bytes], settings: dict[str, Any]) -> TextTokenizer:
    """The tokenizer that has these files; raises `UserError` for files or settings that are not of this kind."""
    if kind not in KINDS:
        raise UserError(f"tokenizer: kind {kind!r} found; known are {', '.join(KINDS)}.")
    try:
        return KINDS[kind](dict(files), **settings)
    except UserError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"tokenizer: its files or settings are damaged ({shown(error)}).") from None


__all__ = ["JsonTokenizer", "MarianTokenizer", "NoTokenizer", "SentencePieceTokenizer", "make_tokenizer"]
