"""The collection itself: what is called right is right, and each wrong one differs from its right sibling."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from numpy.typing import NDArray

from mlxdecoder.mistakes import MISTAKES
from tests.wild import WILD, Wild, annotated, keras_like, nano, pico, seq2seq
from tests.wild.observed import SEED, apart, decoded, ids, told, translated, truth

Array = NDArray[Any]
GROUPED = {"scratch", "hugging", "einsum", "fused"}
RIGHT = {entry.family: entry for entry in WILD if entry.name.endswith(".right")}
EXPECTED = {"inputs": [[1, 5, 6, 7], [1, 8]], "labels": [[5, 6, 7, 2], [8, 2]]}


def of(kind: str, right: bool) -> Any:
    found = [entry for entry in WILD if entry.kind == kind and (entry.mistake is None) == right]
    return pytest.mark.parametrize("entry", found, ids=lambda entry: entry.name)


# Attention


def called(entry: Wild, q: Array, k: Array, v: Array, allowed: Array) -> Array:
    """What it gives when the mask is put as it wants it."""
    mask = ~allowed if entry.options.get("mask") == "blocked" else allowed
    if entry.family in ("hugging", "single_head"):
        mask = np.where(allowed, 0.0, -np.inf).astype(np.float32)
    inputs = [*(x.astype(np.float32) for x in (q, k, v)), mask]
    if entry.family == "single_head":
        inputs = [x[:, 0] for x in inputs]
    made = entry.make(SEED)
    with np.errstate(all="ignore"):
        out = made(*inputs) if entry.family in ("scratch", "single_head") else told(made, *inputs)
    return out[:, None] if entry.family == "single_head" else out


def attended(entry: Wild) -> tuple[Array, Array]:
    """The truth, and what it gives, for causal queries over padded keys with strong scores."""
    rng = np.random.default_rng(1)
    groups, heads = (2, 4) if entry.family in GROUPED else (1, 1) if entry.family == "single_head" else (3, 3)
    q, k, v = (3 * rng.normal(size=(2, n, 6, 8)) for n in (heads, groups, groups))
    allowed = np.tril(np.ones((6, 6), bool)) & (np.arange(6) < np.array([6, 4])[:, None])[:, None, None]
    return truth(q, k, v, allowed), called(entry, q, k, v, allowed)


@of("attention", right=True)
def test_right_attention_is_the_truth(entry: Wild) -> None:
    right, out = attended(entry)
    np.testing.assert_allclose(out, right, atol=2e-5)


@of("attention", right=False)
def test_wrong_attention_is_not_the_truth(entry: Wild) -> None:
    assert apart(*attended(entry)) > 1e-3


@of("attention", right=True)
def test_rows_that_see_nothing_are_zeros_or_a_known_blemish(entry: Wild) -> None:
    heads = 1 if entry.family == "single_head" else 2
    q, k, v = np.random.default_rng(1).normal(size=(3, 1, heads, 4, 8))
    out = called(entry, q, k, v, np.tril(np.ones((1, 1, 4, 4), bool), k=-1))
    row, mean = out[0, 0, 0], v[0, 0].mean(axis=0)
    sign = (
        "nan.empty" if np.isnan(row).all() else "empty.uniform" if np.allclose(row, mean, atol=1e-5) else "empty.other"
    )
    assert sign in entry.blemishes or np.allclose(row, 0)


@pytest.mark.parametrize("style", [keras_like, seq2seq, annotated])
def test_heads_are_those_of_the_truth(style: Any) -> None:
    """The attention layers inside the models, with their projections undone by the identity."""
    B, T, width, heads = 2, 5, 32, 4
    x = np.random.default_rng(2).normal(size=(B, T, width))
    split = x.reshape(B, T, heads, -1).transpose(0, 2, 1, 3)
    allowed = np.broadcast_to(np.tril(np.ones((T, T), bool)), (B, 1, T, T))
    right = truth(split, split, split, allowed).transpose(0, 2, 1, 3).reshape(B, T, width)
    np.testing.assert_allclose(plain_layer(style, mx.array(x), mx.array(allowed)), right, atol=1e-5)


def plain_layer(style: Any, x: mx.array, allowed: mx.array) -> mx.array:
    identity = mx.eye(32)
    if style is keras_like:
        layer = style.MultiHeadAttention()
        layer.query = layer.key = layer.value = identity.reshape(32, 4, 8)
        layer.output = identity.reshape(4, 8, 32)
        return layer(x, x, allowed[:, 0].astype(mx.float32))
    layer = style.MultiHeadAttention() if style is seq2seq else style.MultiHeadedAttention(style.attention)
    layer.apply(lambda weight: identity if weight.ndim == 2 else mx.zeros_like(weight))
    return layer(x, x, x, allowed) if style is seq2seq else layer.eval()(x, layer.memory(x), allowed[:, 0])


# Decoders


@of("decoder", right=True)
def test_right_decoders_say_the_same_alone_padded_packed_and_cached(entry: Wild) -> None:
    alone, *others = decoded(entry)
    for other in others:
        assert apart(alone, other) < 1e-5


@of("decoder", right=True)
def test_right_decoders_see_the_past_and_no_more(entry: Wild) -> None:
    f, tokens = entry.make(SEED), ids(2, 8)
    logits = told(f, tokens)
    for length in range(1, 8):
        assert apart(logits[:, :length], told(f, tokens[:, :length])) < 1e-5
    changed = tokens.copy()
    changed[:, 5] = 23 - changed[:, 5]
    assert apart(logits[:, 7], told(f, changed)[:, 7]) > 1e-3


@of("decoder", right=False)
def test_wrong_decoders_differ_from_their_siblings(entry: Wild) -> None:
    siblings = zip(decoded(RIGHT[entry.family]), decoded(entry), strict=False)
    assert max(apart(right, wrong) for right, wrong in siblings) > 1e-3


def test_nano_is_pico_with_the_same_weights() -> None:
    """Two authors, one model: MLX in float32 against NumPy in float64."""
    f, tokens = nano.GPT(SEED), ids(1, 12)

    def read(layer: Any) -> dict[str, Array]:
        weight, bias = np.array(layer.weight, dtype=np.float64), np.array(layer.bias, dtype=np.float64)
        return {"g": weight, "b": bias} if weight.ndim == 1 else {"w": weight.T, "b": bias}

    blocks = [
        {
            "attn": {"c_attn": read(block.attn.c_attn), "c_proj": read(block.attn.c_proj)},
            **{name: read(block[name]) for name in ("ln_1", "ln_2", "c_fc", "c_proj")},
        }
        for block in f.blocks
    ]
    tables = {name: np.array(f[name].weight, dtype=np.float64) for name in ("wte", "wpe")}
    parameters = {**tables, "blocks": blocks, "ln_f": read(f.ln_f)}
    right = pico.gpt2(tokens[0], parameters, pico.causal(tokens[0]), np.arange(12), n_head=nano.HEADS)
    assert apart(right, told(f, tokens)[0]) < 1e-5


@pytest.mark.parametrize(
    ("a", "b", "length"),
    [
        ("llama", "llama_window", 4),
        ("llama", "llama_padded", 9),
        ("llama", "llama_packed", 9),
        ("pico", "pico_padded", 9),
        ("pico", "pico_packed", 9),
    ],
)
def test_right_families_agree_where_they_should(a: str, b: str, length: int) -> None:
    tokens = ids(2, length)
    assert apart(told(RIGHT[a].make(SEED), tokens), told(RIGHT[b].make(SEED), tokens)) < 1e-5


# Translators


@of("translator", right=True)
def test_right_translators_say_the_same_padded_packed_in_two_parts_and_step_by_step(entry: Wild) -> None:
    alone, *others = translated(entry)
    for other in others:
        assert apart(alone, other) < 1e-5


@of("translator", right=True)
def test_right_translators_see_the_source_and_the_past(entry: Wild) -> None:
    f, source, target = entry.make(SEED), ids(2, 5), ids(2, 6, seed=1)
    logits = told(f, source, target)
    for length in range(1, 6):
        assert apart(logits[:, :length], told(f, source, target[:, :length])) < 1e-5
    for place in range(5):
        changed = source.copy()
        changed[:, place] = 23 - changed[:, place]
        assert np.abs(told(f, changed, target) - logits).max(axis=(0, 2)).min() > 1e-4


@of("translator", right=False)
def test_wrong_translators_differ_from_their_siblings(entry: Wild) -> None:
    siblings = zip(translated(RIGHT[entry.family]), translated(entry), strict=False)
    assert max(apart(right, wrong) for right, wrong in siblings) > 1e-3


# Batches


def triples(entry: Wild) -> tuple[list[list[int]], list[list[int]]]:
    """The inputs of each row, and its labels that count."""
    inputs, labels, weights = (None if x is None else np.array(x) for x in entry.make(SEED)([[5, 6, 7], [8]]))
    counted = labels != entry.options["ignore"] if weights is None else weights > 0
    return inputs.tolist(), [row[seen].tolist() for row, seen in zip(labels, counted, strict=True)]


@of("batches", right=True)
def test_right_batches_are_those_written_out(entry: Wild) -> None:
    inputs, labels = triples(entry)
    assert labels == EXPECTED["labels"]
    assert [row[: len(right)] for row, right in zip(inputs, EXPECTED["inputs"], strict=True)] == EXPECTED["inputs"]


@of("batches", right=False)
def test_wrong_batches_are_not(entry: Wild) -> None:
    assert triples(entry)[1] != EXPECTED["labels"]


# The collection


def test_names_are_unique_and_every_mistake_occurs() -> None:
    assert len({entry.name for entry in WILD}) == len(WILD)
    assert {entry.mistake for entry in WILD} - {None} == {mistake.number for mistake in MISTAKES}
    assert {entry.family for entry in WILD} == set(RIGHT)
    assert all(entry.mistake is None for entry in RIGHT.values())
