"""What a configuration says of generation: tokens that are never said, several end marks, an end that is forced."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder.beam import beam_search
from mlxdecoder.config import ModelConfig
from mlxdecoder.generate import generate
from mlxdecoder.sampling import keep_rules
from tests.builders import VOCABULARY, lively, normal, rows_of

PROMPTS = rows_of([3, 5, 4])


def ruled(**rules: Any) -> Any:
    """A model whose rules may be changed while its weights stay."""
    model = lively(max_length=128)
    model.config = replace(model.config, **rules)
    return model


def said(model: Any, how: str) -> list[list[int]]:
    if how == "greedy":
        return [one.tokens for one in generate(model, PROMPTS, max_tokens=12)]
    return [best[0].tokens for best in beam_search(model, PROMPTS, beam=3, max_tokens=12)]


both = pytest.mark.parametrize("how", ["greedy", "beam"])


@both
def test_banned_tokens_are_never_said(how: str) -> None:
    for _ in range(3):  # what takes the place of the first ones is banned too
        banned = sorted({token for row in said(ruled(), how) for token in row})[:5]
        rows = said(ruled(banned_ids=tuple(banned)), how)
        assert not {token for row in rows for token in row} & set(banned)


@both
def test_every_end_mark_ends(how: str) -> None:
    free = said(ruled(banned_ids=(3,)), how)
    marks = tuple({row[4] for row in free})
    for row in said(ruled(banned_ids=(3,), more_end_ids=marks), how):
        assert len(row) <= 12
        assert not set(row) & set(marks)


def test_the_first_of_several_end_marks_ends() -> None:
    free = said(ruled(banned_ids=(3,)), "greedy")
    marks = {row[4] for row in free}
    made = generate(ruled(banned_ids=(3,), more_end_ids=tuple(marks)), PROMPTS, max_tokens=12)
    for one, row in zip(made, free, strict=True):
        until = next(i for i, token in enumerate(row) if token in marks)
        assert (one.tokens, one.finish_reason) == (row[:until], "stop")


@both
def test_a_forced_end_takes_the_last_place(how: str) -> None:
    free, forced = said(ruled(), how), said(ruled(forced_end=True), how)
    assert any(len(row) == 12 for row in free)
    assert all(len(row) <= 11 for row in forced)
    if how == "greedy":
        assert forced == [row[:11] for row in free]


def test_a_forced_end_is_certain() -> None:
    long = generate(ruled(), PROMPTS, max_tokens=11)
    forced = generate(ruled(forced_end=True), PROMPTS, max_tokens=12)
    for one, other in zip(long, forced, strict=True):
        assert other.finish_reason == "stop"
        assert other.logprob == pytest.approx(one.logprob, abs=1e-4)


def test_rules_touch_nothing_else() -> None:
    config = ModelConfig(target_vocab=VOCABULARY, banned_ids=(5, 7), forced_end=True, end_id=3)
    logprobs = normal(3, VOCABULARY)
    found = np.array(keep_rules(mx.array(logprobs), config, [False, True, False]))
    for row in (0, 2):
        kept = np.delete(np.arange(VOCABULARY), [5, 7])
        np.testing.assert_array_equal(found[row, kept], logprobs[row, kept])
        assert (found[row, [5, 7]] == -np.inf).all()
    assert found[1, 3] == 0
    assert (np.delete(found[1], 3) == -np.inf).all()
    free = replace(config, banned_ids=(), forced_end=False)
    np.testing.assert_array_equal(np.array(keep_rules(mx.array(logprobs), free, [True] * 3)), logprobs)
