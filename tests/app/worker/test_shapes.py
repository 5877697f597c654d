"""Shapes are those of the sentence at hand."""

from __future__ import annotations

from typing import Any

import pytest

from mlxdecoder import load, translate
from tests.app.worker.asking import SENTENCE, ask, engine_with, untrained


def test_shapes_have_the_numbers_of_the_sentence() -> None:
    toy = load()
    (told,) = ask(engine_with(toy), "shapes", sentence=SENTENCE)
    shapes = {name: (axes, shape) for name, axes, shape in told["rows"]}
    S = len(toy.tokenizer.encode(SENTENCE))
    T = 1 + len(toy.tokenizer.encode(translate(toy, [SENTENCE])[0]))
    assert shapes["encoder.1.self.weights"] == ("B H T S", [1, 4, S, S])
    assert shapes["decoder.0.cross.weights"] == ("B H T S", [1, 4, T, S])
    assert shapes["logits"] == ("B T V", [1, T, 900])


@pytest.mark.parametrize(
    ("architecture", "changes"),
    [
        ("language_model", {}),
        ("encoder", {}),
        ("encoder", {"pooling": "mean"}),
        ("encoder", {"pooling": "cls", "n_classes": 3}),
    ],
)
def test_shapes_of_other_models_have_a_letter_for_each_axis(architecture: str, changes: dict[str, Any]) -> None:
    (told,) = ask(engine_with(untrained(architecture, **changes)), "shapes", sentence=SENTENCE)
    assert all(len(axes.split()) == len(shape) for _, axes, shape in told["rows"])
