"""Positions past the length that a model was trained for: what goes on, what is refused, and what changes."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder.errors import UserError
from mlxdecoder.generate import generate
from mlxdecoder.prompt_cache import make_prompt_cache
from tests import reference
from tests.builders import difference, ids, lively, normal, numbers, small
from tests.test_positions import rotated

TRAINED = 16
SCALED = {"rotary_scaling": "dynamic", "max_length": TRAINED}
DYNAMIC = {**SCALED, "positions": "rotary", "rotary_factor": 4.0}


@pytest.mark.parametrize("kind", ["none", "sinusoidal", "rotary", "relative", "alibi"])
def test_schemes_without_a_table_go_on(kind: str) -> None:
    model = small(positions=kind, max_length=TRAINED)
    assert np.isfinite(numbers(model(ids(1, 4 * TRAINED)))).all()


def test_a_learned_table_ends_with_a_message_that_says_what_to_do() -> None:
    model = small(positions="learned", max_length=TRAINED)
    with pytest.raises(UserError, match=r"17 positions needed, but max_length = 16 were learned; shorten"):
        model(ids(1, TRAINED + 1))


class TestDynamic:
    @settings(max_examples=30)
    @given(st.integers(1, 5 * TRAINED), st.sampled_from([4, 8, 16]), st.sampled_from([1.0, 2.0, 4.0]))
    def test_base_grows_with_the_length(self, length: int, width: int, factor: float) -> None:
        """base (factor L / trained - (factor - 1))^(dh / (dh - 2)) past the trained length, as transformers has it."""
        x = normal(1, 1, length, width)
        found = rotated(x, np.arange(length), **SCALED, rotary_factor=factor, head_width=width)
        rise = max(factor * length / TRAINED - (factor - 1), 1) ** (width / (width - 2))
        wanted = reference.turn(x[0, 0], np.arange(length), 10_000 * rise)
        np.testing.assert_allclose(found[0, 0], wanted, atol=1e-5)

    def test_within_the_trained_length_a_cache_changes_nothing(self) -> None:
        model, tokens = small(**DYNAMIC), ids(2, TRAINED)
        cache = make_prompt_cache(model)
        found = mx.concatenate([model(tokens[:, i : i + 4], cache) for i in range(0, TRAINED, 4)], axis=1)
        assert difference(found, model(tokens)) < 1e-5

    def test_past_it_a_cache_is_something_else_than_a_whole_pass(self) -> None:
        """Not only the turned keys: what deeper layers keep came from scores under an earlier base."""
        model, tokens = lively(**DYNAMIC), ids(1, 2 * TRAINED)
        cache = make_prompt_cache(model)
        found = [model(tokens[:, i : i + 1], cache) for i in range(2 * TRAINED)]
        assert difference(found[-1], model(tokens)[:, -1:]) > 1e-4

    def test_without_a_cache_each_step_is_a_whole_pass(self) -> None:
        model, text = lively(**DYNAMIC), ids(1, TRAINED - 2)[0].tolist()
        found = generate(model, [text], max_tokens=8, cached=False)[0].tokens
        for token in found:
            assert token == int(mx.argmax(model([text])[0, -1]))
            text = [*text, token]
