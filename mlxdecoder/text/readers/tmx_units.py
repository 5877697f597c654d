"""The XML of TMX 1.4, unit by unit; entities, external parts and endless units are refused."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler, feature_external_ges

from defusedxml import DefusedXmlException
from defusedxml.sax import make_parser

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers.encoding import LONGEST, as_utf8
from mlxdecoder.text.readers.opening import Opened
from mlxdecoder.text.readers.rows import reason, shown

Unit = dict[str, list[str]]  # texts by language, as it is written there; mostly one each, further ones are variants

_DECLARATION = re.compile(rb"^<\?xml[^>]*\?>")
_CODE = frozenset(["bpt", "ept", "it", "ph", "ut"])  # hold markup of another format; <hi> holds text
_CHUNK = 2**14  # bytes
_LONGEST_LANGUAGE = 100  # characters, of far fewer in any tag
_MOST_NAMES = 1000  # of tags and attributes, since the parser remembers each


class TmxUnits:
    """The units of a TMX file, to be iterated once; `source_language` is that of the header, known from then on.

    Iterating raises UserError, naming the line, for what is not TMX.
    """

    def __init__(self, text: Opened) -> None:
        self._text, self._handler = text, _Handler(text.name)

    @property
    def source_language(self) -> str:
        return self._handler.source_language

    def __iter__(self) -> Iterator[Unit]:
        parser = make_parser()
        parser.forbid_external = False  # a DTD may be named; it is passed over, and entities are refused anyhow
        parser.setFeature(feature_external_ges, False)
        parser.setContentHandler(self._handler)
        number, since = 0, 0
        for chunk in self._chunks():
            self._parse(parser, chunk)
            units, self._handler.units = self._handler.units, []
            number, since = number + len(units), 0 if units else since + len(chunk)
            if since > LONGEST:
                raise UserError(f"{self._text.name}, unit {number + 1}: more than {LONGEST:,} bytes; wanted a sentence")
            yield from units
        self._parse(parser, None)

    def _chunks(self) -> Iterator[bytes]:
        """The bytes; UTF-16 in UTF-8, without the declaration, which does not hold then and often did not before."""
        text = self._text
        stream = as_utf8(text.stream, text.name, text.codec)
        if text.codec != "utf-8":
            yield _DECLARATION.sub(b"", stream.read(_CHUNK))
        while chunk := stream.read(_CHUNK):
            yield chunk

    def _parse(self, parser: Any, chunk: bytes | None) -> None:
        """Feed the parser, or close it."""
        try:
            parser.close() if chunk is None else parser.feed(chunk)
        except UserError:
            raise
        except DefusedXmlException as error:
            raise UserError(
                f"{self._text.name}: XML with entities of its own, which are not read; take them out"
            ) from error
        except SAXParseException as error:
            place = f"{self._text.name}, line {error.getLineNumber()}"
            raise UserError(f"{place}: damaged XML: {error.getMessage()}; fetch the file again, or mend it") from error
        except (LookupError, ValueError) as error:
            raise UserError(f"{self._text.name}: XML that cannot be read: {reason(error)}; save it as UTF-8") from error


class _Handler(ContentHandler):
    """Gathers the texts of <seg> in <tuv> in <tu>; what is finished stands in `units`."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.units: list[Unit] = []
        self.source_language = ""
        self._file = name
        self._names: set[str] = set()
        self._unit: Unit = {}
        self._language = ""
        self._seg: list[str] | None = None
        self._code = 0  # how many tags of code are open
        self._held = False  # whether a placeholder was the last thing

    def startElement(self, name: str, attrs: Any) -> None:
        self._know(name, attrs)
        if name == "header":
            self.source_language = attrs.get("srclang", "")
        elif name == "tu":
            self._unit = {}
        elif name == "tuv":
            self._language = (attrs.get("xml:lang") or attrs.get("lang", ""))[:_LONGEST_LANGUAGE]
        elif name == "seg":
            self._seg, self._code, self._held = [], 0, False
        elif name in _CODE:
            self._code += 1

    def endElement(self, name: str) -> None:
        if name == "tu":
            self.units.append(self._unit)
        elif name == "seg":
            self._unit.setdefault(self._language, []).append("".join(self._seg or ()))
            self._seg = None
        elif name in _CODE:
            self._code -= 1
            self._held = self._held or name == "ph"

    def characters(self, content: str) -> None:
        if self._seg is None or self._code:
            return
        if self._held and self._seg and self._seg[-1][-1:].isalpha() and content[:1].isalpha():
            self._seg.append(" ")  # it was a line break, or a name, more often than nothing
        self._held = False
        self._seg.append(content)

    def skippedEntity(self, name: str) -> None:
        """One that is known from HTML, and would be lost, where the file points to a DTD elsewhere."""
        self.characters(html.unescape(f"&{name};"))

    def _know(self, name: str, attrs: Any) -> None:
        if not self._names and name != "tmx":
            raise UserError(f"{self._file}: XML, but of another kind, {shown(name)}; wanted TMX")
        self._names.update((name, *attrs.keys()))
        if len(self._names) > _MOST_NAMES:
            raise UserError(f"{self._file}: more than {_MOST_NAMES:,} names of tags and attributes; wanted TMX")
