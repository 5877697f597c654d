"""What a session is about, as one value: everything that is saved, and everything that undo brings back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from mlxdecoder.app.session.checks import CORPUS, DOCUMENT, SAMPLING, VIEW, check
from mlxdecoder.app.session.corpus_choice import CorpusChoice
from mlxdecoder.errors import UserError
from mlxdecoder.files import write_text

SUFFIX = ".mlxdecoder"
FORMAT = 1
LARGEST_FILE = 2**24
FIRST_SENTENCE = "The black cat sleeps."


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen; temperature 0 takes the most probable one, a beam above 1 searches."""

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    beam: int = 1
    seed: int = 0


@dataclass(frozen=True)
class View:
    """What is looked at: one kind of attention and stage, one head large, and how it is drawn.

    `step` is the newest row that is shown, counted from 0; None follows the generation. `average` shows the mean of the
    heads; `words` merges the pieces of the vocabulary into words; `side` says whose picture: with the mistakes, without
    them, or the difference; `at_once` reads the tokens together, as training does, while mistakes are on.
    """

    kind: str = "cross"
    layer: int = 0
    head: int = 0
    stage: str = "weights"
    step: int | None = None
    average: bool = False
    words: bool = False
    side: str = "wrong"
    at_once: bool = True


@dataclass(frozen=True)
class Document:
    """A session: the model by path and fingerprint, the sentence, what is forced, broken, looked at, and trained on."""

    model: str | None = None  # None is the packaged model
    fingerprint: str = ""
    sentence: str = FIRST_SENTENCE
    forced: Mapping[int, int] = field(default_factory=dict)  # step: token id
    sampling: Sampling = field(default_factory=Sampling)
    mistakes: tuple[str, ...] = ()
    view: View = field(default_factory=View)
    probe: str = FIRST_SENTENCE
    preset: str = "toy"
    corpus: CorpusChoice = field(default_factory=CorpusChoice)

    def looking(self, **changes: Any) -> Document:
        """The same session, looked at otherwise."""
        return replace(self, view=replace(self.view, **changes))

    def generates_like(self, other: Document) -> bool:
        """Whether the same is generated for both, however it is looked at, and whatever is trained."""
        return replace(self, view=other.view, probe=other.probe, preset=other.preset, corpus=other.corpus) == other

    def to_json(self) -> str:
        content = {"format": FORMAT, **asdict(self), "forced": {str(k): v for k, v in self.forced.items()}}
        return json.dumps(content, ensure_ascii=False, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str, name: str = "session") -> Document:
        """Read what `to_json` wrote; raises `UserError` that names what is wrong."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            raise UserError(f"{name}: not a session of this app.") from None
        form = content.pop("format", None) if isinstance(content, dict) else None
        if type(form) is not int or form != FORMAT:  # True is 1
            raise UserError(f"{name}: not a session of this version of the app (format {FORMAT} is wanted).")
        return _document(content, name)

    def save(self, path: Path) -> None:
        """Write the session, whole or not at all."""
        write_text(path, self.to_json())

    @classmethod
    def load(cls, path: Path) -> Document:
        """Read a session; raises `UserError` for a file that is none, `OSError` for one that cannot be read."""
        if path.stat().st_size > LARGEST_FILE:
            raise UserError(f"{path.name}: too large to be a session of this app.")
        return cls.from_json(path.read_text(encoding="utf-8", errors="replace"), path.name)


def _document(content: dict[str, Any], name: str) -> Document:
    check(content, DOCUMENT, name)
    sampling, view, corpus = (content.get(part, {}) for part in ("sampling", "view", "corpus"))
    check(sampling, SAMPLING, f"{name}: sampling")
    check(view, VIEW, f"{name}: view")
    check(corpus, CORPUS, f"{name}: corpus")
    return Document(
        **{
            **content,
            "forced": {int(step): token for step, token in content.get("forced", {}).items()},
            "sampling": Sampling(**sampling),
            "view": View(**view),
            "mistakes": tuple(content.get("mistakes", ())),
            "corpus": CorpusChoice.from_dict(corpus),
        }
    )
