"""Models made ready for generation: the same function, whatever their shape, recipe and layout of weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlx.utils import tree_flatten, tree_map

import mlxdecoder.kernels as kernels
from mlxdecoder import blas, prepared
from mlxdecoder.beam import beam_search
from mlxdecoder.decoding import Decoding, generating
from mlxdecoder.generate import generate
from mlxdecoder.layers import Linear
from mlxdecoder.mistakes import CATALOGUE, switch_on
from mlxdecoder.prepared import Panels, prepare
from mlxdecoder.quantized import Quantization, quantize
from mlxdecoder.recipe import RIGHT, Recipe
from mlxdecoder.trace import STAGES, Trace
from tests.builders import POSITIONS, difference, ids, numbers, rows_of, small

DECODERS = ("language_model", "translator")
SHAPES = st.fixed_dictionaries(
    {
        "positions": st.sampled_from(POSITIONS),
        "norm": st.sampled_from(["pre", "post"]),
        "norm_kind": st.sampled_from(["layer", "rms"]),
        "activation": st.sampled_from(["relu", "gelu", "swiglu"]),
        "n_kv_heads": st.sampled_from([1, 2, 4]),
        "window": st.sampled_from([None, 3]),
        "bias": st.booleans(),
        "query_key_norm": st.booleans(),
        "embedding_norm": st.booleans(),
        "head_bias": st.booleans(),
        "n_experts": st.sampled_from([0, 0, 3]),
        "tied": st.booleans(),
        "scaled_embeddings": st.booleans(),
    }
).map(lambda shape: shape if shape["activation"] == "swiglu" else {**shape, "n_experts": 0})


def trained(architecture: str, seed: int = 0, recipe: Recipe = RIGHT, **changes: Any) -> Any:
    """A model in which no gain is 1 and no bias 0, as after training."""
    model = small(architecture, seed, recipe, **changes)
    model.update(tree_map(lambda weight: weight + mx.random.normal(weight.shape, scale=0.3), model.parameters()))
    mx.eval(model.parameters())
    return model


@contextmanager
def panels(limit: int) -> Iterator[None]:
    """Weights of more than `limit` multiplications are cut, whatever multiplies."""
    with (
        patch.object(prepared, "SMALL", limit),
        patch.object(prepared, "WIDTHS", (5,)),
        patch.object(blas, "reads_small_weights_in_place", lambda: True),
    ):
        yield


def logits_of(model: Any, inputs: Sequence[Sequence[int]], fed: np.ndarray) -> np.ndarray:
    """Of a padded batch: the logits at each step, of tokens that are given [steps, rows]."""
    mx.random.seed(0)
    with generating(model):
        decoding = Decoding(model, inputs)
        steps = [decoding.feed(decoding.first), *(decoding.feed(mx.array(tokens)[:, None]) for tokens in fed)]
        return np.stack([numbers(step) for step in steps])


@settings(max_examples=40)
@given(st.sampled_from(DECODERS), SHAPES, st.integers(0, 9), st.sampled_from([100, 200, 10**6]))
def test_what_is_prepared_is_the_same_function(architecture: str, shape: dict[str, Any], seed: int, limit: int) -> None:
    model, inputs, fed = trained(architecture, seed, **shape), rows_of([5, 2, 4], seed), ids(4, 3, seed=seed)
    with panels(limit):
        ready = prepare(model, rows=2)
    assert difference(logits_of(ready, inputs, fed), logits_of(model, inputs, fed)) < 1e-5
    assert [one.tokens for one in generate(ready, inputs, max_tokens=6)] == [
        one.tokens for one in generate(model, inputs, max_tokens=6)
    ]


@pytest.mark.parametrize("mistake", CATALOGUE, ids=lambda mistake: mistake.id)
def test_no_mistake_is_mended(mistake: Any) -> None:
    model = trained("translator", recipe=switch_on([mistake.id]), dropout=0.3)
    inputs, fed = rows_of([5, 2, 4]), ids(4, 3)
    wanted = logits_of(model, inputs, fed)
    np.testing.assert_allclose(logits_of(prepare(model), inputs, fed), wanted, rtol=0, atol=1e-5 * np.nanmax(wanted))


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16])
@pytest.mark.parametrize("architecture", DECODERS)
def test_half_types_differ_by_their_rounding(architecture: str, dtype: mx.Dtype) -> None:
    model, inputs, fed = trained(architecture), rows_of([5, 2, 4]), ids(4, 3)
    wanted = logits_of(model, inputs, fed)
    model.set_dtype(dtype)
    ready = prepare(model)
    assert {weight.dtype for _, weight in tree_flatten(ready.parameters())} == {dtype}
    assert difference(logits_of(ready, inputs, fed), wanted) < (0.02 if dtype == mx.float16 else 0.1)


@pytest.mark.parametrize("architecture", DECODERS)
def test_the_model_and_the_random_state_stay_as_they_are(architecture: str) -> None:
    model = trained(architecture)
    model.train()
    before, state = dict(tree_flatten(model.parameters())), [np.array(part) for part in mx.random.state]
    ready = prepare(model)
    generate(ready, rows_of([3]), max_tokens=2)
    assert all(weight is before[name] for name, weight in tree_flatten(model.parameters()))
    assert (model.recipe, model.training) == (RIGHT, True)
    np.testing.assert_array_equal(state, [np.array(part) for part in mx.random.state])


def test_caches_can_be_handed_over() -> None:
    """Only queries are scaled, so keys and values are those of the model."""
    model, (prompt,) = trained("language_model"), rows_of([6])
    cache = model.make_cache()
    model([prompt[:4]], cache)
    found = prepare(model)([prompt[4:]], cache)
    np.testing.assert_allclose(numbers(found)[0], numbers(model([prompt]))[0, 4:], atol=1e-4)


@pytest.mark.parametrize("architecture", DECODERS)
def test_watching_changes_no_bit_and_tells_the_same_weights(architecture: str) -> None:
    model, inputs = trained(architecture), rows_of([4, 2, 1])
    ready, trace, plain = prepare(model), Trace(STAGES), Trace()
    for run in (generate, beam_search):
        assert run(ready, inputs, max_tokens=5) == run(ready, inputs, max_tokens=5, watch=Trace(STAGES))
    generate(ready, inputs, max_tokens=5, watch=trace)
    generate(model, inputs, max_tokens=5, watch=plain)
    np.testing.assert_allclose(trace.stage("decoder"), plain.stage("decoder"), atol=1e-5)


def test_kernels_serve_what_is_prepared() -> None:
    model, inputs, fed = trained("translator"), rows_of([5, 2]), ids(2, 2)
    wanted = logits_of(model, inputs, fed)
    with kernels.using("emulate"):
        assert difference(logits_of(prepare(model), inputs, fed), wanted) < 1e-4


@given(st.integers(1, 9), st.integers(1, 20), st.integers(1, 7), st.booleans())
def test_panels_multiply_like_the_whole(inputs: int, outputs: int, width: int, bias: bool) -> None:
    mx.random.seed(inputs)
    linear = Linear.of(mx.random.normal((inputs, outputs)), mx.random.normal((outputs,)) if bias else None)
    x = mx.random.normal((2, 3, inputs))
    np.testing.assert_allclose(numbers(Panels(linear, width)(x)), numbers(linear(x)), atol=1e-5)


def test_a_quantised_model_is_left_alone() -> None:
    model = trained("translator", d_model=32)
    quantize(model, Quantization(8, 32))
    assert prepare(model) is model


def test_only_weights_that_would_be_copied_are_cut_and_only_where_panels_would_not() -> None:
    model = trained("translator")  # of width 16, with 24 units, for 24 ids
    with panels(2 * 16 * 20):
        few, many = prepare(model, rows=2), prepare(model, rows=20)
    assert isinstance(few.head, Panels)
    assert isinstance(few.decoder.blocks[0].mlp.inward, Panels)
    assert isinstance(few.decoder.blocks[0].attention.query, Linear)
    assert isinstance(many.head, Linear)
