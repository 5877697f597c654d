"""What a step costs, with a cache and without."""

from __future__ import annotations

import pytest

from mlxdecoder import load
from mlxdecoder.errors import UserError
from tests.app.worker.asking import SENTENCE, ask, engine_with, generate, untrained


def test_the_cost_of_each_step_is_told_with_a_cache_and_without() -> None:
    engine = engine_with(load())
    (told,) = ask(engine, "cost", sentence=SENTENCE)
    tokens = [message for message in generate(engine) if message.kind == "token"]
    assert [row[0] for row in told["rows"]] == list(range(len(tokens)))
    assert all(milliseconds > 0 for row in told["rows"] for milliseconds in row[1:])
    assert told["read"] == [message["cache"]["read"] for message in tokens]
    source = len(tokens[0].arrays["cross.intended"][0])
    assert told["recomputed"] == [0, *(step + source for step in range(1, len(tokens)))]


def test_a_language_model_makes_the_keys_of_its_prompt_again() -> None:
    checkpoint = untrained("language_model", seed=4)
    (told,) = ask(engine_with(checkpoint), "cost", sentence="A cat")
    prompt = 1 + len(checkpoint.tokenizer.encode("A cat"))
    assert told["recomputed"] == [0, *(prompt + step for step in range(len(told["rows"]) - 1))]


def test_an_encoder_has_no_cost_of_a_cache() -> None:
    with pytest.raises(UserError, match="encoder"):
        ask(engine_with(untrained("encoder")), "cost", sentence=SENTENCE)


def test_a_stopped_measurement_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = iter(range(1000))
    monkeypatch.setattr("mlxdecoder.app.worker.link.Link.stopped", lambda self: next(asked) >= 10)
    assert ask(engine_with(load()), "cost", sentence=SENTENCE) == []
    assert next(asked) < 30  # what was left of it was not measured
