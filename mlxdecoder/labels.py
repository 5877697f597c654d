"""Tokens as labels in any script: what cannot be seen is spelled out, what is too long is shortened in the middle."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

WORD_BEGIN = "\u2581"  # what SentencePiece writes for the space before a word
JOINERS = "\u200c\u200d"
# Fillers and blanks that count as letters, marks or symbols, so that Python calls them printable.
BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
WIDEST = 16

Drawable = Callable[[str], bool]


def is_visible(character: str) -> bool:
    """Whether a character shows in a text; the two joiners do, by what they do to their neighbours."""
    return character in JOINERS or (character.isprintable() and character not in BLANKS)


def visible(text: str, drawable: Drawable = is_visible) -> str:
    """`text` with U+XXXX for each character that is not `drawable`; spaces at the ends as ␣, nothing at all as ∅."""
    return "".join(_pieces(text, drawable))


def elided(text: str, widest: int = WIDEST, drawable: Drawable = is_visible) -> str:
    """`text` visible, its middle replaced by … when it is wider than `widest` columns (a CJK character takes two).

    What belongs together stays together: a letter with its marks, a code point written out.
    """
    pieces = _pieces(text, drawable)
    if _columns(pieces) <= widest:
        return "".join(pieces)
    head = next(n for n in range(len(pieces)) if _columns(pieces[: n + 1]) > widest // 2)
    tail = next(n for n in range(len(pieces)) if _columns(pieces[len(pieces) - n - 1 :]) > (widest - 1) // 2)
    return "".join(pieces[:head]) + "…" + "".join(pieces[len(pieces) - tail :])


def _pieces(text: str, drawable: Drawable) -> list[str]:
    if not text:
        return ["∅"]
    text = text.removeprefix(WORD_BEGIN) or text
    before, after = len(text) - len(text.lstrip(" ")), len(text.rstrip(" "))
    pieces: list[str] = []
    for place, character in enumerate(text):
        joins = pieces and (unicodedata.category(character).startswith("M") or character in JOINERS)
        if not before <= place < after:
            pieces.append("␣")
        elif not drawable(character) or (_only_acts_on_others(character) and not joins):
            pieces.append(f"U+{ord(character):04X}")
        elif joins:
            pieces[-1] += character
        else:
            pieces.append(character)
    return pieces


def _only_acts_on_others(character: str) -> bool:
    """Joiners and variation selectors, which nobody sees when they stand alone."""
    return character in JOINERS or "\ufe00" <= character <= "\ufe0f"


def _columns(pieces: Sequence[str]) -> int:
    characters = (character for character in "".join(pieces) if not unicodedata.combining(character))
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in characters)
