"""What foreign tokenizers share: their files, the check of ids, labels, and characters that they do not know."""

from __future__ import annotations

import hashlib
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from mlxdecoder.errors import UserError
from mlxdecoder.text.protocol import Cut

Span = tuple[int, int]  # characters of a text


class ForeignTokenizer(ABC):
    """A tokenizer whose ids may be fewer than a model has room for; ids beyond them read as nothing."""

    kind: str
    vocab_size: int

    def __init__(self, files: dict[str, bytes], settings: dict[str, Any]) -> None:
        self.files, self.settings = files, settings
        digest = hashlib.sha256()
        for name in sorted(files):
            digest.update(files[name])
        self.fingerprint = digest.hexdigest()[:16]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.vocab_size} pieces, {self.fingerprint})"

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """What a model reads of `text`, with the marks of this tokenizer; nothing for a blank text."""

    @abstractmethod
    def encode_target(self, text: str) -> list[int]:
        """The ids of `text` without marks."""

    @abstractmethod
    def cut(self, text: str, *, target: bool = False) -> Cut:
        """The same ids as `encode` or, for a target, `encode_target`, with the letters that each stands for."""

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """One label for each of `ids`, to be read by people: a space is U+2581, what has no ink is <U+202F>."""
        return [self._label(id) if id < self.vocab_size else f"<{id}>" for id in checked(ids)]

    @abstractmethod
    def unknown_characters(self, text: str) -> list[str]:
        """The characters of `text` that the vocabulary cannot write; each once."""

    @abstractmethod
    def _label(self, id: int) -> str: ...


def cut_of(text: str, ids: list[int], spans: Sequence[Span | None]) -> Cut:
    """The pieces of a text that have these ids and spans; None for a mark."""
    bytes_before = [0, *accumulate(len(character.encode()) for character in text)]
    letters = ["" if span is None else text[slice(*span)].lstrip(" ") for span in spans]
    ends = [None if span is None else max(span) for span in spans]
    places = [None if end is None else bytes_before[end - len(own)] for end, own in zip(ends, letters, strict=True)]
    return Cut(ids, letters, places)


def checked(ids: Iterable[int]) -> list[int]:
    """Ids as whole numbers; raises `UserError` for one below 0."""
    indices = [operator.index(id) for id in ids]
    if indices and min(indices) < 0:
        raise UserError(f"ids: found {min(indices)}, wanted at least 0.")
    return indices
