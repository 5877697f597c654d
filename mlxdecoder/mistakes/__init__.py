"""The catalogue of mistakes about attention: each is a recipe with a choice changed, and all that is known of it.

>>> from mlxdecoder import mistakes
>>> model.recipe = mistakes.switch_on(["no-causal-mask"])  # off again: model.recipe = mlxdecoder.RIGHT
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import replace

from mlxdecoder.errors import UserError
from mlxdecoder.mistakes.batching import BATCHING
from mlxdecoder.mistakes.decoding import DECODING
from mlxdecoder.mistakes.entry import Mistake
from mlxdecoder.mistakes.harmless import HARMLESS
from mlxdecoder.mistakes.seeing import SEEING
from mlxdecoder.mistakes.weighing import WEIGHING
from mlxdecoder.recipe import RIGHT, Recipe

MISTAKES: tuple[Mistake, ...] = (*SEEING, *WEIGHING, *BATCHING, *DECODING)
"""All mistakes, grouped by stage, in the order in which they are best taught."""

CATALOGUE: tuple[Mistake, ...] = (*MISTAKES, *HARMLESS)
"""The mistakes, and behind them what only looks like one."""

__all__ = ["CATALOGUE", "HARMLESS", "MISTAKES", "Mistake", "find", "switch_on"]


def find(name: str | int) -> Mistake:
    """The entry with this id or number; raises `UserError` that names the nearest ids."""
    for mistake in CATALOGUE:
        if str(name) in (mistake.id, str(mistake.number)):
            return mistake
    near = difflib.get_close_matches(str(name), [mistake.id for mistake in CATALOGUE], n=3, cutoff=0.4)
    hint = f"did you mean {', '.join(near)}? " if near else ""
    raise UserError(f"mistake: {str(name)!r} is not in the catalogue; {hint}`mlxdecoder mistakes list` shows all.")


def switch_on(names: Iterable[str | int], recipe: Recipe = RIGHT) -> Recipe:
    """The recipe with these mistakes in it, by id or number, whatever their order.

    Changes add up where they can; where two put something else in the place of the same choice, the later one in the
    catalogue wins. Assign the recipe to `model.recipe`, or give it to a model before training.
    """
    if isinstance(names, str | int):
        raise UserError(f"names: {names!r} found, a list of ids or numbers wanted.")
    chosen = {find(name).id for name in names}
    for mistake in (*HARMLESS, *MISTAKES):  # what does no harm undoes no mistake
        if mistake.id in chosen:
            recipe = replace(
                recipe, **{name: change(getattr(recipe, name)) for name, change in mistake.changes.items()}
            )
    return recipe
