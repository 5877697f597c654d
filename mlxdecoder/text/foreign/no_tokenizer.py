"""The tokenizer of a model that has none: one that reads images, or whose folder holds weights alone."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mlxdecoder.errors import UserError
from mlxdecoder.text.foreign.common import ForeignTokenizer, checked, cut_of
from mlxdecoder.text.protocol import Cut

NUMBER = re.compile(r"\d{1,9}", re.ASCII)


class NoTokenizer(ForeignTokenizer):
    """Reads and shows ids as numbers with spaces between them, and refuses other text."""

    kind = "none"
    vocab_size = 0

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        super().__init__(files or {}, {})

    def encode(self, text: str) -> list[int]:
        return self.cut(text).ids

    def encode_target(self, text: str) -> list[int]:
        return self.cut(text).ids

    def cut(self, text: str, *, target: bool = False) -> Cut:
        found = list(re.finditer(r"\S+", text))
        if not all(NUMBER.fullmatch(one[0]) for one in found):
            raise UserError(
                "text: this model came without a tokenizer; give it ids, such as 5 6 7, or put its tokenizer into its "
                "folder."
            )
        return cut_of(text, [int(one[0]) for one in found], [one.span() for one in found])

    def decode(self, ids: Iterable[int]) -> str:
        return " ".join(map(str, checked(ids)))

    def unknown_characters(self, text: str) -> list[str]:
        return []

    def _label(self, id: int) -> str:
        return f"<{id}>"
