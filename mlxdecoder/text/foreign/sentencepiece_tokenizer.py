"""A foreign SentencePiece model, with the marks that its model wants round a text: Llama begins, T5 ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sentencepiece import SentencePieceProcessor

from mlxdecoder.errors import UserError
from mlxdecoder.text.foreign.common import ForeignTokenizer, checked
from mlxdecoder.text.tokenizer import check_unicode, printable

FILE = "tokenizer.model"


class SentencePieceTokenizer(ForeignTokenizer):
    """`begin` and `end` are the ids that stand before and behind what a model reads."""

    kind = "sentencepiece"

    def __init__(self, files: dict[str, bytes], begin: Sequence[int] = (), end: Sequence[int] = ()) -> None:
        super().__init__(files, {"begin": list(begin), "end": list(end)})
        self._processor = read_processor(files[FILE])
        self._begin, self._end = list(begin), list(end)
        self.vocab_size = self._processor.get_piece_size()

    def encode(self, text: str) -> list[int]:
        ids = self.encode_target(text)
        return [*self._begin, *ids, *self._end] if ids else []

    def encode_target(self, text: str) -> list[int]:
        check_unicode(text)
        ids: list[int] = self._processor.encode(text) if text.strip() else []
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        text: str = self._processor.decode([id for id in checked(ids) if id < self.vocab_size])
        return text

    def unknown_characters(self, text: str) -> list[str]:
        unknown = self._processor.unk_id()
        return [character for character in dict.fromkeys(text) if unknown in self.encode_target(character)]

    def _label(self, id: int) -> str:
        return printable(self._processor.id_to_piece(id))


def read_processor(model: bytes, name: str = FILE) -> SentencePieceProcessor:
    """A SentencePiece model; raises `UserError` for bytes that are none."""
    try:
        return SentencePieceProcessor.from_proto(model)
    except RuntimeError:
        raise UserError(f"{name}: not a SentencePiece model, or damaged.") from None
