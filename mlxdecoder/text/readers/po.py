"""gettext PO: msgid and msgstr of each message; read line by line, since PO libraries hold the whole file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers.columns import chosen_places
from mlxdecoder.text.readers.encoding import LONGEST
from mlxdecoder.text.readers.opening import Opened
from mlxdecoder.text.readers.rows import Choice, Format, Row

_SIDES = ("msgid", "msgstr")
_LINE = re.compile(r'(?:(msgctxt|msgid_plural|msgid|msgstr)\s*(?:\[(\d{1,3})\])?\s*)?"((?:[^"\\]|\\.)*+)"')
_ESCAPE = re.compile(r"((?:\\(?:[0-7]{1,3}|x[0-9a-fA-F]+))+)|\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", '"': '"', "\\": "\\"}


def read_po(text: Opened, choice: Choice) -> tuple[Format, Iterator[Row]]:
    """The messages of a catalogue: a fuzzy one counts as not translated, obsolete ones and the header not at all.

    A plural gives a row a form. Columns may be msgstr and msgid, which turns the sides. Iterating raises UserError,
    naming the line, for what is no PO.
    """
    turned = bool(choice.columns) and chosen_places(choice.columns or _SIDES, _SIDES, text.name) == (1, 0)
    rows = (row for message in _messages(text) for row in message.rows())
    taken = _SIDES[::-1] if turned else _SIDES
    format = Format("gettext PO", text.compression, text.encoding, columns=taken, offered=_SIDES)
    return format, (Row(row.target, row.source, row.place) for row in rows) if turned else rows


def _messages(text: Opened) -> Iterator[_Message]:
    message = _Message()
    for number, line in enumerate(map(str.strip, text.lines()), 1):
        if message.forms and line.startswith(("#", "msgctxt", "msgid")):
            yield message
            message = _Message()
        if not message.take(line, number):
            wanted = "msgstr" if "msgid" in message.texts else "msgid"
            raise UserError(f"{text.name}, line {number}: not PO; wanted {wanted} and a text in quotes, or a comment")
        if message.length > LONGEST:
            raise UserError(f"{text.name}, {message.place}: a message of more than {LONGEST:,} bytes")
    if message.texts and not message.forms:
        raise UserError(f"{text.name}, {message.place}: a msgid without msgstr at the end; is the file whole?")
    yield message


@dataclass
class _Message:
    """What is known of a message so far: its `texts` by keyword, and the `forms` of its translation by number."""

    place: str = ""
    fuzzy: bool = False
    length: int = 0
    texts: dict[str, list[str]] = field(default_factory=dict)
    forms: dict[int, list[str]] = field(default_factory=dict)
    growing: list[str] | None = None

    def take(self, line: str, number: int) -> bool:
        """Take up a line, unless it cannot stand here."""
        self.length += len(line.encode())
        if not line or line.startswith("#"):
            # The flags of an obsolete message stand before it.
            self.fuzzy = not line.startswith("#~") and (self.fuzzy or (line.startswith("#,") and "fuzzy" in line))
            return True
        found = _LINE.fullmatch(line)
        if not found or (found[1] and not self._begin(found[1], int(found[2] or 0), f"line {number}")):
            return False
        if self.growing is None:
            return False
        self.growing.append(found[3])
        return True

    def _begin(self, keyword: str, form: int, place: str) -> bool:
        """Begin the text of a keyword, unless it stands there already or msgid is missing."""
        self.place = self.place or place
        self.growing = []
        if keyword == "msgstr":
            return "msgid" in self.texts and self.forms.setdefault(form, self.growing) is self.growing
        return not self.forms and self.texts.setdefault(keyword, self.growing) is self.growing

    def rows(self) -> Iterator[Row]:
        source = _unescaped(self.texts.get("msgid", []))
        plural = _unescaped(self.texts.get("msgid_plural", []))
        if not source and "msgctxt" not in self.texts:
            return  # the header
        forms = ["" if self.fuzzy else _unescaped(self.forms[form]) for form in sorted(self.forms)]
        for form, text in enumerate(forms):
            # A language with one form has it for one and for many: the plural has the number in it.
            yield Row(plural if plural and (form or len(forms) == 1) else source, text, self.place)


def _unescaped(strings: list[str]) -> str:
    return _ESCAPE.sub(_meant, "".join(strings))


def _meant(found: re.Match[str]) -> str:
    """What an escape stands for; bytes in a row are characters in UTF-8, and zero, which no text holds, stays."""
    if not found[1]:
        return _ESCAPES.get(found[2], found[0])
    numbers = [int(one[1:], 16) if one[0] == "x" else int(one, 8) for one in found[1].split("\\")[1:]]
    codes = bytes(number & 0xFF for number in numbers)
    return found[0] if 0 in codes else codes.decode("utf-8", errors="replace")
