"""Questions to a decoder or a translator: NumPy ids in, NumPy logits out, whatever library is behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from mlxdecoder.contracts.arrays import Library, describe, find_library, quiet, settle, to_numpy
from mlxdecoder.contracts.contract import CallError
from mlxdecoder.contracts.options import check_id, name_of
from mlxdecoder.errors import UserError

Question: TypeAlias = tuple[np.ndarray, ...]  # ids [B, length], one array for each side: tokens, or source and target
LENGTHS = (16, 12, 8)  # tokens of a question; shorter ones for models that have no room for more


class Asker:
    """Asks `f` of one side (tokens) or of two (source, target) random questions, and gets logits [B, T, V]."""

    def __init__(
        self,
        f: Callable[..., Any],
        sides: Sequence[str],
        *,
        arrays: str | None = None,
        seed: int = 0,
        pad: int | None = None,
        separator: int | None = None,
        vocabularies: Sequence[int | None] = (),
    ) -> None:
        self.f, self.sides = f, tuple(sides)
        self.name = name_of(f)
        self.pad, self.separator = check_id("pad", pad), check_id("separator", separator)
        self.random = np.random.default_rng(seed)
        self._pools = [self._pool(2 + len(self._reserved))] * len(sides)
        self.library = find_library(lambda library: self._first_call(library)[1], arrays)
        question, answer = self._first_call(self.library)
        self.half = "float16" in str(getattr(answer, "dtype", ""))
        found = self.logits(self.name, answer, question[-1]).shape[-1]
        self._pools = [self._pool(found if size is None else size) for size in vocabularies]
        self.notes = [f"arrays: {self.library.name}; {found} ids; probed with {self.length} tokens"]

    @property
    def lengths(self) -> list[int]:
        """How long the sides of a question are: the target is longest, so that no two axes are of one size."""
        return [self.length * 3 // 4, self.length][-len(self.sides) :]

    def draw(self, batch: int = 1, lengths: Sequence[int] | None = None) -> Question:
        """A random question, without padding and separators; its rows repeat no id where there are enough."""
        sizes = self.lengths if lengths is None else lengths
        return tuple(
            np.stack([self._row(pool, length) for _ in range(batch)])
            for pool, length in zip(self._pools, sizes, strict=True)
        )

    def changed(self, ids: np.ndarray, side: int) -> np.ndarray:
        """Other ids of that side everywhere."""
        pool = self._pools[side]
        places = np.searchsorted(pool, ids)
        return np.asarray(pool[(places + self.random.integers(1, len(pool), ids.shape)) % len(pool)])

    def altered(self, question: Question, side: int, where: Any) -> Question:
        """The question with other ids at the places `where` of one side."""
        ids = question[side].copy()
        ids[where] = self.changed(ids[where], side)
        return (*question[:side], ids, *question[side + 1 :])

    def ask(self, question: Question) -> np.ndarray:
        """The logits [B, T, V] in float64."""
        return self.logits(self.name, self.call(self.name, self.f, *question), question[-1])

    def call(self, name: str, function: Callable[..., Any], *ids: np.ndarray, **more: Any) -> Any:
        """Call the user's function with arrays as it wants them; raises `CallError` with the shapes if it raises."""
        try:
            with quiet():
                answer = function(*map(self.library.array, ids), **more)
                settle(answer)
        except Exception as error:
            given = [f"{'ids' if x.dtype.kind == 'i' else 'floats'} {list(x.shape)}" for x in ids]
            given += [f"{option}=..." for option in more]
            raise CallError(f"{name}({', '.join(given)}) raised {describe(error)}") from None
        return answer

    def logits(self, name: str, answer: Any, ids: np.ndarray) -> np.ndarray:
        """Check that an answer is logits for the ids [B, T], and make it float64."""
        if isinstance(answer, tuple | dict):
            raise CallError(f"{name} gave a {type(answer).__name__}; logits [B, T, V] alone are wanted.")
        try:
            found = np.asarray(to_numpy(answer), np.float64)
        except (TypeError, ValueError):
            raise CallError(f"{name} gave a {type(answer).__name__}; logits [B, T, V] are wanted.") from None
        if found.ndim != 3 or found.shape[:2] != ids.shape:
            raise CallError(f"{name} gave shape {found.shape} for ids {ids.shape}; [B, T, V] is wanted.")
        return found

    @property
    def _reserved(self) -> set[int]:
        return {mark for mark in (self.pad, self.separator) if mark is not None}

    def _pool(self, size: int) -> np.ndarray:
        pool = np.array(sorted(set(range(size)) - self._reserved))
        if len(pool) < 2:
            raise UserError(f"vocabulary = {size}: at least two ids besides pad and separator are wanted.")
        return pool

    def _row(self, pool: np.ndarray, length: int) -> np.ndarray:
        return self.random.choice(pool, length, replace=len(pool) < length)

    def _first_call(self, library: Library) -> tuple[Question, Any]:
        """Ask about as many tokens as there is room for; settles the length of all questions."""
        for self.length in LENGTHS:
            self.library, question = library, self.draw()
            try:
                return question, self.call(self.name, self.f, *question)
            except CallError as error:
                refusal = error
        raise refusal
