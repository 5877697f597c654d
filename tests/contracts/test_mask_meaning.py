"""What a mask means is found by probing, and said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder.attention import attention as ours
from mlxdecoder.contracts.mask_meaning import Grade, get_to_know
from mlxdecoder.errors import UserError
from tests.contracts.attentions import Array, attention, keep, softmax

FILLS: dict[str, tuple[Callable[[Array, Array], Array], str]] = {
    "where": (keep, "allowed"),
    "where -inf": (lambda s, m: np.where(m, s, -np.inf), "allowed"),
    "mask == 0": (lambda s, m: np.where(m == 0, -1e9, s), "allowed"),
    "1 - mask": (lambda s, m: s + (1.0 - m) * -1e9, "allowed"),
    "blocked": (lambda s, m: np.where(m, -1e9, s), "blocked"),
    "blocked, -inf": (lambda s, m: np.where(m, -np.inf, s), "blocked"),
    "mask * -1e9": (lambda s, m: s + m * -1e9, "blocked"),
    "added": (lambda s, m: s + m, "additive"),
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", FILLS)
def test_every_convention_is_found(name: str, seed: int) -> None:
    fill, kind = FILLS[name]
    known = get_to_know(attention(fill), seed=seed)
    assert known.subject.reading is not None
    assert (known.subject.reading.kind, known.grade) == (kind, Grade.HIDES)


def rank3(q: Array, k: Array, v: Array, mask: Array) -> Array:
    return attention()(q, k, v, mask[:, None])


def key_mask(q: Array, k: Array, v: Array, mask: Array) -> Array:
    B, S = mask.shape
    return attention()(q, k, v, mask.reshape(B, 1, 1, S))


def square(q: Array, k: Array, v: Array, mask: Array) -> Array:
    assert q.shape[2:3] + k.shape[2:3] == mask.shape
    return attention()(q, k, v, mask)


def one_head(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    return softmax(scores if mask is None else keep(scores, mask)) @ v


def one_sentence(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    scores = q @ k.T / np.sqrt(q.shape[-1])
    return softmax(scores if mask is None else keep(scores, mask)) @ v


def filled_in_place(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores[~mask] = -1e9
    return softmax(scores) @ v


@pytest.mark.parametrize(
    ("f", "operands", "mask"),
    [
        (rank3, "[B, H, T, d]", "[B, T, S]"),
        (key_mask, "[B, H, T, d]", "[B, S]"),
        (square, "[B, H, T, d]", "[T, S]"),
        (one_head, "[B, T, d]", "[B, T, S]"),
        (one_sentence, "[T, d]", "[T, S]"),
        (filled_in_place, "[B, H, T, d]", "[B, H, T, S]"),
    ],
)
def test_the_axes_are_found(f: Callable[..., Any], operands: str, mask: str) -> None:
    subject = get_to_know(f).subject
    assert subject.reading is not None
    assert (subject.operands.axes, subject.reading.form.axes) == (operands, mask)


def test_a_mask_by_name_is_found() -> None:
    def named(q: Array, k: Array, v: Array, *, mask: Array | None = None) -> Array:
        return attention()(q, k, v, mask)

    subject = get_to_know(named).subject
    assert subject.reading is not None
    assert subject.reading.kind == "allowed"


def test_a_boolean_mask_comes_before_an_additive_one() -> None:
    for f in (lambda q, k, v, m: ours(q, k, v, m), lambda q, k, v, m: fused(q, k, v, m)):
        reading = get_to_know(f).subject.reading
        assert reading is not None
        assert (reading.kind, reading.numbers) == ("allowed", False)


def fused(q: mx.array, k: mx.array, v: mx.array, mask: mx.array | None) -> mx.array:
    return mx.fast.scaled_dot_product_attention(q, k, v, scale=q.shape[-1] ** -0.5, mask=mask)


def test_ones_and_zeros_are_tried_where_booleans_are_refused() -> None:
    def numbers(scores: Array, mask: Array) -> Array:
        if mask.dtype == np.bool_:
            raise TypeError("Subtraction, the `-` operator, with a bool tensor is not supported")
        return np.where(mask == 0, -1e9, scores)

    reading = get_to_know(attention(numbers)).subject.reading
    assert reading is not None
    assert (reading.kind, reading.numbers) == ("allowed", True)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "fill",
    [
        lambda s, m: s,
        lambda s, m: s + m * -1e-9,
        lambda s, m: s + (1.0 - m) * -1e-9,
        lambda s, m: np.where(m.swapaxes(-1, -2), s, -1e9),
    ],
)
def test_nothing_is_guessed_where_hidden_keys_keep_their_weight(
    fill: Callable[[Array, Array], Array], seed: int
) -> None:
    known = get_to_know(attention(fill), seed=seed)
    assert known.subject.reading is None
    assert known.grade is Grade.IGNORES


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("fill", "kind"),
    [
        (lambda s, m: np.where(m, s, -1e-9), "allowed"),
        (lambda s, m: np.where(m, -1e-9, s), "blocked"),
        (lambda s, m: s * m, "allowed"),
        (lambda s, m: s + (1.0 - m) * -10, "allowed"),
        (lambda s, m: s + m * -10, "blocked"),
        (lambda s, m: np.where(m, -10, s), "blocked"),
    ],
)
def test_a_weak_mask_is_still_understood(fill: Callable[[Array, Array], Array], kind: str, seed: int) -> None:
    known = get_to_know(attention(fill), seed=seed)
    assert known.subject.reading is not None
    assert (known.subject.reading.kind, known.grade) == (kind, Grade.LEAKS)


def test_a_demanded_meaning_is_taken_at_its_word() -> None:
    known = get_to_know(attention(FILLS["blocked"][0]), mask="allowed", rank=4)
    assert known.subject.reading is not None
    assert known.subject.reading.kind == "allowed"
    assert any("as demanded" in note for note in known.notes)


def test_a_demanded_rank_is_taken() -> None:
    subject = get_to_know(attention(), rank=2).subject
    assert subject.reading is not None
    assert subject.reading.form.axes == "[T, S]"


def test_a_function_without_a_mask_is_known_without() -> None:
    known = get_to_know(lambda q, k, v: attention()(q, k, v))
    assert known.subject.reading is None
    assert known.grade is Grade.REFUSED


def test_a_function_that_answers_nothing_is_refused_with_its_call() -> None:
    def broken(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
        raise RuntimeError("out of ideas")

    with pytest.raises(UserError, match=r"broken\(q \[3, 4, 5, 32\].*RuntimeError: out of ideas"):
        get_to_know(broken, arrays="numpy")


def test_an_answer_in_another_shape_is_refused() -> None:
    with pytest.raises(UserError, match=r"gave shape \(3, 5, 4, 32\), wanted \(3, 4, 5, 32\)"):
        get_to_know(lambda q, k, v, mask=None: attention()(q, k, v, mask).swapaxes(1, 2), arrays="numpy")


def test_an_unknown_meaning_is_refused() -> None:
    with pytest.raises(UserError, match="mask = 'keep': one of allowed, blocked, additive is wanted"):
        get_to_know(attention(), mask="keep")


def test_an_unknown_rank_is_refused() -> None:
    with pytest.raises(UserError, match="rank = 5: the rank of the mask is wanted"):
        get_to_know(attention(), rank=5)


def test_a_function_that_only_takes_masks_that_hide_nothing_is_refused() -> None:
    def timid(q: Array, k: Array, v: Array, mask: Array) -> Array:
        if not (mask == 1).all():
            raise RuntimeError("something is hidden")
        return attention()(q, k, v, mask)

    with pytest.raises(UserError, match="no mask that hides a key is answered.*something is hidden"):
        get_to_know(timid)
