"""What does not fit is refused in a line that names the argument, what was found, and what was wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder import kernels
from mlxdecoder.errors import UserError
from mlxdecoder.kernels.structure import Structure, structure_of
from mlxdecoder.masks import Causal, Documents, Padding

B, H, Hkv, T, S, DK, DV = 2, 4, 2, 3, 5, 16, 8
LSE = mx.zeros((B, H, T))


def operands(dtype: mx.Dtype = mx.float32, **shapes: tuple[int, ...]) -> list[mx.array]:
    right = {"query": (B, H, T, DK), "key": (B, Hkv, S, DK), "value": (B, Hkv, S, DV)}
    return [mx.zeros(shape, dtype) for shape in (right | shapes).values()]


def attend(*args: Any, **shapes: tuple[int, ...]) -> Callable[[], object]:
    return lambda: kernels.attention_with_lse(*operands(**shapes), *args)


def watch(**arguments: Any) -> Callable[[], object]:
    query, key, _ = operands()
    return lambda: kernels.attention_weights(query, key, **{"lse": LSE, **arguments})


def measure(intended: Any, **arguments: Any) -> Callable[[], object]:
    query, key, _ = operands()
    return lambda: kernels.attention_mass(query, key, LSE, intended, **arguments)


def mixed_types() -> object:
    query, key, value = operands()
    return kernels.attention_with_lse(query, key.astype(mx.float16), value)


def whole_numbers() -> object:
    return kernels.attention_with_lse(*operands(mx.int32))


REFUSED: list[tuple[Callable[[], object], list[str]]] = [
    (attend(query=(H, T, DK)), ["query:", "(4, 3, 16) found", "[batch, heads, length, width] wanted"]),
    (attend(key=(B, Hkv, S, 24)), ["key:", "(2, 2, 5, 24) found", "width 16"]),
    (attend(key=(1, Hkv, S, DK)), ["key:", "(1, 2, 5, 16) found", "batch 2"]),
    (attend(key=(B, 3, S, DK)), ["key:", "(2, 3, 5, 16) found", "divisor of 4 heads"]),
    (attend(key=(B, 0, S, DK)), ["key:", "(2, 0, 5, 16) found", "divisor of 4 heads"]),
    (attend(value=(B, Hkv, 4, DV)), ["value:", "(2, 2, 4, 8) found", "(2, 2, 5)"]),
    (attend(query=(B, H, T, 12), key=(B, Hkv, S, 12)), ["key width 12", "8 to 256 in steps of 8"]),
    (attend(query=(B, H, T, 264), key=(B, Hkv, S, 264)), ["key width 264", "8 to 256 in steps of 8"]),
    (attend(value=(B, Hkv, S, 4)), ["value width 4", "8 to 256 in steps of 8"]),
    (attend(key=(B, Hkv, 0, DK), value=(B, Hkv, 0, DV)), ["nothing to attend to"]),
    (attend(query=(B, H, 0, DK)), ["nobody attends"]),
    (mixed_types, ["key:", "float16 found", "float32 wanted", "as the query"]),
    (whole_numbers, ["int32", "wanted float32, float16 or bfloat16"]),
    (attend(mx.zeros((T, S), mx.bool_)), ["mask:", "(3, 5) found", "(2, 4, 3, 5)"]),
    (attend(mx.zeros((B, Hkv, T, S), mx.bool_)), ["mask:", "(2, 2, 3, 5) found", "(2, 4, 3, 5)"]),
    (attend(mx.zeros((B, 1, T, S + 1))), ["bias:", "(2, 1, 3, 6) found", "(2, 4, 3, 5)"]),
    (attend(mx.zeros((B, 1, T, S), mx.int32)), ["mask:", "int32 found", "boolean (True = may attend) or float"]),
    (attend(Padding.left([1, 2, 3], S)), ["mask:", "padding", "3 rows", "the batch has 2"]),
    (attend(Documents(((0,) * S,) * 3)), ["mask:", "documents", "3 rows", "the batch has 2"]),
    (watch(lse=mx.zeros((B, T, H))), ["lse:", "(2, 3, 4) found", "(2, 4, 3) wanted"]),
    (watch(lse=LSE.astype(mx.float16)), ["lse:", "float16", "float32 of (2, 4, 3) wanted"]),
    (watch(heads=[0, H]), ["heads:", "[0, 4] found", "0 to 3 wanted"]),
    (watch(heads=[]), ["heads:", "[] found", "0 to 3 wanted"]),
    (watch(rows=[-1]), ["rows:", "[-1] found", "0 to 2 wanted"]),
    (watch(mask=mx.zeros((1, 1, T, 4), mx.bool_)), ["mask:", "(1, 1, 3, 4) found", "(2, 4, 3, 5)"]),
    (measure(mx.zeros((1, 1, T, S))), ["intended:", "additive array found", "boolean array wanted"]),
    (measure(Padding.left([1, 2, 3], S)), ["3 rows", "the batch has 2"]),
    (measure(Causal(), rows=[T]), ["rows:", "[3] found", "0 to 2 wanted"]),
]


@pytest.mark.parametrize(("call", "words"), REFUSED, ids=[" ".join(words[:2]) for _, words in REFUSED])
def test_what_does_not_fit_is_refused_in_one_line(call: Callable[[], object], words: list[str]) -> None:
    with kernels.using("emulate"), pytest.raises(UserError) as caught:
        call()
    told = str(caught.value)
    assert [word for word in words if word not in told] == []
    assert "\n" not in told


def test_without_a_place_to_run_the_message_says_how_to_get_one() -> None:
    query, key, value = operands()
    with kernels.using("off"), pytest.raises(UserError, match='no Metal here; MLXDECODER_KERNELS="emulate"'):
        kernels.attention_with_lse(query, key, value)


def test_the_library_falls_back_where_kernels_cannot_serve() -> None:
    for query, key, value in (operands(), operands(query=(B, H, T, 12), key=(B, Hkv, S, 12)), operands(mx.int32)):
        with kernels.using("off"):
            assert not kernels.serve(query, key, value)
        with kernels.using("emulate"):
            assert kernels.serve(query, key, value) == (query.dtype == mx.float32 and query.shape[3] == DK)


def test_a_structure_of_ones_own_is_checked_as_well() -> None:
    rows = (np.zeros((3, T), np.int32), np.zeros((3, S), np.int32))
    for mask in (Structure(documents=rows), structure_of(Padding.left([1, 2, 3], S), np.arange(T), np.arange(S))):
        with kernels.using("emulate"), pytest.raises(UserError, match="3 rows"):
            kernels.attention_with_lse(*operands(), mask)
