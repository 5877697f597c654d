"""The contracts of attention on functions as people write them: what is theirs to choose raises no alarm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder.contracts.on_attention import attention_findings
from mlxdecoder.errors import UserError
from tests.contracts.attentions import Array, attention, softmax, unstable
from tests.contracts.test_on_attention import of


def tril(T: int, S: int, offset: int = 0) -> Array:
    return np.tril(np.ones((T, S), bool), offset)


def causal_and_mask(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    """As nanoGPT: a triangle of its own, and a softmax that makes NaN of rows that see nothing."""
    keep = tril(q.shape[2], k.shape[2])
    scores = np.where(keep if mask is None else keep & mask, q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -np.inf)
    return softmax(scores) @ v


def naive_causal(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    """Short rows, where nothing is seen: the sum is kept from being 0."""
    keep = tril(q.shape[2], k.shape[2])
    raised = np.exp(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) * (keep if mask is None else keep & mask)
    return raised / (raised.sum(axis=-1, keepdims=True) + 1e-9) @ v


def banded(filled: float) -> Callable[..., Array]:
    """A window of two keys that ends with the query's own position."""

    def window(q: Array, k: Array, v: Array, mask: Array) -> Array:
        T, S = q.shape[2], k.shape[2]
        keep = tril(T, S) & ~tril(T, S, -2) & mask
        return softmax(np.where(keep, q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), filled)) @ v

    return window


def aligned_to_the_end(q: Array, k: Array, v: Array, mask: Array) -> Array:
    """The last query is the last key's, as with a cache; `mask` [B, S] says what is no padding."""
    T, S = q.shape[2], k.shape[2]
    keep = tril(T, S, S - T) & mask.reshape(len(mask), 1, 1, S)
    return softmax(np.where(keep, q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -1e30)) @ v


def turned(x: Array, start: int) -> Array:
    """Rotary positions from `start`."""
    half = x.shape[-1] // 2
    angles = np.arange(start, start + x.shape[2])[:, None] / 100 ** (np.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)], axis=-1)


def rotary_inside(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    return attention()(turned(q, k.shape[2] - q.shape[2]), turned(k, 0), v, mask)


def needs_a_mask(q: Array, k: Array, v: Array, mask: Array | None) -> Array:
    """None is not meant: everything is hidden by it."""
    weights = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) * (0 if mask is None else mask)
    return weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-30) @ v


