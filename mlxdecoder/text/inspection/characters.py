"""What the characters of a text give away: its script, and marks that are worth a look."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from itertools import groupby

# What is said of texts that bear a mark.
MARKS = {
    "not-nfc": "not composed (NFC); training composes it",
    "outer-space": "white space at an end; training takes it off",
    "byte-order-mark": "byte order marks inside; training takes them out",
    "no-break-space": "no-break spaces (U+00A0)",
    "narrow-no-break-space": "narrow no-break spaces (U+202F)",
    "other-space": "thin, ideographic or other spaces",
    "zero-width": "zero-width spaces and joiners; some scripts need the joiners",
    "soft-hyphen": "soft hyphens (U+00AD)",
    "direction": "marks of the writing direction",
    "break": "a tab, line feed or form feed inside; training reads a space",
    "carriage-return": "a carriage return inside; training reads a space",
    "line-separator": "line or paragraph separators (U+2028, U+2029)",
    "control": "control characters",
    "replacement": "replacement characters (U+FFFD): letters that an earlier step has lost",
    "mojibake": "probably mojibake, UTF-8 that was read as Latin-1 or the like",
    "private-use": "characters of private use",
    "unassigned": "unassigned characters, or halves of surrogate pairs",
    "ligature": "ligatures as one character",
    "width": "full-width or half-width forms; normal in Chinese, Japanese and Korean",
    "compatibility": "other compatibility characters, such as … ² ™",
    "entity": "HTML entities",
    "tag": "tags of HTML or XML",
    "mixed-scripts": "letters of several scripts",
}
_BY_CHARACTER = {
    "\u00a0": "no-break-space",
    "\u202f": "narrow-no-break-space",
    "\u00ad": "soft-hyphen",
    "\ufeff": "byte-order-mark",
    "\ufffd": "replacement",
    **dict.fromkeys("\u200b\u200c\u200d\u2060", "zero-width"),
    **dict.fromkeys("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", "direction"),
    "\r": "carriage-return",
    **dict.fromkeys("\t\n\v\f", "break"),
    **dict.fromkeys(" \u0e33\u0eb3", ""),  # Thai and Lao AM decompose, but nobody writes them otherwise
}
_BY_CATEGORY = {
    "Zs": "other-space",
    "Zl": "line-separator",
    "Zp": "line-separator",
    "Cc": "control",
    "Co": "private-use",
    "Cn": "unassigned",
    "Cs": "unassigned",
}
# The second and later bytes of a character in UTF-8, as Latin-1 and as Windows-1252 show them.
_TRAIL = f"[\x80-\xbf{bytes(range(0x80, 0xA0)).decode('cp1252', 'ignore')}]"
_BY_PATTERN = {
    "mojibake": re.compile(f"[ÂÃ]{_TRAIL}|â[€\x80]|(?:[Ä-ß]{_TRAIL}){{2}}|(?:[à-ï]{_TRAIL}{{2}}){{2}}"),
    "entity": re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|[a-zA-Z]\w+);"),
    "tag": re.compile(r"</?[a-zA-Z][^<>]*>"),
    "outer-space": re.compile(r"^\s|\s$"),
}
# What stands in the names of the letters that belong to one script; a BLACK-LETTER H does not.
_LETTER = re.compile(r" (LETTER|SYLLABLE|IDEOGRAPH|LIGATURE|CHARACTER)\b")
_ASCII_LETTER = re.compile("[A-Za-z]")
_NAMES = {"CJK": "Han", "HIRAGANA": "Kana", "KATAKANA": "Kana", "HENTAIGANA": "Kana"}


@lru_cache(maxsize=2**16)
def mark_of(character: str) -> str:
    """The mark that a character alone is, or ""."""
    if character in _BY_CHARACTER:
        return _BY_CHARACTER[character]
    category = unicodedata.category(character)
    if category in _BY_CATEGORY:
        return _BY_CATEGORY[category]
    form = unicodedata.decomposition(character)
    if form.startswith(("<wide>", "<narrow>")):
        return "width"
    if form.startswith("<"):
        return "ligature" if "LIGATURE" in unicodedata.name(character, "") else "compatibility"
    return ""


@lru_cache(maxsize=2**16)
def script_of(character: str) -> str:
    """The script of a letter by its Unicode name, such as "Latin" or "Han"; "" for what many scripts share."""
    if unicodedata.category(character) not in ("Lu", "Ll", "Lt", "Lo"):
        return ""
    name = re.sub("^(FULL|HALF)WIDTH ", "", unicodedata.name(character, ""))
    first = name.partition(" ")[0]
    return _NAMES.get(first, first.title()) if _LETTER.search(name) else ""


def script(text: str) -> str:
    """The script of most words of a text, where a Han character is a word: a Chinese sentence may well name Microsoft.

    It is "Kana" for all Japanese, with Han characters or not, and "none" without letters.
    """
    found = _scripts(text)
    if len(found) < 2:
        return next(iter(found), "none")
    words = Counter[str]()
    for one, letters in groupby(text, script_of):
        words[one] += len(list(letters)) if one in ("Han", "Kana") else 1
    return max(sorted(found), key=words.__getitem__)


def marks(text: str) -> set[str]:
    """All marks that a text bears."""
    if _is_plain(text):
        return set()
    found = set(map(mark_of, set(text)))
    found.update(mark for mark, pattern in _BY_PATTERN.items() if pattern.search(text))
    if not unicodedata.is_normalized("NFC", text):
        found.add("not-nfc")
    if len(_scripts(text)) > 1:
        found.add("mixed-scripts")
    return found - {""}


def find_mark(text: str, mark: str) -> int:
    """Where in a text that bears a mark it shows first."""
    if mark in _BY_PATTERN:
        match = _BY_PATTERN[mark].search(text)
        return match.start() if match else 0
    if mark == "not-nfc":
        both = enumerate(zip(text, unicodedata.normalize("NFC", text), strict=False))
        return next((place for place, (one, other) in both if one != other), len(text) - 1)
    if mark == "mixed-scripts":
        others = _scripts(text) - {script(text)} or _scripts(text)  # one is left where a longer text was cut
        return next(place for place, one in enumerate(text) if script_of(one) in others)
    return next(place for place, one in enumerate(text) if mark_of(one) == mark)


def _is_plain(text: str) -> bool:
    """Whether a text is of the many that bear no mark, told fast."""
    return text.isascii() and text.isprintable() and not ("&" in text or "<" in text or text != text.strip())


def _scripts(text: str) -> set[str]:
    if text.isascii():
        return {"Latin"} if _ASCII_LETTER.search(text) else set()
    found = set(map(script_of, set(text))) - {""}
    return found - {"Han"} if "Kana" in found else found
