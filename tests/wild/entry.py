"""What an entry of the collection is: an implementation as people write it, right or with one known mistake."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Wild:
    """An implementation under a name `family.variant`; the right one of each family is `family.right`.

    `kind` is attention, decoder, translator or batches. `make` builds the function to be checked from a seed: the same
    seed gives the same parameters to all of a family. `mistake` is a number of the catalogue, None for none, and 0
    for one that is not in it.
    `options` go to the contracts. `blemishes` are signs that may show besides the mistake, or although it is right,
    such as the mean of the values in rows that see nothing.
    """

    name: str
    kind: str
    make: Callable[[int], Any]
    mistake: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    blemishes: frozenset[str] = frozenset()

    @property
    def family(self) -> str:
        return self.name.partition(".")[0]
