"""Anybody's attention function behind one face: NumPy in and out, four axes, and one meaning of the mask."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlxdecoder.contracts.arrays import Library, describe, quiet, settle, to_numpy
from mlxdecoder.contracts.contract import CallError, Untried
from mlxdecoder.contracts.mask_forms import OPERAND_FORMS, Form, Reading
from mlxdecoder.contracts.options import name_of

Operands = tuple[np.ndarray, np.ndarray, np.ndarray]


class Unsayable(Untried):
    """A mask cannot be said to a function whose masks are not understood."""


@dataclass(frozen=True)
class Sizes:
    """The sizes that a function is tried with; all differ, so that no axis can pass for another by chance."""

    B: int = 3
    H: int = 4
    Hkv: int = 4
    T: int = 5
    S: int = 7
    width: int = 32


@dataclass(frozen=True)
class AttentionSubject:
    """A function f(q, k, v, mask) with what is known of it.

    `reading` says how it takes masks, None where it takes none; `without` is what stands for the mask when there is
    none: nothing, one None, or None itself where f insists on a mask.
    """

    f: Callable[..., Any]
    library: Library
    sizes: Sizes = Sizes()
    operands: Form = OPERAND_FORMS[0]
    reading: Reading | None = None
    without: tuple[None, ...] | None = ()

    def __call__(self, q: np.ndarray, k: np.ndarray, v: np.ndarray, allowed: np.ndarray | None = None) -> np.ndarray:
        """Attend from q [B, H, T, d] to k [B, Hkv, S, d] and v [B, Hkv, S, dv]; gives [B, H, T, dv] in float64.

        `allowed` broadcasts to [B, H, T, S], True = may attend. Raises `CallError` when f raises or
        answers in another shape.
        """
        answer = to_numpy(first(self.ask((q, k, v), self.mask(q, k, allowed))))
        wanted = (*q.shape[:3], v.shape[3])
        shown = self.operands.fold(np.empty(wanted)).shape
        if answer.shape != shown:
            raise CallError(f"{self._call(q, k, v)} gave shape {answer.shape}, wanted {shown}.")
        return answer.reshape(wanted)

    @property
    def unmasked(self) -> AttentionSubject:
        """The same without any mask, where f can do without."""
        return self if self.without is None else replace(self, reading=None)

    @property
    def promises_none(self) -> bool:
        """Whether f takes masks, but has a default for them too, and answers without one."""
        if self.reading is None or self.without is None:
            return False
        parameter = mask_parameter(self.f)
        variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return parameter is not None and parameter.kind not in variadic and parameter.default is not parameter.empty

    def ask(self, operands: Operands, mask: tuple[Any, ...]) -> Any:
        """What f itself answers; `mask` holds its fourth argument, or nothing."""
        arrays = [self.library.array(self.operands.fold(x)) for x in operands]
        given = [None if x is None else self.library.array(x) for x in mask]
        try:
            with quiet():
                answer = in_order(self.f)(*arrays, *given)
                settle(answer)
        except Exception as error:
            raise CallError(f"{self._call(*operands, *mask)} raised {describe(error)}") from error
        return answer

    def mask(self, q: np.ndarray, k: np.ndarray, allowed: np.ndarray | None) -> tuple[Any, ...]:
        """The arguments that say `allowed`, in f's own convention; None is said by a mask that hides nothing."""
        if self.reading is None:
            if allowed is None and self.without is not None:
                return self.without
            raise Unsayable("it wants a mask, and what it means could not be found; see T8 support.")
        shape = (*q.shape[:3], k.shape[2])
        seen = np.broadcast_to(np.array(True) if allowed is None else allowed, shape)
        return (self.reading.encode(seen, q.dtype if q.dtype == np.float16 else np.dtype(np.float32)),)

    def weights(self, q: np.ndarray, k: np.ndarray, allowed: np.ndarray | None = None) -> np.ndarray:
        """The attention weights [B, H, T, S]: f is linear in v, so with the identity for v they are its output.

        The values are as wide as the keys, for functions that want it so; more keys than that are read in parts.
        """
        heads, S, width = k.shape[:2], k.shape[2], k.shape[3]
        identity = np.eye(S, S + width, dtype=q.dtype)
        parts = [
            self(q, k, np.broadcast_to(identity[:, start : start + width], (*heads, S, width)), allowed)
            for start in range(0, S, width)
        ]
        return np.concatenate(parts, axis=-1)[..., :S]

    def draw(self, random: np.random.Generator, **sizes: int) -> Operands:
        """Normal q, k and v of the sizes it is tried with, or of others."""
        n = replace(self.sizes, **sizes)
        shapes = ((n.B, n.H, n.T, n.width), (n.B, n.Hkv, n.S, n.width), (n.B, n.Hkv, n.S, n.width))
        q, k, v = (random.standard_normal(shape) for shape in shapes)
        return q, k, v

    def carries(self, allowed: np.ndarray) -> bool:
        """Whether a mask that broadcasts to [B, H, T, S] can be said to f at all."""
        n = self.sizes
        return self.reading is not None and self.reading.form.carries(np.broadcast_to(allowed, (n.B, n.H, n.T, n.S)))

    def _call(self, q: np.ndarray, k: np.ndarray, v: np.ndarray, *mask: Any) -> str:
        shown = [f"{letter} {list(self.operands.fold(x).shape)}" for letter, x in zip("qkv", (q, k, v), strict=True)]
        shown += ["None" if x is None else f"mask {x.dtype} {list(x.shape)}" for x in mask]
        return f"{name_of(self.f)}({', '.join(shown)}) with {self.library.name} arrays"


def in_order(f: Callable[..., Any]) -> Callable[..., Any]:
    """f with its mask as the fourth argument, even where it is named."""
    named = mask_parameter(f)
    if named is None or named.kind is not inspect.Parameter.KEYWORD_ONLY:
        return f
    return lambda q, k, v, *mask: f(q, k, v, **({"mask": mask[0]} if mask else {}))


def mask_parameter(f: Callable[..., Any]) -> inspect.Parameter | None:
    """The parameter that the mask goes to: one that is called so and must be named, or else the fourth."""
    try:
        parameters = inspect.signature(f).parameters
    except (TypeError, ValueError):
        return None
    named = parameters.get("mask")
    if named is not None and named.kind is inspect.Parameter.KEYWORD_ONLY:
        return named
    fourth = list(parameters.values())[3:4]
    return fourth[0] if fourth and fourth[0].kind is not inspect.Parameter.KEYWORD_ONLY else None


def first(answer: Any) -> Any:
    """The output alone, of functions that give their weights too."""
    return answer[0] if isinstance(answer, (tuple, list)) and answer else answer
