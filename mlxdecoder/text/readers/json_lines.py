"""JSON lines: an object with the two texts a line, as Hugging Face has them, or a list of two."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers.columns import chosen_places, offered
from mlxdecoder.text.readers.names import two_sides
from mlxdecoder.text.readers.opening import Opened
from mlxdecoder.text.readers.rows import Choice, Format, Row, Undecided, listed, reason, shown

Placed = tuple[str, dict[str, Any]]


def read_json_lines(text: Opened, choice: Choice) -> tuple[Format, Iterator[Row]]:
    """The pairs of {"en": ..., "fr": ...}, {"translation": {...}} or [..., ...]; columns are keys, or places from 1.

    Raises UserError, naming the line, for what is no such object, at once or while iterating.
    """
    objects = _objects(text)
    begin = list(islice(objects, text.sample.count("\n") + 1))
    keys = _keys([one for _, one in begin])
    source, target = _sides(keys, choice, text.name)
    rows = _rows(chain(begin, objects), keys[source], keys[target], text.name)
    return _format(text, keys, source, target), rows


def _keys(objects: Sequence[dict[str, Any]]) -> list[str]:
    """The keys that hold texts, in their order; the two that most objects have where nothing else tells two."""
    cells = [(key, value) for one in objects for key, value in one.items() if value is None or isinstance(value, str)]
    counts = Counter(key for key, value in cells if value is not None)
    keys = [key for key in dict.fromkeys(key for key, _ in cells) if counts[key]]
    usual = [key for key in keys if counts[key] * 2 >= sum(map(bool, objects))]
    return usual if two_sides(keys) is None and len(usual) == 2 else keys


def _format(text: Opened, keys: Sequence[str], source: int, target: int) -> Format:
    all_of_them = offered(keys)
    return Format(
        "JSON lines",
        text.compression,
        text.encoding,
        columns=(all_of_them[source], all_of_them[target]),
        left_out=tuple(key for place, key in enumerate(keys) if place not in (source, target)),
        offered=all_of_them,
    )


def _objects(text: Opened) -> Iterator[Placed]:
    for number, line in enumerate(text.lines(), 1):
        place = f"line {number}"
        yield place, _parsed(line, f"{text.name}, {place}") if line.strip() else {}


def _parsed(line: str, place: str) -> dict[str, Any]:
    if line.strip() in ("{", "[") or line.lstrip().startswith("[{"):
        raise UserError(f"{place}: JSON in one piece; wanted an object a line, as `jq -c '.[]'` makes them of a list")
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{place}: not JSON ({reason(error)}); wanted an object with two texts a line") from error
    if isinstance(value, list):
        return {str(number): item for number, item in enumerate(value, 1)}
    if not isinstance(value, dict):
        raise UserError(f"{place}: JSON, but no object; wanted one with two texts")
    inner = value.get("translation")
    return {**value, **inner} if isinstance(inner, dict) else value


def _sides(keys: list[str], choice: Choice, name: str) -> tuple[int, int]:
    """The places of source and target among the keys."""
    places = chosen_places(choice.columns, keys, name) if choice.columns else two_sides(keys)
    if places is None and len(keys) == 2:
        places = 0, 1
    if places is None:
        told = f"{name}: found texts under {listed(keys) or 'no key'}; choose two as columns"
        raise Undecided(told, "columns", offered(keys))
    return places


def _rows(objects: Iterator[Placed], source: str, target: str, name: str) -> Iterator[Row]:
    for place, one in objects:
        yield Row(_text(one, source, f"{name}, {place}"), _text(one, target, f"{name}, {place}"), place)


def _text(one: dict[str, Any], key: str, place: str) -> str:
    value = one.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UserError(f"{place}: {shown(key)} holds no text but {type(value).__name__}; choose other columns")
    if re.search("[\0\ud800-\udfff]", value):
        raise UserError(f"{place}: {shown(key)} holds a zero character or half of a pair (\\ud800 to \\udfff); mend it")
    return value
