"""TMX 1.4: which two languages of a file make its pairs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, product

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers.encoding import LONGEST
from mlxdecoder.text.readers.opening import Opened
from mlxdecoder.text.readers.rows import Choice, Format, Row, Undecided, listed, refuse_twice, shown
from mlxdecoder.text.readers.tmx_units import TmxUnits, Unit

_LOOKED_AT = 200  # units, to find the languages out
_MOST_ROWS = 1000  # of a unit
_MOST_LANGUAGES = 100


def read_tmx(text: Opened, choice: Choice) -> tuple[Format, Iterator[Row]]:
    """The pairs of two languages, the most usual ones unless they are chosen; each variant with each of the other.

    Raises UserError, naming the place, for what is not TMX, at once or while iterating.
    """
    document = TmxUnits(text)
    units = iter(document)
    begin = _begin(units)
    found = [language for unit in begin for language in unit]
    refuse_twice([_folded(language) for language in choice.languages or ()], _offered(found), text.name)
    source, target = choice.languages or _most_usual(found, document.source_language, text.name)
    left_out = tuple(one for one in dict.fromkeys(found) if not _matches(source, one) and not _matches(target, one))
    format = Format(
        "TMX",
        text.compression,
        _encoding(text),
        languages=(source, target),
        left_out=left_out,
        offered=_offered(found),
    )
    return format, _rows(chain(begin, units), source, target, text.name)


def _begin(units: Iterator[Unit]) -> list[Unit]:
    """The first units, but no more than fit into memory."""
    begin: list[Unit] = []
    length = 0
    while len(begin) < _LOOKED_AT and length < LONGEST and (unit := next(units, None)) is not None:
        begin.append(unit)
        length += sum(len(one) for texts in unit.values() for one in texts)
    return begin


def _offered(found: Iterable[str]) -> tuple[str, ...]:
    """Each language, and each of its kinds where there are several: en, en-GB, en-US, but fr alone for fr-FR."""
    kinds: dict[str, dict[str, str]] = {}
    for written in found:
        language = _folded(written)
        kinds.setdefault(language.partition("-")[0], {}).setdefault(language, written)
    offered: list[str] = []
    for language, some in kinds.items():
        beside = [written for kind, written in some.items() if kind != language]
        offered += [language, *(beside if len(some) > 1 else ())]
    return tuple(offered)


def _most_usual(found: Sequence[str], source_language: str, name: str) -> tuple[str, str]:
    """The two languages that most units have: that of the header first, else that which comes first."""
    names = [_folded(language).partition("-")[0] for language in found]
    if len(set(names)) == 1:
        names = list(found)  # en-GB and en-US
    usual = [language for language, _ in Counter(names).most_common(2)]
    if len(usual) < 2:
        raise UserError(f"{name}: found {listed(usual) or 'no text'} as languages of its units; wanted two")
    in_order = sorted(usual, key=lambda one: (not _matches(one, source_language), names.index(one)))
    return in_order[0], in_order[1]


def _matches(wanted: str, found: str) -> bool:
    """Whether a language is the wanted one, or a kind of it: en-GB for en."""
    return f"{_folded(found)}-".startswith(f"{_folded(wanted)}-")


def _folded(language: str) -> str:
    return language.lower().replace("_", "-")


def _rows(units: Iterable[Unit], source: str, target: str, name: str) -> Iterator[Row]:
    seen: set[str] = set()
    for number, unit in enumerate(units, 1):
        if len(seen) < _MOST_LANGUAGES:
            seen.update(unit)
        place = f"unit {number}"
        sources, targets = _texts(unit, source), _texts(unit, target)
        if len(sources) * len(targets) > _MOST_ROWS:
            raise UserError(f"{name}, {place}: {len(sources)} by {len(targets)} variants, too many for a sentence")
        yield from (Row(left, right, place) for left, right in product(sources, targets))
    for language in (source, target):
        if not any(_matches(language, one) for one in seen):
            told = f"{name}: no unit in the language {shown(language)}; found {listed(sorted(seen))}"
            raise Undecided(told, "languages", _offered(sorted(seen)))


def _texts(unit: Unit, language: str) -> list[str]:
    return [one for found, texts in unit.items() if _matches(language, found) for one in texts] or [""]


def _encoding(text: Opened) -> str:
    declared = re.match(r"<\?xml[^>]*encoding=[\"']([\w.-]+)", text.sample)
    foreign = declared and text.codec == "utf-8" and not declared[1].lower().startswith("utf")
    return declared[1] if declared and foreign else text.encoding
