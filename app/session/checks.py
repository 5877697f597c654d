"""What the fields of a session's file may hold; what holds anything else is refused by name."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Container, Mapping
from typing import Any

from mlxdecoder.app.messages import KINDS, STAGES
from mlxdecoder.errors import UserError

SIDES = ("wrong", "right", "change")
STEP = re.compile(r"0|[1-9][0-9]{0,8}")  # as JSON has it, a number in a text
Check = tuple[Callable[[Any], bool], str]  # whether a value will do, and what is wanted


def check(content: object, wanted: Mapping[str, Check], where: str) -> None:
    """Refuse fields that are unknown or hold what they may not; those that are missing have defaults.

    Args:
        content: what was read from JSON.
        wanted: the check of each field.
        where: what the message begins with.

    Raises:
        UserError: names the first field that is wrong, what was found in it and what is wanted.
    """
    if not isinstance(content, dict):
        raise UserError(f"{where}: fields with names are wanted, found {reprlib.repr(content)}.")
    for name, value in content.items():
        if name not in wanted:
            raise UserError(f"{where}: unknown field {reprlib.repr(name)}.")
        good, what = wanted[name]
        if not good(value):
            raise UserError(f"{where}: {name} = {reprlib.repr(value)}: {what} is wanted.")


def _text(value: Any) -> bool:
    # Half of a surrogate pair is no character, and could never be written again.
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


def _whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**31


def _forced(value: Any) -> bool:
    return isinstance(value, dict) and all(STEP.fullmatch(step) and _whole(token) for step, token in value.items())


def _texts(value: Any, counts: Container[int]) -> bool:
    return isinstance(value, list) and len(value) in counts and all(map(_text, value))


def _one_of(values: tuple[str, ...]) -> Check:
    return lambda value: value in values, f"one of {', '.join(values)}"


TEXT: Check = (_text, "a text")
WHOLE: Check = (_whole, "a whole number from 0")
NUMBER: Check = (lambda value: type(value) in (int, float) and 0 <= value < 1e6, "a number from 0")
SWITCH: Check = (lambda value: type(value) is bool, "true or false")
FILES: Check = (lambda value: _texts(value, range(3)), "a list of at most two paths")
TWO: Check = (lambda value: value is None or _texts(value, [2]), "two names, or null,")
FIELDS: Check = (lambda value: isinstance(value, dict), "fields with names")

SAMPLING = {"temperature": NUMBER, "top_k": WHOLE, "top_p": NUMBER, "beam": WHOLE, "seed": WHOLE}
VIEW: dict[str, Check] = {
    "kind": _one_of(KINDS),
    "layer": WHOLE,
    "head": WHOLE,
    "stage": _one_of(STAGES),
    "step": (lambda value: value is None or _whole(value), "a whole number from 0, or null,"),
    "average": SWITCH,
    "words": SWITCH,
    "side": _one_of(SIDES),
    "at_once": SWITCH,
}
CORPUS: dict[str, Check] = {
    "files": FILES,
    "columns": TWO,
    "languages": TWO,
    "header": (lambda value: value is None or type(value) is bool, "true, false or null"),
    "limit": (lambda value: value is None or (_whole(value) and value > 0), "a whole number from 1, or null,"),
    "validation": FILES,
}
DOCUMENT: dict[str, Check] = {
    "model": (lambda value: value is None or _text(value), "a path, or null,"),
    "fingerprint": TEXT,
    "sentence": TEXT,
    "forced": (_forced, "a whole number from 0, the token, for each step"),
    "sampling": FIELDS,
    "mistakes": (lambda value: isinstance(value, list) and all(map(_text, value)), "a list of names"),
    "view": FIELDS,
    "probe": TEXT,
    "preset": TEXT,
    "corpus": FIELDS,
}
