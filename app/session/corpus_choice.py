"""What is trained on, and what of it: a part of the document, so that it is saved and undone with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Two = tuple[str, str]


@dataclass(frozen=True)
class CorpusChoice:
    """The files to learn from, none for the toy sentences, one, or the two sides; what of them; what to measure by.

    Columns, languages, header and limit mean what they mean to `mlxdecoder train`; None is found out, or all. Without
    files for `validation`, pairs are held out.
    """

    files: tuple[str, ...] = ()
    columns: Two | None = None
    languages: Two | None = None
    header: bool | None = None
    limit: int | None = None
    validation: tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> CorpusChoice:
        """What `asdict` gave, maybe by way of JSON."""
        parts: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in content.items()
        }
        return cls(**parts)

    @property
    def wishes(self) -> dict[str, Any]:
        """The fields of a `train` message that say this."""
        sides = {"columns": self.columns, "languages": self.languages}
        chosen = {name: two and list(two) for name, two in sides.items()}
        files = {"corpus": list(self.files), "validation": list(self.validation)}
        return {**files, **chosen, "header": self.header, "limit": self.limit}

    def inspected(self, which: str) -> dict[str, Any]:
        """The fields of an `inspect` message that ask for the "corpus", or for the corpus of the "validation"."""
        wishes = self.wishes
        validation = wishes.pop("validation")
        return wishes if which == "corpus" else {**wishes, "corpus": validation, "limit": None}
