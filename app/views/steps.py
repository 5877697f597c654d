"""Which step of which generation the watching panels are about, and the words they share. No Qt."""

from __future__ import annotations

import math
import unicodedata
from html import escape

from mlxdecoder.app.session.recording import Recording, Token
from mlxdecoder.app.session.session import Session

UNITS = ("bytes", "KB", "MB", "GB")


def recording_shown(session: Session) -> Recording:
    """The generation of the side that is looked at; where that side has none, the one with the mistakes."""
    of_side = session.generation.recordings.get(session.document.view.side)
    return of_side or session.generation.recordings.get("wrong") or Recording()


def step_shown(session: Session) -> int | None:
    """The step that is looked at, or the newest one until there are so many; None before the first."""
    last = len(recording_shown(session).tokens) - 1
    if last < 0:
        return None
    step = session.document.view.step
    return last if step is None else min(step, last)


def token_shown(session: Session) -> Token | None:
    """What the step that is looked at brought; None before the first."""
    step = step_shown(session)
    return None if step is None else recording_shown(session).tokens[step]


def read_before(session: Session, step: int) -> str:
    """The token that the decoder reads last before it writes that of a step."""
    recording = recording_shown(session)
    return recording.read[len(recording.prompt) - 1 + step]


def generating(session: Session) -> bool:
    """Whether the worker still writes, on either side."""
    return session.requests.busy("wrong") or session.requests.busy("right")


def generate_anew(session: Session) -> None:
    """Generate, unless nobody is there to do it; a worker that comes back generates by itself."""
    if session.alive:
        session.generation.begin()


def is_right_to_left(text: str) -> bool:
    """Whether the first letter with a direction is one of a script that is written from the right."""
    directions = (unicodedata.bidirectional(character) for character in text)
    return next((each in ("R", "AL") for each in directions if each in ("L", "R", "AL")), False)


def probability(share: float) -> str:
    """A probability as people read it: 93%, 4.2%, under 0.1%; 100% is certain, 0% impossible."""
    if not math.isfinite(share):
        return "not a number"
    if 0 < share < 0.001:
        return "under 0.1%"
    rounded = f"{share:.1%}" if share < 0.1 else f"{share:.0%}"
    return "over 99%" if rounded == "100%" and share < 1 else rounded


def chance(token: Token) -> float:
    """The probability that the model gave to what was chosen."""
    return math.exp(token.logprob)


def tooltip(text: str) -> str:
    """A text as it is, for a tooltip: tokens may look like markup, and Qt would take them for it."""
    return f"<qt>{escape(text)}</qt>"


def size(n_bytes: float) -> str:
    """A number of bytes in the unit that suits it, in steps of 1024."""
    unit = 0
    while n_bytes >= 1024 and unit < len(UNITS) - 1:
        n_bytes, unit = n_bytes / 1024, unit + 1
    return f"{n_bytes:.0f} {UNITS[unit]}" if unit == 0 or n_bytes >= 100 else f"{n_bytes:.1f} {UNITS[unit]}"
