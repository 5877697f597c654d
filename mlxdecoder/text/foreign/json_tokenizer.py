"""A tokenizer.json, as the `tokenizers` library reads it: byte-level BPE, WordPiece, Unigram."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mlxdecoder.errors import UserError
from mlxdecoder.labels import WORD_BEGIN
from mlxdecoder.text.foreign.common import ForeignTokenizer, checked
from mlxdecoder.text.tokenizer import check_unicode, printable

FILE = "tokenizer.json"
LARGEST = 50 * 2**20  # bytes
UNKNOWN = ("<unk>", "[UNK]")
PROBE = "It is 5 o'clock, \u00e9t\u00e9 \U0001f600."


class JsonTokenizer(ForeignTokenizer):
    """The marks are those that its post-processor puts round a text."""

    kind = "json"

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files, {})
        self._tokenizer = _read(files[FILE])
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.vocab_size = self._tokenizer.get_vocab_size(with_added_tokens=True)
        has = self._tokenizer.token_to_id
        self._byte_level = has("Ġ") is not None and has(WORD_BEGIN) is None
        self._unknown = next((id for id in map(has, UNKNOWN) if id is not None), None)

    def encode(self, text: str) -> list[int]:
        return self._encode(text, marks=True) if text.strip() else []

    def encode_target(self, text: str) -> list[int]:
        return self._encode(text, marks=False) if text.strip() else []

    def decode(self, ids: Iterable[int]) -> str:
        known = [id for id in checked(ids) if id < self.vocab_size]
        text: str = self._tokenizer.decode(known, skip_special_tokens=True)
        return text

    def unknown_characters(self, text: str) -> list[str]:
        if self._unknown is None:
            return []
        characters = [character for character in dict.fromkeys(text) if not character.isspace()]
        return [character for character in characters if self._unknown in self._encode(character, marks=False)]

    def _encode(self, text: str, marks: bool) -> list[int]:
        check_unicode(text)
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=marks).ids
        return ids

    def _label(self, id: int) -> str:
        piece: str = self._tokenizer.id_to_token(id) or f"<{id}>"
        if not self._byte_level:
            return printable(piece)
        text = self._tokenizer.decode([id], skip_special_tokens=False)
        # A part of a character has no text of its own: it stays in the letters that stand for its bytes.
        return printable(text.replace(" ", WORD_BEGIN) if text and "\ufffd" not in text else piece)


def _read(data: bytes) -> Any:
    if len(data) > LARGEST:
        raise UserError(f"{FILE}: {len(data):,} bytes found; at most {LARGEST:,} are read.")
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise UserError(f"{FILE}: wants the tokenizers library: pip install 'mlxdecoder[pretrained]'.") from None
    try:
        tokenizer = Tokenizer.from_buffer(data)
        tokenizer.decode(tokenizer.encode(PROBE).ids)
        return tokenizer
    except (KeyboardInterrupt, MemoryError, SystemExit):
        raise
    except BaseException as error:  # the library raises no narrower kind, and where it panics, no Exception
        raise UserError(f"{FILE}: not a tokenizer, or damaged ({_reason(error)}).") from None


def _reason(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
