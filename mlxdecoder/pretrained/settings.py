"""The values of a foreign config.json, asked for one by one; a value that is not understood is refused by its name."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mlxdecoder.errors import UserError


@dataclass(frozen=True)
class Settings:
    """A JSON object from the file `name`, and generation_config.json, which goes first where ids are asked for.

    `stored` are the names of the arrays that lie beside it.
    """

    values: dict[str, Any]
    name: str
    generation: dict[str, Any] = field(default_factory=dict)
    stored: Collection[str] = ()

    def over(self, defaults: dict[str, Any]) -> Settings:
        """The same with defaults for what is missing; what is null stays null."""
        return replace(self, values={**defaults, **self.values})

    def whole(self, key: str) -> int:
        return self._whole(key, self.values.get(key))

    def maybe_whole(self, key: str) -> int | None:
        return None if self.values.get(key) is None else self.whole(key)

    def number(self, key: str) -> float:
        found = self.values.get(key)
        if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
            raise self.refused(key, "a finite number is wanted")
        return float(found)

    def maybe_number(self, key: str) -> float | None:
        return None if self.values.get(key) is None else self.number(key)

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

    def must(self, key: str, *wanted: object) -> None:
        """Raise `UserError` for a value that would make another function; a missing or null one is fine."""
        found = self._asked(key)
        if found is not None and found not in wanted:
            raise self.refused(key, f"{' or '.join(map(repr, wanted)) or 'none'} is all that can be reproduced")

    def part(self, key: str) -> Settings:
        """An object within the object; an empty one where it is missing."""
        found = self.values.get(key)
        if found is not None and not isinstance(found, dict):
            raise self.refused(key, "an object is wanted")
        return Settings(found or {}, f"{self.name}, {key}")

    def ids(self, key: str) -> tuple[int, ...]:
        """An id, several or none; some write -1 for none, and lists of one for one."""
        found = self._asked(key)
        found = [] if found is None else found if isinstance(found, list) else [found]
        single = (id[0] if isinstance(id, list) and len(id) == 1 else id for id in found)
        return tuple(id for id in (self._whole(key, id) for id in single) if id >= 0)

    def id(self, key: str) -> int | None:
        return next(iter(self.ids(key)), None)

    def refused(self, key: str, why: str) -> UserError:
        shown = repr(self._asked(key))
        return UserError(f"{self.name}: {key} = {shown if len(shown) < 80 else shown[:77] + '...'}: {why}.")

    def _asked(self, key: str) -> object:
        return self.generation.get(key, self.values.get(key))

    def _whole(self, key: str, found: object) -> int:
        if not isinstance(found, int) or isinstance(found, bool):
            raise self.refused(key, "a whole number is wanted")
        return found
