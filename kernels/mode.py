"""Whether the kernels run, and on what: on Metal, in the emulator, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

import mlx.core as mx

from mlxdecoder.errors import UserError

Where = Literal["off", "metal", "emulator"]
VARIABLE = "MLXDECODER_KERNELS"
METAL_IS_HERE = mx.metal.is_available()

_chosen: ContextVar[tuple[str, bool] | None] = ContextVar("chosen", default=None)


@dataclass(frozen=True)
class Place:
    """Where a kernel and its gradient run, decided once; `checks` are the emulator's."""

    where: Where
    checks: bool


def place() -> Place:
    """Where kernels run now."""
    chosen = _chosen.get()
    return Place(where(), chosen is not None and chosen[1])


def where() -> Where:
    """Where kernels run: on Metal if there is one, unless MLXDECODER_KERNELS or `using` says "off", "on" or "emulate".

    Raises `UserError` for "on" without Metal, and for a word that is none of the three.
    """
    chosen = _chosen.get()
    word = os.environ.get(VARIABLE, "") if chosen is None else chosen[0]
    if word == "on" and not METAL_IS_HERE:
        raise UserError(f'{VARIABLE} = "on": there is no Metal here; "emulate" runs the kernels on the processor.')
    if word not in ("", "off", "on", "emulate"):
        raise UserError(f"{VARIABLE} = {word!r}: wanted off, on or emulate.")
    if word == "emulate":
        return "emulator"
    # Who sets the processor as MLX's device wants the arrays there.
    return "metal" if METAL_IS_HERE and word != "off" and mx.default_device() == mx.gpu else "off"


@contextmanager
def using(word: Literal["off", "on", "emulate"], checks: bool = False) -> Iterator[None]:
    """Within this, kernels of this thread run as `word` says, whatever MLXDECODER_KERNELS says.

    `checks` has the emulator look for races, bounds and the like, which costs ten times the time.
    """
    token = _chosen.set((word, checks))
    try:
        yield
    finally:
        _chosen.reset(token)
