"""The contracts of attention: right functions raise no alarm, and each mistake raises its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder import recipe
from mlxdecoder.attention import attention as ours
from mlxdecoder.contracts.finding import Finding, Report
from mlxdecoder.contracts.on_attention import attention_findings
from mlxdecoder.errors import UserError
from tests import reference
from tests.contracts.attentions import Array, attention, softmax, unstable, zero_empty


def by_loops(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    return reference.attention(q, k, v, mask)


def by_recipe(**changed: Any) -> Callable[..., mx.array]:
    return lambda q, k, v, mask=None: ours(q, k, v, mask, recipe=replace(recipe.RIGHT, **changed))


def fused(q: mx.array, k: mx.array, v: mx.array, mask: mx.array | None = None) -> mx.array:
    return mx.fast.scaled_dot_product_attention(q, k, v, scale=q.shape[-1] ** -0.5, mask=mask)


def key_mask(q: Array, k: Array, v: Array, mask: Array) -> Array:
    return attention(late=zero_empty)(q, k, v, mask.reshape(len(mask), 1, 1, k.shape[2]))


def causal_itself(q: Array, k: Array, v: Array) -> Array:
    T = q.shape[-2]
    return attention()(q, k, v, np.tril(np.ones((T, T), bool)))


def causal_and_key_mask(q: Array, k: Array, v: Array, pad: Array) -> Array:
    """Causal by itself, and told which keys are padding."""
    T = q.shape[2]
    keep = np.tril(np.ones((T, T), bool)) & ~pad.reshape(len(pad), 1, 1, T)
    return attention(late=zero_empty)(q, k, v, keep)


def one_head(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    return softmax(scores if mask is None else scores + mask) @ v


def one_sentence(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    scores = q @ k.T / np.sqrt(q.shape[-1])
    return softmax(scores if mask is None else np.where(mask, -np.inf, scores)) @ v


def with_weights(q: Array, k: Array, v: Array, mask: Array | None = None) -> tuple[Array, None]:
    return attention(late=zero_empty)(q, k, v, mask), None


RIGHT: dict[str, tuple[Callable[..., Any], set[str]]] = {
    "loops": (by_loops, set()),
    "ours": (by_recipe(), set()),
    "fused": (fused, {"empty.uniform"}),
    "filled with -1e9": (attention(), {"empty.uniform"}),
    "-1e4 added": (attention(lambda s, m: s + (1.0 - m) * -1e4), {"empty.other"}),
    "filled with -inf": (attention(lambda s, m: np.where(m, s, -np.inf)), {"nan.empty"}),
    "True = blocked": (attention(lambda s, m: np.where(m, -1e9, s)), {"empty.uniform"}),
    "added": (attention(lambda s, m: s + m), {"nan.empty"}),
    "zeroed and renormalised": (
        attention(late=lambda w, m: w * m / np.maximum((w * m).sum(axis=-1, keepdims=True), 1e-9)),
        set(),
    ),
    "key mask": (key_mask, set()),
    "causal by itself": (causal_itself, set()),
    "causal by itself with a key mask": (causal_and_key_mask, set()),
    "one head": (one_head, {"nan.empty"}),
    "one sentence": (one_sentence, {"nan.empty"}),
    "with weights": (with_weights, set()),
}
SHAPES: tuple[dict[str, int], ...] = ({}, {"head_width": 4}, {"head_width": 64, "n_heads": 3}, {"n_heads": 1})


@pytest.mark.parametrize("name", RIGHT)
def test_right_functions_raise_no_alarm(name: str) -> None:
    """What rows that see nothing get is a matter of its own, and known of each."""
    f, blemishes = RIGHT[name]
    for seed, sizes in enumerate(SHAPES):
        found = attention_findings(f, seed=seed, **sizes)
        assert found.signs <= blemishes, str(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_right_functions_raise_no_alarm_whatever_is_drawn(name: str) -> None:
    f, blemishes = RIGHT[name]
    for seed in range(20):
        for sizes in SHAPES:
            found = attention_findings(f, seed=seed, **sizes)
            assert found.signs <= blemishes, str(found)


@pytest.mark.parametrize("name", ["loops", "ours", "fused", "filled with -1e9"])
@pytest.mark.parametrize("n_kv_heads", [1, 2])
def test_right_functions_raise_no_alarm_with_grouped_heads(name: str, n_kv_heads: int) -> None:
    f, blemishes = RIGHT[name]
    for seed in range(2):
        found = attention_findings(f, seed=seed, n_kv_heads=n_kv_heads)
        assert found.signs <= blemishes, str(found)
        assert of(found, "T12 groups").holds


@pytest.mark.slow  # beside MLX, PyTorch waits for the processor
def test_pytorch_is_right() -> None:
    torch = pytest.importorskip("torch")
    found = attention_findings(torch.nn.functional.scaled_dot_product_attention)
    assert found.signs <= {"nan.empty"}, str(found)
    assert found.notes[0] == "arrays: torch"


def test_almost_everything_can_be_tried() -> None:
    untried = [finding.contract for finding in attention_findings(by_recipe()).findings if finding.holds is None]
    assert untried == ["T13 half"]
    assert of(attention_findings(by_recipe(), half=True), "T13 half").holds


def cross_heads(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    out = attention()(q, k, v, mask)
    return out + 0.1 * out.mean(axis=1, keepdims=True) if q.ndim == 4 else out


def cross_rows(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    return attention()(q, np.broadcast_to(k[:1], k.shape), v, mask)


def blind_to_the_last(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    seen = np.ones(k.shape[-2], bool) if mask is None else mask
    first = np.arange(k.shape[-2]) < k.shape[-2] - 1
    return attention()(q, k, v, seen if mask is None else seen & first)


def dropping(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    return attention(normalise=lambda s: softmax(s) * (DROPS.random(s.shape) > 0.2))(q, k, v, mask)


DROPS = np.random.default_rng(7)
WRONG: dict[str, tuple[Callable[..., Any], dict[str, Any], set[str]]] = {
    "zeroed after the softmax": (attention(late=lambda w, m: w * m, fill=lambda s, m: s), {}, {"rows.short"}),
    "softmax over queries": (attention(normalise=lambda s: softmax(s, -2)), {}, {"rows.columns", "queries.mixed"}),
    "softmax over heads": (attention(normalise=lambda s: softmax(s, -3)), {}, {"heads.mixed"}),
    "softmax over the batch": (attention(normalise=lambda s: softmax(s, 0)), {}, {"rows.mixed"}),
    "no softmax, too much": (attention(normalise=lambda s: 2 * softmax(s)), {}, {"rows.long"}),
    "no scale": (attention(scale=lambda q: 1.0), {}, {"scale.none"}),
    "divided by the width": (attention(scale=lambda q: 1 / q.shape[-1]), {}, {"scale.other"}),
    "multiplied by the root": (attention(scale=lambda q: q.shape[-1] ** 0.5), {}, {"scale.other"}),
    "scaled for width 64": (attention(scale=lambda q: 1 / 8), {}, {"scale.other"}),
    "squared scores": (attention(normalise=lambda s: softmax(s * np.abs(s))), {}, {"scale.unrelated"}),
    "filled with -1e-9": (attention(lambda s, m: np.where(m, s, -1e-9)), {}, {"support.leak", "attention.future"}),
    "-1e-9 added": (attention(lambda s, m: s + (1.0 - m) * -1e-9), {}, {"support.leak"}),
    "filled with -10": (attention(lambda s, m: np.where(m, s, -10)), {}, {"support.leak"}),
    "filled with -100": (attention(lambda s, m: np.where(m, s, -100)), {}, {"support.leak"}),
    "multiplied with the mask": (attention(lambda s, m: s * m), {}, {"support.leak", "attention.padding"}),
    "mask ignored": (attention(lambda s, m: s), {}, {"support.leak"}),
    "mask transposed": (attention(lambda s, m: np.where(m.swapaxes(-1, -2), s, -1e9)), {}, {"support.leak"}),
    "mask inverted": (attention(lambda s, m: np.where(m, -1e9, s)), {"mask": "allowed"}, {"support.inverted"}),
    "inverted with -inf": (
        attention(lambda s, m: np.where(m, s, -np.inf)),
        {"mask": "blocked"},
        {"support.inverted"},
    ),
    "-inf after the softmax": (
        attention(fill=lambda s, m: s, late=lambda w, m: np.where(m, w, -np.inf)),
        {},
        {"nan.masked"},
    ),
    "-inf added after the softmax": (
        attention(fill=lambda s, m: s, late=lambda w, m: w + m),
        {},
        {"nan.masked"},
    ),
    "groups tiled": (attention(share=lambda x, n: np.tile(x, (1, n, 1, 1))), {}, {"groups.tiled"}),
    "groups reversed": (
        attention(share=lambda x, n: np.repeat(x[:, ::-1] if n > 1 else x, n, axis=1)),
        {},
        {"groups.other"},
    ),
    "unstable exp": (attention(normalise=unstable), {}, {"large.overflow"}),
    "heads mixed": (cross_heads, {}, {"heads.mixed"}),
    "rows mixed": (cross_rows, {}, {"rows.mixed"}),
    "blind to the last key": (blind_to_the_last, {}, {"support.blind"}),
    "dropout left on": (dropping, {}, {"unsteady"}),
    "our recipe tiled": (
        by_recipe(share_heads=lambda x, n: mx.concatenate([x] * (n // x.shape[1]), axis=1)),
        {},
        {"groups.tiled"},
    ),
    "our recipe filling too little": (
        by_recipe(apply_mask=lambda scores, allowed: mx.where(allowed, scores, -1e-9)),
        {},
        {"support.leak"},
    ),
    "our recipe over queries": (
        by_recipe(normalise=lambda masked, allowed: mx.softmax(masked, axis=-2)),
        {},
        {"rows.columns", "queries.mixed"},
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_raise_their_alarm(name: str) -> None:
    f, options, signs = WRONG[name]
    for seed in range(2):
        found = attention_findings(f, seed=seed, **options)
        assert signs <= found.signs, str(found)


@pytest.mark.parametrize("name", ["no scale", "groups tiled", "divided by the width", "our recipe tiled"])
def test_a_mistake_raises_no_alarm_but_its_own(name: str) -> None:
    f, options, signs = WRONG[name]
    assert attention_findings(f, **options).signs <= signs | {"empty.uniform"}


def test_the_scale_is_measured() -> None:
    finding = of(attention_findings(attention(scale=lambda q: 0.123)), "T7 scale")
    assert finding.measured["scale"] == pytest.approx(0.123, rel=1e-3)
    finding = of(attention_findings(attention(scale=lambda q: 1 / q.shape[-1]), head_width=16), "T7 scale")
    assert "(1/head width)" in finding.proof


def test_groups_are_named() -> None:
    f = attention(share=lambda x, n: np.tile(x, (1, n, 1, 1)))
    finding = of(attention_findings(f), "T12 groups")
    assert finding.measured["values"] == finding.measured["keys"] == [0, 1, 0, 1, 0, 1]
    assert finding.measured["wanted"] == [0, 0, 0, 1, 1, 1]


def test_a_leak_is_measured() -> None:
    """A quarter of the weight moved to a key that nobody may see."""

    def leaky(weights: Array, mask: Array) -> Array:
        shares = ~np.broadcast_to(mask, weights.shape)
        return 0.75 * weights + 0.25 * shares / np.maximum(shares.sum(axis=-1, keepdims=True), 1)

    finding = of(attention_findings(attention(late=leaky), mask="allowed"), "T8 support")
    assert finding.measured["leak"] == pytest.approx(0.25, abs=0.01)


def test_demanded_groups_must_be_taken() -> None:
    with pytest.raises(UserError, match=r"k \[3, 2, 7, 32\].* raised ValueError"):
        attention_findings(attention(share=lambda x, n: x), n_kv_heads=2, arrays="numpy")


def test_the_three_fates_of_empty_rows() -> None:
    fates = {"loops": None, "filled with -1e9": "empty.uniform", "filled with -inf": "nan.empty"}
    for name, sign in fates.items():
        finding = of(attention_findings(RIGHT[name][0]), "T5 empty rows")
        assert finding.signs == (frozenset({sign}) if sign else frozenset())
        assert finding.holds is (sign is None)


def test_half_types_overflow_where_products_are_not_kept_wider() -> None:
    assert of(attention_findings(fused, half=True), "T13 half").signs == {"large.overflow"}


def test_a_steady_answer_comes_first() -> None:
    found = attention_findings(dropping)
    assert [finding.contract for finding in found.failed] == ["T11 steady"]


def test_without_a_mask_the_rest_is_tried() -> None:
    def bare(q: Array, k: Array, v: Array) -> Array:
        return attention()(q, k, v)

    found = attention_findings(bare)
    assert found.holds
    untried = {finding.contract: finding.proof for finding in found.findings if finding.holds is None}
    assert set(untried) == {"T1 causal", "T3 padding", "T5 empty rows", "T8 support", "T13 half"}
    assert "takes no mask" in untried["T3 padding"]


def test_causal_without_a_mask_is_tried_where_the_function_is_so_by_itself() -> None:
    assert of(attention_findings(causal_itself), "T1 causal").holds


def test_what_is_to_be_given_is_said() -> None:
    proof = of(attention_findings(WRONG["mask ignored"][0]), "T8 support").proof
    assert "mask='allowed', 'blocked' or 'additive'" in proof


def test_attributes_stand_in_for_options() -> None:
    def f(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
        return attention()(q, k, v, mask)

    f.mask = "blocked"  # type: ignore[attr-defined]
    assert "support.inverted" in attention_findings(f).signs
    assert "support.inverted" not in attention_findings(f, mask="allowed").signs


def test_the_report_names_its_subject_and_can_be_written_down() -> None:
    found = attention_findings(by_loops)
    assert (found.subject, found.kind) == ("by_loops", "attention")
    assert found.notes[0] == "arrays: numpy"
    assert "True = may attend" in found.notes[1]
    assert json.loads(json.dumps(found.to_dict()))["holds"] is True


def of(found: Report, contract: str) -> Finding:
    return next(finding for finding in found.findings if finding.contract == contract)
