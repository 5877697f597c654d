"""A foreign SentencePiece model, with the marks that its model wants round a text: Llama begins, T5 ends."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from sentencepiece import SentencePieceProcessor

from mlxdecoder.errors import UserError, shown
from mlxdecoder.text.characters import check_unicode, printable
from mlxdecoder.text.foreign.common import ForeignTokenizer, Span, checked, cut_of
from mlxdecoder.text.protocol import Cut

FILES = ("spiece.model", "tokenizer.model", "sentencepiece.bpe.model")


class SentencePieceTokenizer(ForeignTokenizer):
    """`begin` and `end` are the ids that stand before and behind what a model reads.

    `added` are pieces that its transformers knows beside the SentencePiece model, which would spell them out in
    letters: a text with one is refused. A mark of the model that a text spells is that mark, as in transformers.
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
        self._marks = _marks_of(self._processor)
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
        parts = parts_of(text, self._marks) if text.strip() else []
        return [id for part in parts for id in self._ids(part)]

    def cut(self, text: str, *, target: bool = False) -> Cut:
        if target:
            return cut_of(text, self.encode_target(text), spans_of(self._processor, text, self._marks))
        spans = spans_of(self._processor, text, self._marks)
        marks = ([None for _ in self._begin], [None for _ in self._end]) if spans else ([], [])
        return cut_of(text, self.encode(text), [*marks[0], *spans, *marks[1]])

    def decode(self, ids: Iterable[int]) -> str:
        text: str = self._processor.decode([id for id in checked(ids) if id < self.vocab_size])
        return text

    def _ids(self, part: str) -> list[int]:
        return [self._marks[part]] if part in self._marks else list(self._processor.encode(part))

    def _knows(self, piece: str) -> bool:
        id = self._processor.piece_to_id(piece)
        return id != self._processor.unk_id() or self._processor.id_to_piece(id) == piece

    def unknown_characters(self, text: str) -> list[str]:
        unknown = self._processor.unk_id()
        return [character for character in dict.fromkeys(text) if unknown in self.encode_target(character)]

    def _label(self, id: int) -> str:
        return printable(self._processor.id_to_piece(id))


def parts_of(text: str, marks: Collection[str]) -> list[str]:
    """The marks that a text spells, and what stands between them."""
    return [part for part in re.split(f"({'|'.join(map(re.escape, marks))})", text) if part]


def spans_of(processor: SentencePieceProcessor, text: str, marks: Collection[str], before: int = 0) -> list[Span]:
    """The characters of each piece of a text that stands behind `before` others; none for a blank text."""
    spans: list[Span] = []
    for part in parts_of(text, marks) if text.strip() else []:
        whole = [(0, len(part))]
        found = whole if part in marks else processor.encode(part, return_type="offset_mapping")["offsets"]
        spans += [(before + begin, before + end) for begin, end in found]
        before += len(part)
    return spans


def _marks_of(processor: SentencePieceProcessor) -> dict[str, int]:
    ids = (processor.unk_id(), processor.bos_id(), processor.eos_id(), processor.pad_id())
    return {processor.id_to_piece(id): id for id in ids if id >= 0}


def read_processor(model: bytes, name: str) -> SentencePieceProcessor:
    """A SentencePiece model; raises `UserError` for bytes that are none."""
    try:
        return SentencePieceProcessor.from_proto(model)
    except RuntimeError:
        raise UserError(f"{name}: not a SentencePiece model, or damaged.") from None
