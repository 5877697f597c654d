"""Characters on their way to SentencePiece and back: those that it would lose are escaped."""

from __future__ import annotations

import re
import unicodedata

from mlxdecoder.errors import UserError

# SentencePiece writes a space as U+2581, and its trainer skips lines that hold U+2585. Both are escaped, with a
# noncharacter (which no proper text holds) as the escape sign, so that text which holds them survives.
ESCAPES = (("\ufdd0", "\ufdd00"), ("\u2581", "\ufdd01"), ("\u2585", "\ufdd02"))
ESCAPE_SIGN = "\ufdd0".encode()


def check_unicode(text: str) -> None:
    """Raise `UserError` for a lone surrogate."""
    surrogate = re.search("[\ud800-\udfff]", text)
    if surrogate:
        raise UserError(
            f"text: a lone surrogate, U+{ord(surrogate[0]):04X}, at character {surrogate.start()}, "
            "which is no Unicode text; read the text again with the right encoding"
        )


def printable(piece: str) -> str:
    """`piece` with <U+202F> for what has no ink."""
    return "".join(c if c.isprintable() else f"<U+{ord(c):04X}>" for c in piece)


def prepare(text: str) -> str:
    check_unicode(text)
    return _escape(unicodedata.normalize("NFC", text).strip())


def _escape(text: str) -> str:
    for mark, escape in ESCAPES:
        text = text.replace(mark, escape)
    return text


def unescape(text: str) -> str:
    for mark, escape in reversed(ESCAPES):
        text = text.replace(escape, mark)
    return text