def causal_unless_told(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    return attention()(q, k, v, tril(q.shape[-2], k.shape[-2]) if mask is None else mask)


EDGES = {"nan.empty", "empty.uniform", "empty.other", "large.overflow"}
RIGHT: dict[str, Callable[..., Any]] = {
    "causal and mask": causal_and_mask,
    "naive and causal": naive_causal,
    "window, -inf": banded(-np.inf),
    "window, filled": banded(-1e30),
    "aligned to the end": aligned_to_the_end,
    "needs a mask": needs_a_mask,
    "causal unless told": causal_unless_told,
}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("seed", range(3))
def test_right_functions_raise_no_alarm(name: str, seed: int) -> None:
    found = attention_findings(RIGHT[name], seed=seed)
    assert found.signs <= EDGES, str(found)
    assert of(found, "T2 rows").holds
    assert of(found, "T3 padding").holds


def test_padding_moves_nothing_where_positions_are_inside() -> None:
    """Its weights follow other products than q k^T, as they should: that is T7's alone."""
    found = attention_findings(rotary_inside)
    assert {finding.contract for finding in found.failed} <= {"T5 empty rows", "T7 scale"}, str(found)


def test_rows_that_see_something_are_still_judged() -> None:
    """Causal by itself, and zeroed after the softmax: short where a key of its past is hidden."""

    def zeroed(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
        keep = tril(q.shape[2], k.shape[2])
        weights = softmax(np.where(keep, q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -np.inf))
        return (weights if mask is None else weights * mask) @ v

    def spoilt(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
        out = causal_and_mask(q, k, v, mask)
        return out if mask is None or np.all(mask) else np.where(np.arange(q.shape[2])[:, None] == 3, np.nan, out)

    assert "rows.short" in attention_findings(zeroed).signs
    assert "nan.masked" in attention_findings(spoilt).signs


def test_a_branch_for_none_must_have_its_softmax() -> None:
    def bare(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        return (scores if mask is None else softmax(np.where(mask, scores, -1e9))) @ v

    finding = of(attention_findings(bare), "T2 rows")
    assert finding.holds is False
    assert "with None as the mask" in finding.proof


def test_a_branch_for_none_must_have_the_same_scale() -> None:
    def unscaled(q: Array, k: Array, v: Array, *, mask: Array | None = None) -> Array:
        scores = q @ k.swapaxes(-1, -2)
        return softmax(scores if mask is None else np.where(mask, scores / np.sqrt(q.shape[-1]), -1e9)) @ v

    finding = of(attention_findings(unscaled), "T2 rows")
    assert finding.signs == {"rows.other"}
    assert "with None as the mask" in finding.proof
    assert "a mask that hides nothing" in finding.proof


def test_what_is_shown_without_hiding_anything_is_named_as_it_is() -> None:
    assert "a mask that hides nothing" in of(attention_findings(needs_a_mask), "T5 finite").proof
    assert "no mask" in of(attention_findings(lambda q, k, v: attention()(q, k, v)), "T5 finite").proof


@pytest.mark.parametrize("options", [{}, {"n_kv_heads": 2}])
def test_outputs_that_are_normalised_are_no_sums_of_values(options: dict[str, int]) -> None:
    def normalised(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
        out = attention()(q, k, v, mask)
        return out / np.sqrt((out**2).mean(axis=-1, keepdims=True))

    assert "rows.other" in of(attention_findings(normalised, **options), "T2 rows").signs


def in_half(q: mx.array, k: mx.array, v: mx.array, mask: mx.array | None = None) -> mx.array:
    q, k, v = (x.astype(mx.bfloat16) for x in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
    weights = mx.softmax(scores if mask is None else mx.where(mask, scores, -mx.inf), axis=-1)
    return (weights @ v).astype(mx.float32)


@pytest.mark.parametrize("seed", range(3))
def test_half_types_inside_hold_at_the_tolerance_that_the_proof_gives(seed: int) -> None:
    finding = of(attention_findings(in_half, seed=seed), "T2 rows")
    assert finding.holds is False
    assert "give tolerance=0.02" in finding.proof
    found = attention_findings(in_half, seed=seed, tolerance=0.02)
    assert {finding.contract for finding in found.failed} <= {"T5 empty rows"}, str(found)


def test_large_failures_are_not_put_down_to_rounding() -> None:
    assert "tolerance=" not in of(attention_findings(attention(normalise=lambda s: 2 * softmax(s))), "T2 rows").proof


@pytest.mark.parametrize(
    "sizes",
    [
        {"n_heads": 5},
        {"n_heads": 7},
        {"n_heads": 3},
        {"n_heads": 32},
        {"head_width": 4},
        {"head_width": 7},
        {"n_kv_heads": 5},
        {"n_heads": 8, "n_kv_heads": 4, "head_width": 5},
        {"n_kv_heads": 8, "head_width": 24},
    ],
)
def test_no_axis_can_be_mistaken_for_another(sizes: dict[str, int]) -> None:
    asked: list[tuple[tuple[int, ...], tuple[int, ...]]] = []

    def f(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
        asked.append((q.shape, k.shape))
        return attention()(q, k, v, mask)

    attention_findings(f, arrays="numpy", only=["T11 steady"], **sizes)
    (B, H, T, width), (_, Hkv, S, _) = asked[0]
    assert len({B, H, T, S, width}) == 5
    assert Hkv == H if "n_kv_heads" not in sizes else Hkv not in {B, H, T, S, width}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 0}, "tolerance = 0"),
        ({"tolerance": -1.0}, "tolerance = -1.0"),
        ({"tolerance": float("nan")}, "tolerance = nan"),
        ({"tolerance": float("inf")}, "tolerance = inf"),
        ({"tolerance": "small"}, "tolerance = 'small'"),
        ({"seed": -1}, "seed = -1"),
        ({"seed": 0.5}, "seed = 0.5"),
        ({"n_heads": 0}, "n_heads = 0"),
        ({"n_kv_heads": 0}, "n_kv_heads = 0"),
        ({"head_width": 0}, "head_width = 0"),
        ({"head_width": True}, "head_width = True"),
        ({"n_heads": 4, "n_kv_heads": 3}, "n_heads = 4: a multiple of n_kv_heads = 3"),
        ({"only": "T1 causal"}, "only = 'T1 causal'"),
        ({"only": ["T1 causal", "T9 cache"]}, "only = .*T1 causal, T2 rows"),
        ({"only": []}, "only = "),
    ],
)
def test_options_that_are_none_are_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        attention_findings(attention(), **options)


def test_attributes_of_another_meaning_are_no_options() -> None:
    class Adapter:
        mask, rank, n_heads, head_width = True, 8, 0, "wide"

        def __call__(self, q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
            return attention()(q, k, v, mask)

    assert attention_findings(Adapter()).signs == {"empty.uniform"}


def test_overflow_is_still_found_where_the_function_is_causal_by_itself() -> None:
    def f(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
        keep = tril(q.shape[2], k.shape[2])
        return attention(normalise=unstable)(q, k, v, keep if mask is None else keep & mask)

    assert "large.overflow" in attention_findings(f).signs


def test_a_mask_that_is_dropped_where_queries_are_as_many_as_keys_is_found() -> None:
    """Which is all that self-attention ever has."""

    def dropped(q: Array, k: Array, v: Array, mask: Array) -> Array:
        return attention()(q, k, v, np.ones_like(mask) if q.shape[-2] == k.shape[-2] else mask)

    report = attention_findings(dropped)
    assert "7 queries, 7 keys" in next(one.proof for one in report.failed if one.contract == "T1 causal")


def test_whose_meaning_of_a_mask_was_found_is_told() -> None:
    def blocking(q: Array, k: Array, v: Array, mask: Array) -> Array:
        return attention()(q, k, v, ~mask)

    assert any("MultiheadAttention" in note for note in attention_findings(blocking).notes)
    assert not any("MultiheadAttention" in note for note in attention_findings(blocking, mask="blocked").notes)
