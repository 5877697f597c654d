"""Text to ids and back: SentencePiece with fixed special ids, byte fallback and an exact round trip."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

from sentencepiece import SentencePieceProcessor

from mlxdecoder.errors import UserError
from mlxdecoder.files import write_bytes
from mlxdecoder.labels import WORD_BEGIN
from mlxdecoder.text.characters import ESCAPE_SIGN, prepare, printable, unescape
from mlxdecoder.text.protocol import Cut
from mlxdecoder.text.vocabulary import BEGIN, END, PAD, UNKNOWN, learn_vocabulary

# Any other normalisation, a lost space or a missing byte piece spoils this text.
_PROBE = "x  \u202f\ufb01 \u2581\U0001f600"


class Tokenizer:
    """A trained vocabulary. Ids: padding 0, unknown 1, begin 2, end 3, then the 256 bytes, then pieces of text.

    `model` is SentencePiece's own file format, `vocab_size` the number of pieces, and `fingerprint` 16 hex digits that
    tell two vocabularies apart (the head of the SHA-256 of `model`).
    """

    kind = "own"

    def __init__(self, model: bytes, processor: SentencePieceProcessor) -> None:
        """Wrap what `train`, `load` or `from_bytes` made; these are the doors."""
        self.model = model
        self.vocab_size = processor.get_piece_size()
        self.fingerprint = hashlib.sha256(model).hexdigest()[:16]
        self._processor = processor

    def __repr__(self) -> str:
        return f"Tokenizer({self.vocab_size} pieces, {self.fingerprint})"

    @classmethod
    def train(
        cls,
        lines: Iterable[str],
        vocab_size: int,
        *,
        kind: Literal["unigram", "bpe"] = "unigram",
        progress: Callable[[str], None] | None = None,
    ) -> Tokenizer:
        """Learn a vocabulary of at most `vocab_size` pieces from `lines`; the same lines give the same bytes.

        A small text supports fewer pieces than asked for: see `vocab_size` of the result. Characters that make up the
        rarest 0.05 % of the text are left to the bytes. `progress` gets a line of text now and then, at least once a
        second; what it raises stops the training. Raises UserError for text without a character, for lone surrogates,
        and when `vocab_size` is over a million or less than the special ids, the bytes and the alphabet take.
        """
        report = progress or (lambda message: None)
        model = learn_vocabulary([text for line in lines if (text := prepare(line))], vocab_size, kind, report)
        tokenizer = cls.from_bytes(model)
        report(f"Vocabulary of {tokenizer.vocab_size:,} pieces ready")
        if tokenizer.vocab_size < vocab_size:
            report(f"{vocab_size:,} pieces were asked for; the text supports no more than {tokenizer.vocab_size:,}")
        return tokenizer

    @classmethod
    def load(cls, path: Path | str) -> Tokenizer:
        """Read what `save` wrote; UserError, naming the file, when it cannot be read or is something else."""
        try:
            model = Path(path).read_bytes()
        except OSError as error:
            raise UserError(f"{path}: cannot read the tokenizer: {error.strerror}") from error
        return cls.from_bytes(model, str(path))

    @classmethod
    def from_bytes(cls, model: bytes, name: str = "tokenizer") -> Tokenizer:
        """Make a tokenizer from its `model`; UserError, naming `name`, when these bytes are not one of ours, whole."""
        try:
            processor = SentencePieceProcessor.from_proto(model)
        except RuntimeError as error:
            raise UserError(f"{name}: not a tokenizer, or damaged; train it again or take the right file") from error
        specials = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
        if specials != (PAD, UNKNOWN, BEGIN, END):
            raise UserError(
                f"{name}: a foreign tokenizer: its padding, unknown, begin and end ids are {specials}; "
                f"wanted {(PAD, UNKNOWN, BEGIN, END)}, as Tokenizer.train makes them"
            )
        tokenizer = cls(model, processor)
        if tokenizer.decode(tokenizer.encode(_PROBE)) != _PROBE:
            raise UserError(f"{name}: a tokenizer that changes text (foreign or damaged); use one from Tokenizer.train")
        return tokenizer

    @property
    def files(self) -> dict[str, bytes]:
        """What a checkpoint keeps."""
        return {"tokenizer.model": self.model}

    @property
    def settings(self) -> dict[str, Any]:
        return {}

    def save(self, path: Path | str) -> None:
        """Write the vocabulary to `path`, whole or not at all; SentencePiece's own tools can read it."""
        write_bytes(path, self.model)

    def encode(self, text: str) -> list[int]:
        """Give the ids of `text` after NFC and without outer white space; no begin and no end id among them.

        Characters outside the vocabulary become bytes, so nothing is unknown, and text that looks like a special piece
        ("<s>") stays text. Raises UserError for a lone surrogate.
        """
        ids: list[int] = self._processor.encode(prepare(text))
        return ids

    def encode_target(self, text: str) -> list[int]:
        """The same, since `encode` gives no marks."""
        return self.encode(text)

    def decode(self, ids: Iterable[int]) -> str:
        """Give the text of `ids` [T]: `decode(encode(text))` is `text` in NFC without outer white space.

        Padding, begin and end are skipped, the unknown id reads as U+2047, broken byte sequences as U+FFFD. Raises
        UserError for an id outside the vocabulary.
        """
        return unescape(self._processor.decode(self._checked(ids)))

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Give one label for each of `ids` [T], to be read by people: a space is U+2581, what has no ink is <U+202F>.

        Raises UserError for an id outside the vocabulary.
        """
        return [printable(unescape(self._processor.id_to_piece(index))) for index in self._checked(ids)]

    def spelling(self, ids: Iterable[int]) -> list[bytes]:
        """Give what each of `ids` [T] adds to the text, in UTF-8, the space before a word included; b"" for marks.

        Together they are the text of `decode` with a space in front, except that characters which have to be escaped
        for SentencePiece (U+2581, U+2585, U+FDD0) stay escaped. Raises UserError for an id outside the vocabulary.
        """
        return [self._spelled(index) for index in self._checked(ids)]

    def cut(self, text: str, *, target: bool = False) -> Cut:
        """Give the pieces of `text`, after NFC and without outer white space, with the letters that each stands for."""
        ids = self.encode(text)
        letters = [piece.replace(WORD_BEGIN, "") for piece in self.pieces(ids)]
        return Cut(ids, letters, list(_first_letters(self.spelling(ids))))

    def unknown_characters(self, text: str) -> list[str]:
        """The characters of `text` that the vocabulary does not have, so that they are read as bytes; each once."""
        return [character for character in dict.fromkeys(prepare(text)) if self._spells_out(character)]

    def _spells_out(self, character: str) -> bool:
        return any(self._processor.is_byte(index) for index in self.encode(character))

    def _spelled(self, index: int) -> bytes:
        piece: str = self._processor.id_to_piece(index)
        if self._processor.is_byte(index):
            return bytes.fromhex(piece[3:5])  # of <0xE2>
        return b"" if index in (PAD, BEGIN, END) else piece.replace("\u2581", " ").encode()

    def _checked(self, ids: Iterable[int]) -> list[int]:
        indices = [operator.index(index) for index in ids]
        for index in indices:
            if not 0 <= index < self.vocab_size:
                raise UserError(f"ids: found {index}, wanted 0 to {self.vocab_size - 1}, the pieces of this tokenizer")
        return indices


def _first_letters(spelling: Sequence[bytes]) -> Iterator[int]:
    """The byte of the text at which each piece begins, the space before it left out."""
    spelled, ends = b"".join(spelling), [0, *accumulate(map(len, spelling))]
    for at, piece in zip(ends, spelling, strict=False):
        escapes = spelled[: max(at - 1, 0)].count(ESCAPE_SIGN)  # each is a byte longer than what it stands for
        yield at + piece.startswith(b" ") - 1 - escapes
