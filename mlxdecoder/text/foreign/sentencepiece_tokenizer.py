"""A foreign SentencePiece model, with the marks that its model wants round a text: Llama begins, T5 ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sentencepiece import SentencePieceProcessor

from mlxdecoder.errors import UserError, shown
from mlxdecoder.text.characters import check_unicode, printable
from mlxdecoder.text.foreign.common import ForeignTokenizer, Span, checked, cut_of
from mlxdecoder.text.protocol import Cut

FILES = ("spiece.model", "tokenizer.model", "sentencepiece.bpe.model")


class SentencePieceTokenizer(ForeignTokenizer):
    """`begin` and `end` are the ids that stand before and behind what a model reads.

    `added` are pieces that its transformers knows beside the SentencePiece model, which would spell them out in
    letters: a text with one is refused.
    """

    kind = "sentencepiece"

    def __init__(
        self, files: dict[str, bytes], begin: Sequence[int] = (), end: Sequence[int] = (), added: Sequence[str] = ()
    ) -> None:
        super().__init__(files, {"begin": list(begin), "end": list(end), "added": list(added)})
        name = next((name for name in FILES if name in files), FILES[0])
        self._processor = read_processor(files[name], name)
        self._added = [piece for piece in added if piece and not self._knows(piece)]
        self._begin, self._end = list(begin), list(end)
        self.vocab_size = self._processor.get_piece_size()

    def encode(self, text: str) -> list[int]:
        ids = self.encode_target(text)
        return [*self._begin, *ids, *self._end] if ids else []

    def encode_target(self, text: str) -> list[int]:
        check_unicode(text)
        if found := next((piece for piece in self._added if piece in text), None):
            raise UserError(
                f"text: holds {shown(found)}, which is no piece of the SentencePiece model but one that was added to "
                "it;\nleave it out, or put the model's tokenizer.json into its folder, which knows it."
            )
        ids: list[int] = self._processor.encode(text) if text.strip() else []
        return ids

    def cut(self, text: str, *, target: bool = False) -> Cut:
        if target:
            return cut_of(text, self.encode_target(text), spans_of(self._processor, text))
        spans = spans_of(self._processor, text)
        marks = ([None for _ in self._begin], [None for _ in self._end]) if spans else ([], [])
        return cut_of(text, self.encode(text), [*marks[0], *spans, *marks[1]])

    def decode(self, ids: Iterable[int]) -> str:
        text: str = self._processor.decode([id for id in checked(ids) if id < self.vocab_size])
        return text

    def _knows(self, piece: str) -> bool:
        id = self._processor.piece_to_id(piece)
        return id != self._processor.unk_id() or self._processor.id_to_piece(id) == piece

    def unknown_characters(self, text: str) -> list[str]:
        unknown = self._processor.unk_id()
        return [character for character in dict.fromkeys(text) if unknown in self.encode_target(character)]

    def _label(self, id: int) -> str:
        return printable(self._processor.id_to_piece(id))


def spans_of(processor: SentencePieceProcessor, text: str, before: int = 0) -> list[Span]:
    """The characters of each piece of a text that stands behind `before` others; none for a blank text."""
    found = processor.encode(text, return_type="offset_mapping")["offsets"] if text.strip() else []
    return [(before + begin, before + end) for begin, end in found]


def read_processor(model: bytes, name: str) -> SentencePieceProcessor:
    """A SentencePiece model; raises `UserError` for bytes that are none."""
    try:
        return SentencePieceProcessor.from_proto(model)
    except RuntimeError:
        raise UserError(f"{name}: not a SentencePiece model, or damaged.") from None
