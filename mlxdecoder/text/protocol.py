"""What models, commands and the app ask of any tokenizer: our own, or one that came with a model from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Cut:
    """A text in pieces: ids [T], and for each of them what it stands for in the text.

    `letters` leave out the space before a word, and `places` are where they begin, in bytes of UTF-8. A mark stands for
    nothing: its place is None.
    """

    ids: list[int]
    letters: list[str]
    places: list[int | None]


class TextTokenizer(Protocol):
    """Text to ids and back.

    `kind` names the class that reads `files` (name and content) and `settings` again; `fingerprint` tells two
    vocabularies apart. `encode` gives what a model reads of a text, with the marks that the tokenizer puts round it;
    `encode_target` what a decoder writes, without marks. Both give nothing for a blank text. `cut` gives the same ids,
    of a target where that is asked for, with the letters of each.
    """

    kind: str
    vocab_size: int
    fingerprint: str

    @property
    def files(self) -> dict[str, bytes]: ...

    @property
    def settings(self) -> dict[str, Any]: ...

    def encode(self, text: str) -> list[int]: ...

    def encode_target(self, text: str) -> list[int]: ...

    def cut(self, text: str, *, target: bool = False) -> Cut: ...

    def decode(self, ids: Iterable[int]) -> str: ...

    def pieces(self, ids: Iterable[int]) -> list[str]: ...

    def unknown_characters(self, text: str) -> list[str]: ...
