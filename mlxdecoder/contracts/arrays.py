"""MLX, NumPy and PyTorch behind one small adapter: arrays go in as the function wants them and come out as NumPy."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args

import mlx.core as mx
import numpy as np

from mlxdecoder.errors import UserError

Name = Literal["mlx", "numpy", "torch"]
NAMES: tuple[Name, ...] = get_args(Name)


@dataclass(frozen=True)
class Library:
    """One of the three libraries, by name; PyTorch is imported when its first array is made."""

    name: Name

    def array(self, x: np.ndarray) -> Any:
        """Give x in this library: ids as its usual integers, float64 as float32; half types and booleans stay."""
        if x.dtype.kind in "iu":
            x = x.astype(np.int32 if self.name == "mlx" else np.int64)
        elif x.dtype == np.float64:
            x = x.astype(np.float32)
        if self.name == "mlx":
            return mx.array(x)
        # A copy, so that a function that writes into what it is given spoils no later probe.
        return x.copy() if self.name == "numpy" else importlib.import_module("torch").tensor(x)


def to_numpy(x: Any) -> np.ndarray:
    """Turn an array of any of the three libraries, or nested lists of numbers, into NumPy; floats become float64."""
    if library_of(x) == "torch":
        x = x.detach().cpu()
        x = (x.double() if x.is_floating_point() else x).numpy()
    elif isinstance(x, mx.array) and mx.issubdtype(x.dtype, mx.floating):
        x = x if x.dtype == mx.float64 else x.astype(mx.float32)  # NumPy knows no bfloat16
    array = np.asarray(x)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def library_of(x: Any) -> Name | None:
    """Tell which library an array belongs to; of a tuple or list its first array counts, and anything else is None."""
    if isinstance(x, mx.array):
        return "mlx"
    if isinstance(x, np.ndarray):
        return "numpy"
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        return "torch"
    return next((name for part in x if (name := library_of(part))), None) if isinstance(x, (tuple, list)) else None


def find_library(call: Callable[[Library], Any], wanted: str | None = None) -> Library:
    """Find the library with whose arrays `call` works, preferring one in which the answer comes back.

    Many a NumPy function takes MLX arrays too and answers in NumPy, hence the preference. `wanted` leaves no choice.
    Raises `UserError`, with what was said in each case, when the call works with none.
    """
    refusals: list[str] = []
    worked: list[Library] = []
    for name in _candidates(wanted):
        if name == "torch" and worked and not wanted:
            break  # importing PyTorch takes seconds: it is left alone where another library has done
        try:
            with quiet():
                answer = call(Library(name))
                settle(answer)
        except Exception as error:
            refusals.append(f"{name}: {describe(error)}")
            continue
        if library_of(answer) == name:
            return Library(name)
        worked.append(Library(name))
    if not worked:
        raise UserError(f"arrays: the function works with none of these. {'; '.join(refusals)}")
    return worked[0]


def settle(answer: Any) -> None:
    """Compute what MLX put off until it is needed, so that errors come where they belong."""
    if library_of(answer) == "mlx":
        mx.eval(answer)


def describe(error: Exception) -> str:
    """The kind of an error and the first line of what it says; an error meant for the user speaks for itself."""
    if isinstance(error, UserError):
        return str(error)
    said = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0][:160]}" if said else type(error).__name__


@contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings: the probes are meant to provoke what they warn of."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def _candidates(wanted: str | None) -> tuple[Name, ...]:
    there = "torch" in sys.modules or importlib.util.find_spec("torch") is not None
    if wanted is None:
        return NAMES if there else NAMES[:-1]
    if wanted not in NAMES:
        raise UserError(f"arrays = {wanted!r}: one of {', '.join(NAMES)} is wanted.")
    if wanted == "torch" and not there:
        raise UserError("arrays = 'torch': PyTorch is not installed; pip install torch.")
    return tuple(name for name in NAMES if name == wanted)
