"""A tokenizer.json, as the `tokenizers` library reads it: byte-level BPE, WordPiece, Unigram."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from mlxdecoder.errors import UserError, shown
from mlxdecoder.labels import WORD_BEGIN
from mlxdecoder.streams import stderr_unseen
from mlxdecoder.text.characters import check_unicode, printable
from mlxdecoder.text.foreign import bounds
from mlxdecoder.text.foreign.bounds import FILE
from mlxdecoder.text.foreign.common import ForeignTokenizer, checked, cut_of
from mlxdecoder.text.protocol import Cut

UNKNOWN = ("<unk>", "[UNK]")
PROBE = "It is 5 o'clock, \u00e9t\u00e9 \U0001f600."


class JsonTokenizer(ForeignTokenizer):
    """The marks are those that its post-processor puts round a text."""

    kind = "json"

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files, {})
        largest = bounds.largest_id(files[FILE])
        self._tokenizer, probed = _read(files[FILE])
        model = self._tokenizer.model
        if dropout := getattr(model, "dropout", None):
            raise UserError(
                f"{FILE}: model, dropout = {dropout:g}: pieces are cut at random, which is for training alone, "
                "so that nothing could be reproduced; write null for it into this file."
            )
        # The marks of a post-processor have ids of its own, which are in whatever it reads.
        self.vocab_size = max(largest, *self._tokenizer.get_added_tokens_decoder(), *probed, -1) + 1
        has = self._tokenizer.token_to_id
        self._byte_level = has("Ġ") is not None and has(WORD_BEGIN) is None
        self._unknown = next((id for id in map(has, UNKNOWN) if id is not None), None)
        # WordPiece marks what continues a word, where others mark what begins one.
        self._continues = model.continuing_subword_prefix if type(model).__name__ == "WordPiece" else None

    def encode(self, text: str) -> list[int]:
        return self._encode(text, marks=True) if text.strip() else []

    def encode_target(self, text: str) -> list[int]:
        return self._encode(text, marks=False) if text.strip() else []

    def cut(self, text: str, *, target: bool = False) -> Cut:
        check_unicode(text)
        if not text.strip():
            return Cut([], [], [])
        found = self._encoding(text, marks=not target)
        marks = zip(found.offsets, found.special_tokens_mask, strict=True)
        return cut_of(text, found.ids, [None if is_mark else span for span, is_mark in marks])

    def decode(self, ids: Iterable[int]) -> str:
        known = [id for id in checked(ids) if id < self.vocab_size]
        return self._decode(known, marks=False)

    def unknown_characters(self, text: str) -> list[str]:
        if self._unknown is None:
            return []
        characters = [character for character in dict.fromkeys(text) if not character.isspace()]
        return [character for character in characters if self._unknown in self._encode(character, marks=False)]

    def _encode(self, text: str, marks: bool) -> list[int]:
        check_unicode(text)
        ids: list[int] = self._encoding(text, marks).ids
        return ids

    def _encoding(self, text: str, marks: bool) -> Any:
        with _guarded(f"text: {FILE} fails on it; try another, or a shorter one"):
            return self._tokenizer.encode(text, add_special_tokens=marks)

    def _decode(self, ids: list[int], marks: bool) -> str:
        with _guarded(f"ids: {FILE} fails on them"):
            text: str = self._tokenizer.decode(ids, skip_special_tokens=not marks)
        return text

    def _is_mark(self, id: int) -> bool:
        added = self._tokenizer.get_added_tokens_decoder().get(id)
        return added is not None and bool(added.special)

    def _label(self, id: int) -> str:
        piece: str = self._tokenizer.id_to_token(id) or f"<{id}>"
        if self._continues is not None and (id == self._unknown or not self._is_mark(id)):
            begins = not piece.startswith(self._continues)
            return printable(f"{WORD_BEGIN}{piece}" if begins else piece.removeprefix(self._continues))
        if not self._byte_level:
            return printable(piece)
        text = self._decode([id], marks=True)
        # A part of a character has no text of its own: it stays in the letters that stand for its bytes.
        return printable(text.replace(" ", WORD_BEGIN) if text and "\ufffd" not in text else piece)


def library() -> Any:
    """The `tokenizers` library; raises `UserError` where it is not there."""
    try:
        import tokenizers
    except ImportError:
        raise UserError(f"{FILE}: wants the tokenizers library: pip install 'mlxdecoder[pretrained]'.") from None
    return tokenizers


def _read(data: bytes) -> tuple[Any, list[int]]:
    """The library's tokenizer, and the ids of `PROBE` with all marks."""
    make = library().Tokenizer.from_buffer
    with _guarded(f"{FILE}: not a tokenizer, or damaged"):
        tokenizer = make(data)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        probed: list[int] = tokenizer.encode(PROBE).ids
        tokenizer.decode(probed)
    return tokenizer, probed


@contextmanager
def _guarded(wrong: str) -> Iterator[None]:
    """Raise `UserError` where the library fails, which says so on descriptor 2 when it panics."""
    try:
        with stderr_unseen():
            yield
    except (KeyboardInterrupt, MemoryError, SystemExit):
        raise
    except BaseException as error:  # the library raises no narrower kind, and where it panics, no Exception
        raise UserError(f"{wrong} ({shown(error, 200)}).") from None
