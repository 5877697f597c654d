"""JSON lines: an object with the two texts a line, as Hugging Face has them, or a list of two."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers.columns import chosen_places
from mlxdecoder.text.readers.names import two_sides
from mlxdecoder.text.readers.opening import Opened
from mlxdecoder.text.readers.rows import Choice, Format, Row, listed, reason, shown

Placed = tuple[str, dict[str, Any]]


def read_json_lines(text: Opened, choice: Choice) -> tuple[Format, Iterator[Row]]:
    """The pairs of {"en": ..., "fr": ...}, {"translation": {...}} or [..., ...]; columns are keys, or places from 1.

    Raises UserError, naming the line, for what is no such object, at once or while iterating.
    """
    objects = _objects(text)
    begin: list[Placed] = []
    for placed in objects:
        begin.append(placed)
        if placed[1]:
            break
    keys = [key for key, value in begin[-1][1].items() if isinstance(value, str)] if begin else []
    source, target = _sides(keys, choice, text.name)
    left_out = tuple(key for key in keys if key not in (source, target))
    format = Format("JSON lines", text.compression, text.encoding, columns=(source, target), left_out=left_out)
    return format, _rows(chain(begin, objects), source, target, text.name)


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


def _sides(keys: list[str], choice: Choice, name: str) -> tuple[str, str]:
    places = chosen_places(choice.columns, keys, name) if choice.columns else two_sides(keys)
    if places is None and len(keys) == 2:
        places = 0, 1
    if places is None:
        raise UserError(f"{name}: found texts under {listed(keys) or 'no key'}; choose two as columns")
    return keys[places[0]], keys[places[1]]


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
