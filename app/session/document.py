"""What a session is about, as one value: everything that is saved, and everything that undo brings back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from mlxdecoder.app.messages import KINDS, STAGES
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
    heads; `side` says whose picture: with the mistakes, without them, or the difference; `at_once` reads the
    tokens together, as training does, while mistakes are on.
    """

    kind: str = "cross"
    layer: int = 0
    head: int = 0
    stage: str = "weights"
    step: int | None = None
    average: bool = False
    side: str = "wrong"
    at_once: bool = True


@dataclass(frozen=True)
class Document:
    """A session: the model by path and fingerprint, the sentence, what is forced, what is broken, what is looked at."""

    model: str | None = None  # None is the packaged model
    fingerprint: str = ""
    sentence: str = FIRST_SENTENCE
    forced: Mapping[int, int] = field(default_factory=dict)  # step: token id
    sampling: Sampling = field(default_factory=Sampling)
    mistakes: tuple[str, ...] = ()
    view: View = field(default_factory=View)
    probe: str = FIRST_SENTENCE
    preset: str = "toy"

    def looking(self, **changes: Any) -> Document:
        """The same session, looked at otherwise."""
        return replace(self, view=replace(self.view, **changes))

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
        if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
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
    known = {one.name for one in fields(Document)}
    if unknown := sorted(set(content) - known):
        raise UserError(f"{name}: unknown field {unknown[0]!r}.")
    try:
        made = Document(
            **{
                **content,
                "forced": {int(step): int(token) for step, token in content.get("forced", {}).items()},
                "sampling": Sampling(**content.get("sampling", {})),
                "view": View(**content.get("view", {})),
                "mistakes": tuple(content.get("mistakes", ())),
            }
        )
    except (TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{name}: {error}.") from None
    _check(made, name)
    return made


def _check(made: Document, name: str) -> None:
    texts = {"sentence": made.sentence, "probe": made.probe, "preset": made.preset, "fingerprint": made.fingerprint}
    wrong = [key for key, value in texts.items() if not isinstance(value, str)]
    if not (made.model is None or isinstance(made.model, str)):
        wrong.append("model")
    if not all(isinstance(one, str) for one in made.mistakes):
        wrong.append("mistakes")
    wrong += _wrong_numbers(made)
    if wrong:
        raise UserError(f"{name}: {wrong[0]} is not of the right kind.")
    if (
        made.view.kind not in KINDS
        or made.view.stage not in STAGES
        or made.view.side not in ("wrong", "right", "change")
    ):
        raise UserError(f"{name}: view of {made.view.kind}, {made.view.stage}, {made.view.side} is unknown.")


def _wrong_numbers(made: Document) -> list[str]:
    view, sampling = made.view, made.sampling
    whole = {
        "layer": view.layer,
        "head": view.head,
        "top_k": sampling.top_k,
        "beam": sampling.beam,
        "seed": sampling.seed,
    }
    whole |= {} if view.step is None else {"step": view.step}
    wrong = [key for key, value in whole.items() if type(value) is not int or not 0 <= value < 2**31]
    real = {"temperature": sampling.temperature, "top_p": sampling.top_p}
    wrong += [key for key, value in real.items() if type(value) not in (int, float) or not 0 <= value < 1e6]
    return wrong + [key for key in ("average", "at_once") if type(getattr(view, key)) is not bool]
