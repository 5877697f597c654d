"""The values of a foreign config.json, asked for one by one; a value that is not understood is refused by its name."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mlxdecoder.config_checks import LARGEST, is_number, is_whole
from mlxdecoder.errors import UserError, shown


@dataclass(frozen=True)
class Settings:
    """A JSON object from the file `name`.

    `generation` is that of generation_config.json where there is one; `stored` are the names of the arrays that lie
    beside it.
    """

    values: dict[str, Any]
    name: str
    generation: Settings | None = None
    stored: Collection[str] = ()

    @property
    def of_generation(self) -> Settings:
        """What is said of generation: one file alone says it, as in transformers, this one where there is no other."""
        return self.generation or self

    def over(self, defaults: dict[str, Any]) -> Settings:
        """The same with defaults for what is missing; what is null stays null."""
        return replace(self, values={**defaults, **self.values})

    def renamed(self, aliases: Mapping[str, str]) -> Settings:
        """The same with one name for each value; raises `UserError` where two names have two values."""
        values = dict(self.values)
        for alias, name in aliases.items():
            found = values.pop(alias, None)
            if found is not None and values.setdefault(name, found) != found:
                raise self.refused(alias, f"it is another name of {name}, which is {shown(repr(values[name]))}")
        return replace(self, values=values)

    def whole(self, key: str, missing: int | None = None, least: int = -LARGEST) -> int:
        """A whole number of at least `least`; `missing` stands in for one that is missing or null."""
        found = self.values.get(key)
        found = missing if found is None else found
        if not is_whole(found):
            raise self.refused(key, "a whole number is wanted")
        if found < least:
            raise self.refused(key, f"at least {least:,} is wanted")
        if found > LARGEST:
            raise self.refused(key, f"at most {LARGEST:,} is wanted")
        return found

    def maybe_whole(self, key: str) -> int | None:
        return None if self.values.get(key) is None else self.whole(key)

    def number(
        self, key: str, missing: float | None = None, *, least: float = -math.inf, above: float = -math.inf
    ) -> float:
        """A finite number within these bounds; `missing` stands in for one that is missing or null."""
        found = self.values.get(key)
        found = missing if found is None else found
        if not is_number(found):
            raise self.refused(key, "a finite number is wanted")
        if found < least:
            raise self.refused(key, f"at least {least:g} is wanted")
        if found <= above:
            raise self.refused(key, f"above {above:g} is wanted")
        return float(found)

    def maybe_number(self, key: str, *, above: float = -math.inf) -> float | None:
        return None if self.values.get(key) is None else self.number(key, above=above)

    def flag(self, key: str) -> bool:
        found = self.values.get(key)
        if not isinstance(found, bool):
            raise self.refused(key, "true or false is wanted")
        return found

    def choice(self, key: str, choices: Mapping[str, Any]) -> Any:
        """What a word means to us; raises `UserError` for a word that means nothing."""
        found = self.values.get(key)
        if not isinstance(found, str) or found not in choices:
            raise self.refused(key, f"known are {', '.join(choices)}")
        return choices[found]

    def each(self, key: str, number: int, choices: Mapping[Any, bool]) -> list[bool] | None:
        """What each of a list of so many means to us; None where there is no list."""
        found = self.values.get(key)
        if found is None:
            return None
        known = isinstance(found, list) and all(isinstance(one, str | int) and one in choices for one in found)
        if not known or len(found) < number:
            raise self.refused(key, f"{number} times {' or '.join(map(str, choices))} is wanted")
        return [choices[one] for one in found[:number]]

    def must(self, key: str, *wanted: object) -> None:
        """Raise `UserError` for a value that would make another function; a missing or null one is fine."""
        found = self.values.get(key)
        if found is not None and found not in wanted:
            raise self.refused(key, f"{' or '.join(map(repr, wanted)) or 'none'} is all that can be reproduced")

    def part(self, key: str) -> Settings:
        """An object within the object; an empty one where it is missing."""
        found = self.values.get(key)
        if found is not None and not isinstance(found, dict):
            raise self.refused(key, "an object is wanted")
        return Settings(found or {}, f"{self.name}, {key}")

    def ids(self, key: str, vocabulary: int) -> tuple[int, ...]:
        """Ids of so large a vocabulary: one, several or none; some write -1 for none, and lists of one for one."""
        found = self.values.get(key)
        found = [] if found is None else found if isinstance(found, list) else [found]
        single = [id[0] if isinstance(id, list) and len(id) == 1 else id for id in found]
        if not all(is_whole(id) and id < vocabulary for id in single):
            raise self.refused(key, f"single ids below the vocabulary's size of {vocabulary} are wanted")
        return tuple(id for id in single if id >= 0)

    def id(self, key: str, vocabulary: int) -> int | None:
        """One id or none."""
        found = self.ids(key, vocabulary)
        if len(found) > 1:
            raise self.refused(key, "one id is wanted")
        return found[0] if found else None

    def refused(self, key: str, why: str) -> UserError:
        return UserError(f"{self.name}: {shown(key)} = {shown(repr(self.values.get(key)))}: {why}.")
