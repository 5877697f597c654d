"""PyTorch's modules as they are wrapped: what is called right is right, and each wrong one differs from its sibling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.third_party.torch_modules import TORCH
from tests.wild import Wild
from tests.wild.observed import SEED, Array, apart, decoded, ids, told, translated, truth

RIGHT = {entry.family: entry for entry in TORCH if entry.name.endswith(".right")}
GRADIENTS = pytest.mark.parametrize("gradients", [True, False], ids=["with gradients", "without"])


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Threads that wait for each other make models as small as these slow on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def of(kind: str, right: bool) -> Any:
    found = [entry for entry in TORCH if entry.kind == kind and (entry.mistake is None) == right]
    return pytest.mark.parametrize("entry", found, ids=lambda entry: entry.name)


def attended(entry: Wild) -> tuple[Array, Array]:
    """The truth, and what it gives, for causal queries over padded keys with strong scores."""
    rng = np.random.default_rng(1)
    groups = 2 if entry.family == "torch_sdpa" else 4
    q, k, v = (3 * rng.normal(size=(2, n, 6, 8)).astype(np.float32) for n in (4, groups, groups))
    allowed = np.tril(np.ones((6, 6), bool)) & (np.arange(6) < np.array([6, 4])[:, None])[:, None, None]
    mask = ~allowed if entry.options.get("mask") == "blocked" else allowed
    return truth(q, k, v, allowed), told(entry.make(SEED), q, k, v, mask, array=torch.tensor)


@of("attention", right=True)
def test_right_attention_is_the_truth(entry: Wild) -> None:
    right, out = attended(entry)
    np.testing.assert_allclose(out, right, atol=2e-5)


@of("attention", right=False)
def test_wrong_attention_is_not_the_truth(entry: Wild) -> None:
    assert apart(*attended(entry)) > 1e-3


@GRADIENTS
@of("decoder", right=True)
def test_right_decoders_say_the_same_alone_padded_and_cached(entry: Wild, gradients: bool) -> None:
    with torch.set_grad_enabled(gradients):
        alone, *others = decoded(entry, torch.tensor)
    for other in others:
        assert apart(alone, other) < 1e-5


@GRADIENTS
@of("decoder", right=True)
def test_right_decoders_do_not_see_the_future(entry: Wild, gradients: bool) -> None:
    f, tokens = entry.make(SEED), ids(2, 8)
    with torch.set_grad_enabled(gradients):
        logits = told(f, tokens, array=torch.tensor)
        for length in range(1, 8):
            assert apart(logits[:, :length], told(f, tokens[:, :length], array=torch.tensor)) < 1e-5


@of("decoder", right=False)
def test_wrong_decoders_differ_from_their_siblings(entry: Wild) -> None:
    with torch.no_grad():
        siblings = zip(decoded(RIGHT[entry.family], torch.tensor), decoded(entry, torch.tensor), strict=False)
        assert max(apart(right, wrong) for right, wrong in siblings) > 1e-3


@GRADIENTS
@of("translator", right=True)
def test_right_translators_say_the_same_padded_in_two_parts_and_step_by_step(entry: Wild, gradients: bool) -> None:
    with torch.set_grad_enabled(gradients):
        alone, *others = translated(entry, torch.tensor)
    for other in others:
        assert apart(alone, other) < 1e-5


@of("translator", right=False)
def test_wrong_translators_differ_from_their_siblings(entry: Wild) -> None:
    with torch.no_grad():
        if entry.name.endswith(".batch_first_forgotten"):
            f, right, tokens = entry.make(SEED), RIGHT[entry.family].make(SEED), ids(3, 6)
            siblings = [(told(right, tokens, tokens, array=torch.tensor), told(f, tokens, tokens, array=torch.tensor))]
        else:
            siblings = zip(translated(RIGHT[entry.family], torch.tensor), translated(entry, torch.tensor), strict=False)
        assert max(apart(right, wrong) for right, wrong in siblings) > 1e-3


def test_batch_first_forgotten_is_refused_for_other_lengths() -> None:
    f = next(entry for entry in TORCH if entry.name == "torch_translator.batch_first_forgotten").make(SEED)
    with pytest.raises(RuntimeError, match="must be equal"):
        told(f, ids(2, 5), ids(2, 6), array=torch.tensor)


def test_padding_that_sees_nothing_is_right_only_with_gradients() -> None:
    entry = next(entry for entry in TORCH if entry.name == "torch_padded.padding_sees_nothing")
    alone, padded = decoded(entry, torch.tensor)
    assert apart(alone, padded) < 1e-5
    with torch.no_grad():
        _, padded = decoded(entry, torch.tensor)
    assert np.isnan(padded).all()
