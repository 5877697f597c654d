"""The tokenizer of a model that has none: one that reads images, or whose folder holds weights alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from mlxdecoder.errors import UserError
from mlxdecoder.text.foreign.common import ForeignTokenizer, checked


class NoTokenizer(ForeignTokenizer):
    """Shows ids as numbers, and refuses text."""

    kind = "none"
    vocab_size = 0

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        super().__init__(files or {}, {})

    def encode(self, text: str) -> list[int]:
        return self._refuse()

    def encode_target(self, text: str) -> list[int]:
        return self._refuse()

    def decode(self, ids: Iterable[int]) -> str:
        return " ".join(map(str, checked(ids)))

    def unknown_characters(self, text: str) -> list[str]:
        return []

    def _label(self, id: int) -> str:
        return f"<{id}>"

    def _refuse(self) -> NoReturn:
        raise UserError("text: this model came without a tokenizer; give it ids, or put its tokenizer into the folder.")
