"""Names that people give to columns and keys: of languages, and of the two sides."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence

from mlxdecoder.text.readers.languages import CODES, LANGUAGES, WORDS

# Of columns beside the two sides.
BESIDE = frozenset(
    """id index nr no. number score comment comments note notes attribution licence license author url domain topic
    category level date""".split()
)

_SIDES = (
    ("source", "target"),
    ("src", "tgt"),
    ("src", "trg"),
    ("source", "translation"),
    ("original", "translation"),
    ("text", "translation"),
    ("sentence", "translation"),
    ("input", "output"),
    ("question", "answer"),
    ("original", "traduction"),
    ("original", "traducción"),
    ("original", "übersetzung"),
)
_WORDS = frozenset(word for side in _SIDES for word in side) | frozenset(
    "lang language phrase phrases reference sentences texts translated translations word words".split()
)


def is_language(name: str) -> bool:
    """Whether this names a language and nothing but it: "English", "fr", "en-GB", "text_de", "French (France)"."""
    words = [word for word in _words(re.sub(r"\(.*\)$", "", name)) if word not in _WORDS]
    known = [word in LANGUAGES or word in CODES for word in words]
    regional = len(words) == 2 and known[0] and len(words[1]) <= 4
    return bool(known) and (all(known) or regional)


def is_code(name: str) -> bool:
    """Whether this is the code of a language alone: "en", "FRA"."""
    return name.casefold() in CODES and (name.islower() or name.isupper())


def is_heading(cells: Sequence[str], over: Sequence[str]) -> bool:
    """Whether the cells of a first row, two or more, are names of columns rather than texts like the cells below.

    Names of two languages are a heading whatever stands beside them, but "English" and "Anglais" are a text and its
    translation. Else all have to be names, no two the same; and codes that are words too, as "it" and "es" are, tell it
    only above texts of several words.
    """
    called = {name for name in map(_spoken, cells) if name}
    languages = {LANGUAGES[name] for name in called}
    if len(languages) >= 2:
        return True
    if len(called) > len(languages) or len(set(cells)) < len(cells) or not all(map(_is_name, cells)):
        return False
    words = [cell for cell in cells if cell.casefold() in WORDS]
    return len(words) < len(cells) or (all(map(is_code, cells)) and _have_several_words(over))


def _is_name(text: str) -> bool:
    """Whether a cell of a table may well be the name of its column rather than a text."""
    words = _words(text)
    return is_language(text) or (bool(words) and _WORDS.issuperset(words))


def _spoken(name: str) -> str:
    """What the language is called that this names: "français" of "Français (France)"; "" for a code, or none."""
    called = [word for word in _words(name) if word in LANGUAGES]
    return called[0] if is_language(name) and called else ""


def _have_several_words(texts: Sequence[str]) -> bool:
    return statistics.median([len(text.split()) for text in texts if text] or [0]) > 1


def two_sides(names: Sequence[str]) -> tuple[int, int] | None:
    """The places of source and target among names of columns or keys, where the names tell it."""
    folded = [name.strip().casefold() for name in names]
    for source, target in _SIDES:
        if source in folded and target in folded:
            return folded.index(source), folded.index(target)
    languages = [place for place, name in enumerate(names) if is_language(name)]
    if len(languages) > 2:  # "id" is a number rather than Indonesian
        languages = [place for place in languages if folded[place] not in BESIDE]
    return (languages[0], languages[1]) if len(languages) >= 2 else None


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", name.casefold()) if len(name) <= 40 else []
