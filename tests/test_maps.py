"""Attention weights as plain numbers: what is computed from them, and the files that hold them."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from mlxdecoder.cells import mask_outline, max_pool
from mlxdecoder.errors import UserError
from mlxdecoder.heads import Grouping
from mlxdecoder.maps import AttentionMap, save_numbers

MASKS = arrays(bool, array_shapes(min_dims=2, max_dims=2, max_side=6))
FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)

TABLES = arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=7), elements=FLOATS)


def attention(weights: object, intended: np.ndarray | None = None, kind: str = "decoder") -> AttentionMap:
    array = np.asarray(weights, dtype=np.float32)
    queries, keys = array.shape[2:]
    return AttentionMap(kind, array, intended, [f"q{t}" for t in range(queries)], [f"k{s}" for s in range(keys)])


def test_row_sums_and_mass_outside_by_hand() -> None:
    traced = attention([[[[0.5, 0.5, 0.0], [0.25, 0.25, 0.25]]]], np.array([[True, False, False], [True, True, False]]))
    np.testing.assert_allclose(traced.row_sums(), [[[1.0, 0.75]]])
    np.testing.assert_allclose(traced.mass_outside(), [[[0.5, 0.25]]])
    np.testing.assert_allclose(traced.row_sum_errors(), [[[0.0, 0.25]]])


def test_mass_of_both_signs_does_not_cancel() -> None:
    assert attention([[[[0.5, -0.5]]]], np.zeros((1, 2), bool)).mass_outside().item() == 1.0


def test_nothing_is_outside_an_unknown_mask() -> None:
    assert attention([[[[0.5, 0.5]]]]).mass_outside().item() == 0.0


def test_the_right_sum_of_a_fully_masked_row_is_zero() -> None:
    intended = np.array([[False, False], [True, True]])
    assert attention([[[[0, 0], [0.5, 0.5]]]], intended).row_sum_errors().max() == 0.0
    assert attention([[[[0.5, 0.5], [0, 0]]]], intended).row_sum_errors().min() == 1.0


@given(st.integers(1, 9))
def test_entropy_of_a_uniform_row_is_the_logarithm_of_its_length(n_keys: int) -> None:
    entropy = attention(np.full((1, 2, 3, n_keys), 1 / n_keys)).entropy()
    assert entropy.shape == (1, 2, 3)
    np.testing.assert_allclose(entropy, math.log(n_keys), atol=1e-6)


def test_entropy_counts_zeros_as_zero_and_keeps_nan() -> None:
    entropy = attention([[[[1, 0, 0], [0.5, 0.5, 0], [np.nan, 0, 0]]]]).entropy()[0, 0]
    np.testing.assert_allclose(entropy, [0, math.log(2), np.nan], atol=1e-7)


def test_selected_heads_keep_their_numbers_and_weights() -> None:
    traced = attention(np.arange(24).reshape(3, 4, 1, 2))
    chosen = traced.select([2, 0], [3, 1])
    assert (chosen.layers, chosen.heads) == ((2, 0), (3, 1))
    np.testing.assert_array_equal(chosen.weights[0, 1], traced.weights[2, 1])
    again = chosen.select(heads=[1])
    assert (again.layers, again.heads) == ((2, 0), (1,))
    np.testing.assert_array_equal(again.weights[1, 0], traced.weights[0, 1])


@pytest.mark.parametrize(
    ("layers", "heads", "message"),
    [
        ([3], None, "layer 3 does not exist; choose among 0 to 2"),
        (None, [0, -1], "head -1 does not exist; choose among 0 to 3"),
        ([], None, "layers is empty"),
    ],
)
def test_a_wrong_choice_names_what_exists(layers: list[int] | None, heads: list[int] | None, message: str) -> None:
    with pytest.raises(UserError, match=message):
        attention(np.zeros((3, 4, 1, 1))).select(layers, heads)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "self"}, "kind is 'self'; choose one of encoder, decoder, cross"),
        ({"weights": np.zeros((2, 2))}, r"shape \[2, 2\]; wanted \[L, H, T, S\]"),
        ({"weights": np.zeros((1, 1, 0, 2))}, "none 0"),
        ({"weights": "abc"}, "weights must be an array of numbers"),
        ({"intended": np.ones((3, 2), bool)}, r"intended is bool of shape \[3, 2\]; wanted bool of shape \[2, 3\]"),
        ({"intended": np.ones((2, 3))}, "intended is float64"),
        ({"queries": ["a"]}, "queries has 1 entries, but the weights have 2"),
        ({"keys": ["a"]}, "keys has 1 entries, but the weights have 3"),
        ({"layers": (0, 1)}, "layers has 2 entries, but the weights have 1"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, object], message: str) -> None:
    fitting: dict[str, object] = {
        "kind": "cross",
        "weights": np.zeros((1, 1, 2, 3)),
        "intended": None,
        "queries": ["a", "b"],
        "keys": ["c", "d", "e"],
    }
    with pytest.raises(UserError, match=message):
        AttentionMap(**fitting | change)  # type: ignore[arg-type]


@given(MASKS)
def test_the_outline_runs_exactly_between_allowed_and_forbidden_cells(allowed: np.ndarray) -> None:
    n_queries, n_keys = allowed.shape

    def is_allowed(t: int, s: int) -> bool:
        return 0 <= t < n_queries and 0 <= s < n_keys and bool(allowed[t, s])

    wanted = set()
    for t in range(n_queries + 1):
        for s in range(n_keys + 1):
            if is_allowed(t - 1, s) != is_allowed(t, s):
                wanted.add(((s - 0.5, t - 0.5), (s + 0.5, t - 0.5)))
            if is_allowed(t, s - 1) != is_allowed(t, s):
                wanted.add(((s - 0.5, t - 0.5), (s - 0.5, t + 0.5)))
    drawn = [edge for line in mask_outline(allowed) for edge in unit_edges(line)]
    assert len(drawn) == len(set(drawn))
    assert set(drawn) == wanted


def unit_edges(line: np.ndarray) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    start, end = line
    length = int(np.abs(end - start).sum())
    points = [tuple((start + (end - start) * n / length).tolist()) for n in range(length + 1)]
    return list(itertools.pairwise(points))


@given(TABLES, st.integers(1, 4), st.integers(1, 4))
def test_pooling_keeps_the_largest_of_each_block(values: np.ndarray, rows: int, columns: int) -> None:
    pooled = max_pool(values, rows, columns)
    for (t, s), value in np.ndenumerate(pooled):
        assert value == values[t * rows : (t + 1) * rows, s * columns : (s + 1) * columns].max()
    assert pooled.shape == (math.ceil(values.shape[0] / rows), math.ceil(values.shape[1] / columns))


def test_pooling_never_hides_a_nan() -> None:
    assert np.isnan(max_pool(np.array([[1.0, np.nan], [5.0, 2.0]]), 2, 2)).all()


@given(arrays(np.float32, (1, 2, 1, 3), elements=FLOATS))
def test_json_names_each_float32_exactly(weights: np.ndarray) -> None:
    read = json.loads(json.dumps(attention(weights).to_json()))
    np.testing.assert_array_equal(np.array(read["weights"], dtype=np.float32), weights)


def test_json_file_holds_the_map_and_null_for_what_is_not_finite(tmp_path: Path) -> None:
    tokens = ["你", "مرحبا"]
    traced = AttentionMap("cross", [[[[0.1, np.nan], [np.inf, 0.25]]]], np.eye(2, dtype=bool), tokens, ["$x_1$", ""])  # type: ignore[arg-type]
    save_numbers([traced], tmp_path / "maps.json")
    assert json.loads((tmp_path / "maps.json").read_text(encoding="utf-8")) == [
        {
            "kind": "cross",
            "layers": [0],
            "heads": [0],
            "queries": tokens,
            "keys": ["$x_1$", ""],
            "intended": [[True, False], [False, True]],
            "weights": [[[[0.1, None], [None, 0.25]]]],
        }
    ]


def test_numbers_say_which_key_and_value_head_each_head_uses(tmp_path: Path) -> None:
    grouped = replace(attention(np.ones((1, 4, 2, 2)) / 2), grouping=Grouping(4, 2)).select(heads=[3, 0])
    assert grouped.to_json()["key_value_heads"] == [1, 0]
    save_numbers([grouped, attention([[[[1.0]]]])], tmp_path / "maps.npz")
    with np.load(tmp_path / "maps.npz", allow_pickle=False) as read:
        assert read["map0_key_value_heads"].tolist() == [1, 0]
        assert "map1_key_value_heads" not in read


def test_npz_file_holds_every_map_without_pickle(tmp_path: Path) -> None:
    first = attention(np.random.default_rng(0).random((2, 3, 4, 5)), np.tri(4, 5, dtype=bool))
    second = attention([[[[np.nan]]]], kind="cross").select([0], [0])
    save_numbers([first, second], tmp_path / "maps.npz")
    with np.load(tmp_path / "maps.npz", allow_pickle=False) as read:
        np.testing.assert_array_equal(read["map0_weights"], first.weights)
        np.testing.assert_array_equal(read["map0_intended"], np.tri(4, 5, dtype=bool))
        assert read["map0_keys"].tolist() == ["k0", "k1", "k2", "k3", "k4"]
        assert read["map0_heads"].tolist() == [0, 1, 2]
        assert read["map1_kind"].item() == "cross"
        assert np.isnan(read["map1_weights"]).all()
        assert "map1_intended" not in read


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"'maps.csv': the name must end in .json or .npz"):
        save_numbers([], tmp_path / "maps.csv")
    assert list(tmp_path.iterdir()) == []
