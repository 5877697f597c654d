"""A mistaken recipe is as mistaken with kernels as without: no kernel computes the right thing in its place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import mlxdecoder
from mlxdecoder import kernels
from mlxdecoder.kernels import launch
from mlxdecoder.mistakes import CATALOGUE, MISTAKES, Mistake
from mlxdecoder.mistakes.effects import Effects, effects
from mlxdecoder.mistakes.view import View
from tests.builders import lively

SENTENCE, BESIDE = [5, 9, 12, 7, 20], [11, 8, 30]


@pytest.fixture(scope="module")
def model() -> object:
    """Heads of width eight that share keys, with dropout: all that some mistake needs."""
    return lively(
        "translator", d_model=32, n_layers=1, target_vocab=900, positions="learned", max_length=9, dropout=0.1
    )


def effects_of(mistake: Mistake, model: object) -> Effects:
    return effects(model, mlxdecoder.load().tokenizer, [mistake.id], SENTENCE, BESIDE)


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    names: list[str] = []
    monkeypatch.setattr(launch, "observers", [lambda name, kernel: names.append(name)])
    yield names
    assert names  # the right side at least is computed by kernels


def test_there_are_28_of_them() -> None:
    assert len(MISTAKES) == 28


@pytest.mark.parametrize("mistake", CATALOGUE, ids=lambda mistake: mistake.id)
def test_its_effect_is_the_same(where: str, launched: list[str], model: object, mistake: Mistake) -> None:
    with_kernels = effects_of(mistake, model)
    with kernels.using("off"):
        plain = effects_of(mistake, model)
    assert (with_kernels.correct, with_kernels.mistaken) == (plain.correct, plain.mistaken)
    for found, wanted in ((with_kernels.read, plain.read), (with_kernels.written, plain.written)):
        np.testing.assert_allclose(found.divergence, wanted.divergence, atol=1e-4, rtol=1e-3)
        same_maps(found, wanted)
    if not (mistake.trains_only or mistake.harmless):
        assert any(shows(view) for view in (with_kernels.read, with_kernels.written))


def same_maps(found: View, wanted: View) -> None:
    for sides in ((found.correct, wanted.correct), (found.mistaken, wanted.mistaken)):
        for kind in sides[1]:
            np.testing.assert_allclose(sides[0][kind].weights, sides[1][kind].weights, atol=1e-4)


def shows(view: View) -> bool:
    return bool(np.isnan(view.divergence).any() or view.divergence.max(initial=0) > 1e-3)
