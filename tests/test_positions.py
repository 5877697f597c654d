"""Each position scheme against its formula, computed otherwise."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.masks import Documents
from mlxdecoder.positions import Positions, alibi_slopes, make_positions, relative_buckets, rotary_frequencies
from mlxdecoder.recipe import Layout
from tests import reference
from tests.builders import normal, numbers, small


def scheme(kind: str, causal: bool = True, **changes: Any) -> Positions:
    settings = {"d_model": 32, "n_heads": 4, "max_length": 16, "positions": kind}
    return make_positions(ModelConfig(**{**settings, **changes}), causal)


def rotated(x: np.ndarray, positions: np.ndarray, **changes: Any) -> np.ndarray:
    rotation = scheme("rotary", **changes).rotation(positions)
    assert rotation is not None
    return numbers(rotation(mx.array(x)))


class TestRotary:
    @settings(max_examples=30)
    @given(st.integers(0, 4000), st.sampled_from([2, 4, 8, 64]), st.sampled_from([100.0, 10_000.0, 1e6]))
    def test_is_a_complex_product(self, start: int, width: int, base: float) -> None:
        x = normal(2, 3, 5, width, seed=start)
        found = rotated(x, np.arange(start, start + 5), head_width=width, rotary_base=base)
        for b, h in np.ndindex(2, 3):
            wanted = reference.turn(x[b, h], np.arange(start, start + 5), base)
            np.testing.assert_allclose(found[b, h], wanted, atol=1e-5)

    def test_rows_may_stand_at_different_places(self) -> None:
        x, positions = normal(2, 4, 3, 8), np.array([[0, 1, 2], [7, 8, 9]])
        found = rotated(x, positions)
        for b, h in np.ndindex(2, 4):
            np.testing.assert_allclose(found[b, h], reference.turn(x[b, h], positions[b]), atol=1e-5)

    @settings(max_examples=30)
    @given(st.integers(0, 500), st.integers(0, 500), st.integers(0, 500))
    def test_scores_depend_on_distances_only(self, query: int, key: int, shift: int) -> None:
        x = normal(2, 1, 1, 8, seed=query)

        def score(shift: int) -> float:
            turned = [rotated(x[i : i + 1], np.array([at + shift])) for i, at in enumerate((query, key))]
            return float((turned[0] * turned[1]).sum())

        assert abs(score(0) - score(shift)) < 1e-3

    def test_halves_keep_their_type(self) -> None:
        rotation = scheme("rotary").rotation(np.arange(3))
        assert rotation is not None
        assert rotation(mx.zeros((1, 4, 3, 8), mx.float16)).dtype == mx.float16

    def test_linear_scaling_squeezes_positions(self) -> None:
        x, positions = normal(1, 1, 6, 8), np.arange(6)
        found = rotated(x, positions, rotary_scaling="linear", rotary_factor=4.0)
        np.testing.assert_allclose(found[0, 0], reference.turn(x[0, 0], positions / 4), atol=1e-5)

    def test_ntk_keeps_the_fastest_wave_and_squeezes_the_slowest(self) -> None:
        plain = rotary_frequencies(ModelConfig(positions="rotary", d_model=64, n_heads=2))
        scaled = rotary_frequencies(
            ModelConfig(positions="rotary", d_model=64, n_heads=2, rotary_scaling="ntk", rotary_factor=8.0)
        )
        assert scaled[0] == plain[0]
        np.testing.assert_allclose(scaled[-1], plain[-1] / 8)
        assert (np.diff(plain / scaled) > 0).all()

    def test_yarn_follows_its_paper(self) -> None:
        """Peng et al. 2023 with alpha 1 and beta 32, the attention temperature of equation 22; as in the authors' code
        the share falls in a line from the last pair of features with 32 turns to the first with less than one."""
        length, factor, width = 2048, 16.0, 64
        settings = {"d_model": 64, "n_heads": 1, "max_length": length, "rotary_factor": factor}
        found = rotary_frequencies(ModelConfig(positions="rotary", rotary_scaling="yarn", **settings))
        turns = [length * 10_000 ** (-2 * i / width) / (2 * np.pi) for i in range(width // 2)]
        last_fast = max(i for i in range(width // 2) if turns[i] >= 32)
        first_slow = min(i for i in range(width // 2) if turns[i] <= 1)
        for i in range(width // 2):
            rate = 10_000 ** (-2 * i / width)
            share = min(max((first_slow - i) / (first_slow - last_fast), 0), 1)
            assert found[i] == pytest.approx((1 - share) * rate / factor + share * rate)
        x = normal(1, 1, 1, width)
        turned = rotated(x, np.array([3]), rotary_scaling="yarn", **settings)
        assert np.linalg.norm(turned) == pytest.approx((0.1 * np.log(factor) + 1) * np.linalg.norm(x), rel=1e-5)

    def test_yarn_follows_its_code_where_the_slow_turns_are_more_than_there_are(self) -> None:
        """The line then rises backwards, https://github.com/jquesnelle/yarn."""
        width, base, length, slow, fast, factor = 8, 100.0, 16, 20.0, 40.0, 4.0
        ends = [width * np.log(length / (turns * 2 * np.pi)) / (2 * np.log(base)) for turns in (fast, slow)]
        low, high = max(np.floor(ends[0]), 0), min(np.ceil(ends[1]), width - 1)
        assert high < low
        pairs = np.arange(width // 2, dtype=np.float64)
        squeezed = np.clip((pairs - low) / (high - low), 0, 1)
        rates = base ** (-2 * pairs / width)
        yarn: dict[str, Any] = {"rotary_scaling": "yarn", "rotary_slow": slow, "rotary_fast": fast}
        config = ModelConfig(
            positions="rotary", d_model=32, n_heads=4, max_length=length, rotary_base=base, rotary_factor=factor, **yarn
        )
        wanted = rates / factor * squeezed + rates * (1 - squeezed)
        np.testing.assert_allclose(rotary_frequencies(config), wanted, rtol=1e-12)


class TestSinusoidal:
    @settings(max_examples=20)
    @given(st.lists(st.integers(0, 3000), min_size=1, max_size=6), st.sampled_from([2, 8, 32]))
    def test_equals_the_paper_beyond_the_table_too(self, positions: list[int], width: int) -> None:
        x = normal(1, len(positions), width)
        added = numbers(scheme("sinusoidal", d_model=width, n_heads=1).embed(mx.array(x), np.array(positions))) - x
        wanted = [[reference.sinusoid(position, i, width) for i in range(width)] for position in positions]
        np.testing.assert_allclose(added[0], wanted, atol=2e-6)

    def test_keeps_the_type_of_the_embeddings(self) -> None:
        assert scheme("sinusoidal").embed(mx.zeros((1, 2, 32), mx.float16), np.arange(2)).dtype == mx.float16


class TestLearned:
    def test_adds_the_vector_of_each_position(self) -> None:
        learned = scheme("learned")
        table, positions = numbers(learned.parameters()["table"]), np.array([[0, 1], [15, 3]])
        np.testing.assert_array_equal(numbers(learned.embed(mx.zeros((2, 2, 32)), positions)), table[positions])

    def test_beyond_the_table_is_an_error_that_says_so(self) -> None:
        with pytest.raises(UserError, match=r"17 positions.*max_length = 16"):
            scheme("learned").embed(mx.zeros((1, 1, 32)), np.array([16]))


class TestRelative:
    @pytest.mark.parametrize("causal", [True, False])
    def test_buckets_equal_the_definition_in_whole_numbers(self, causal: bool) -> None:
        distances = np.arange(-600, 601)
        wanted = [reference.t5_bucket(distance, bidirectional=not causal) for distance in distances.tolist()]
        np.testing.assert_array_equal(relative_buckets(distances, causal, 32, 128), wanted)

    @pytest.mark.parametrize("causal", [True, False])
    def test_bias_is_a_number_for_each_head_and_bucket(self, causal: bool) -> None:
        positions = scheme("relative", causal)
        table = numbers(positions.parameters()["table"])
        queries, keys = np.array([3, 40, 41]), np.array([0, 1, 7, 300])
        found = positions.bias(queries, keys)
        assert found is not None
        assert found.shape == (1, 4, 3, 4)
        for h, t, s in np.ndindex(4, 3, 4):
            bucket = reference.t5_bucket(int(keys[s] - queries[t]), bidirectional=not causal)
            assert numbers(found)[0, h, t, s] == table[bucket, h]


class TestALiBi:
    def test_slopes_for_eight_heads_as_in_the_paper(self) -> None:
        np.testing.assert_allclose(alibi_slopes(8), [1 / 2**i for i in range(1, 9)])

    @pytest.mark.parametrize("n_heads", [1, 2, 3, 4, 6, 12, 16, 20])
    def test_slopes_for_any_number(self, n_heads: int) -> None:
        """The authors' recipe: a power of two n gives 2^(-8i/n); for others the rest is every second one for 2n."""
        power = max(2**i for i in range(8) if 2**i <= n_heads)
        wanted = [2 ** (-8 * i / power) for i in range(1, power + 1)]
        wanted += [2 ** (-8 * i / (2 * power)) for i in range(1, 2 * power + 1, 2)][: n_heads - power]
        np.testing.assert_allclose(alibi_slopes(n_heads), wanted)

    def test_bias_falls_with_the_distance(self) -> None:
        found = scheme("alibi").bias(np.array([2, 5]), np.arange(6))
        assert found is not None
        for h, t, s in np.ndindex(4, 2, 6):
            assert numbers(found)[0, h, t, s] == pytest.approx(-(2.0 ** (-2 * (h + 1))) * abs((2, 5)[t] - s))


@pytest.mark.parametrize("kind", ["none", "rotary", "relative", "alibi"])
def test_relative_schemes_do_not_care_where_a_sentence_begins(kind: str) -> None:
    """The same tokens behind others, which a packed row hides, give the same logits as alone."""
    model = small(positions=kind)
    alone = numbers(model([[5, 6, 7]]))
    packed = numbers(model([[9, 8, 9, 8, 5, 6, 7]], layout=Layout(target=Documents(((0,) * 4 + (1,) * 3,)))))
    np.testing.assert_allclose(packed[:, 4:], alone, atol=2e-6)


@pytest.mark.parametrize("kind", ["learned", "sinusoidal", "rotary", "relative", "alibi"])
def test_order_matters_with_positions(kind: str) -> None:
    found = numbers(small(positions=kind)([[5, 6, 7], [6, 5, 7]]))[:, -1]
    assert np.abs(found[0] - found[1]).max() > 1e-4


def test_order_is_unknown_without_positions_to_who_sees_everything() -> None:
    found = numbers(small("encoder", positions="none")([[5, 6, 7], [6, 5, 7]]))[:, -1]
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


@pytest.mark.parametrize("kind", ["learned", "relative"])
def test_learned_schemes_are_trained(kind: str) -> None:
    assert scheme(kind).trainable_parameters()


@pytest.mark.parametrize("kind", ["none", "sinusoidal", "rotary", "alibi"])
def test_computed_schemes_have_no_parameters(kind: str) -> None:
    assert not scheme(kind).parameters()
