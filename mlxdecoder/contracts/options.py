"""What is said about a function under test: by options, or by attributes of its own that can be nothing else."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np

from mlxdecoder.errors import UserError


def name_of(f: Callable[..., Any]) -> str:
    """The qualified name of a function, or that of the class of a callable object."""
    return str(getattr(f, "__qualname__", type(f).__qualname__))


def said(f: Callable[..., Any], name: str, given: Any, fits: Callable[[Any], bool]) -> Any:
    """What is given, or else the attribute of f, where it can be meant: a module's vocabulary may well be a list."""
    if given is not None:
        return given
    found = getattr(f, name, None)
    return found if found is not None and fits(found) else None


def is_id(found: Any) -> bool:
    return isinstance(found, int | np.integer) and not isinstance(found, bool) and int(found) >= 0


def is_size(found: Any) -> bool:
    return is_id(found) and int(found) >= 1


def check_id(name: str, found: Any) -> int | None:
    if found is not None and not is_id(found):
        raise UserError(f"{name} = {found!r}: the id of a token is wanted, a whole number from 0.")
    return None if found is None else int(found)


def check_size(name: str, found: Any) -> int | None:
    if found is not None and not is_size(found):
        raise UserError(f"{name} = {found!r}: a whole number from 1 is wanted.")
    return None if found is None else int(found)


def check_probing(seed: Any, tolerance: Any) -> None:
    """Raise `UserError` for a seed or a tolerance with which nothing can be tried."""
    if not is_id(seed):
        raise UserError(f"seed = {seed!r}: a whole number from 0 is wanted.")
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float | np.floating):
        raise UserError(f"tolerance = {tolerance!r}: a number above 0 is wanted, such as 1e-4.")
    if not (isfinite(tolerance) and tolerance > 0):
        raise UserError(f"tolerance = {tolerance!r}: a finite number above 0 is wanted, such as 1e-4.")
