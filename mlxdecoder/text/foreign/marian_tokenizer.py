"""The tokenizer of opus-mt translators: two SentencePiece models cut, and one vocabulary numbers the pieces."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from sentencepiece import SentencePieceProcessor

from mlxdecoder.errors import UserError
from mlxdecoder.text.characters import check_unicode, printable
from mlxdecoder.text.foreign.common import ForeignTokenizer, checked, cut_of
from mlxdecoder.text.foreign.sentencepiece_tokenizer import parts_of, read_processor, spans_of
from mlxdecoder.text.protocol import Cut

SOURCE, TARGET, VOCABULARY = "source.spm", "target.spm", "vocab.json"
END, UNKNOWN, PAD = "</s>", "<unk>", "<pad>"


class MarianTokenizer(ForeignTokenizer):
    """A source ends with </s>; it may begin with a code such as >>fr<<, which chooses the language of the target.

    </s>, <unk> and <pad> that a text spells are those marks, as in transformers.
    """

    kind = "marian"

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files, {})
        self._source, self._target = (read_processor(files[name], name) for name in (SOURCE, TARGET))
        self._ids = _read_vocabulary(files[VOCABULARY])
        self._pieces = {id: piece for piece, id in self._ids.items()}
        self._marks = {mark: self._ids[mark] for mark in (END, UNKNOWN, PAD) if mark in self._ids}
        self.vocab_size = max(self._pieces) + 1

    def encode(self, text: str) -> list[int]:
        code, rest = _language_code(text)
        ids = self._encode(self._source, rest)
        return [*(self._ids.get(one, self._ids[UNKNOWN]) for one in code), *ids, self._ids[END]] if ids else []

    def encode_target(self, text: str) -> list[int]:
        return self._encode(self._target, text)

    def cut(self, text: str, *, target: bool = False) -> Cut:
        if target:
            return cut_of(text, self.encode_target(text), spans_of(self._target, text, self._marks))
        code, rest = _language_code(text)
        spans = spans_of(self._source, rest, self._marks, len(text) - len(rest))
        return cut_of(text, self.encode(text), [*(None for _ in code), *spans, None] if spans else [])

    def decode(self, ids: Iterable[int]) -> str:
        pieces = [self._pieces[id] for id in checked(ids) if id in self._pieces]
        text: str = self._target.decode_pieces([piece for piece in pieces if piece not in (END, UNKNOWN, PAD)])
        return text.strip()

    def unknown_characters(self, text: str) -> list[str]:
        characters = dict.fromkeys(_language_code(text)[1])
        return [one for one in characters if self._ids[UNKNOWN] in self._encode(self._source, one)]

    def _encode(self, processor: SentencePieceProcessor, text: str) -> list[int]:
        check_unicode(text)
        parts = parts_of(text, self._marks) if text.strip() else []
        cut = ([part] if part in self._marks else processor.encode(part, out_type=str) for part in parts)
        return [self._ids.get(piece, self._ids[UNKNOWN]) for pieces in cut for piece in pieces]

    def _label(self, id: int) -> str:
        return printable(self._pieces.get(id, f"<{id}>"))


def _language_code(text: str) -> tuple[list[str], str]:
    found = re.match(">>.*?<<", text)
    return ([found[0]], text[found.end() :]) if found else ([], text)


def _read_vocabulary(data: bytes) -> dict[str, int]:
    try:
        ids = json.loads(data)
        whole = isinstance(ids, dict) and all(type(id) is int and id >= 0 for id in ids.values())
    except (ValueError, RecursionError):
        whole = False
    if not whole or not {END, UNKNOWN} <= ids.keys():
        raise UserError(f"{VOCABULARY}: an object of pieces and their ids, with {END} and {UNKNOWN}, is wanted.")
    return dict(ids)
