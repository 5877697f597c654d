"""Who sees what: padding, windows, packed rows, and layers that differ."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder.errors import UserError
from mlxdecoder.ids import pad_right
from mlxdecoder.masks import Documents, Padding
from mlxdecoder.recipe import Layout
from tests.builders import POSITIONS, difference, ids, numbers, rows_of, small
from tests.models.builders import perturbed, run


def test_padding_of_the_source_does_not_reach_the_target() -> None:
    model, rows = small("translator"), rows_of([6, 2])
    layout = Layout(source=Padding.right([6, 2], 6))
    found = [numbers(model(pad_right(rows, pad), [[2, 5, 6]] * 2, layout))[1] for pad in (0, 9)]
    np.testing.assert_array_equal(found[0], found[1])


class TestWindow:
    def test_reaches_as_far_as_layers_times_window_allow(self) -> None:
        model, tokens = small(window=3, n_layers=2), ids(1, 9)
        before, after = (numbers(model(x)) for x in (tokens, perturbed(tokens, np.s_[:, 0])))
        moved = np.abs(before - after).max(axis=-1)[0] > 0
        np.testing.assert_array_equal(moved, [True] * 5 + [False] * 4)

    def test_of_an_encoder_looks_both_ways(self) -> None:
        model, tokens = small("encoder", window=2, n_layers=1), ids(1, 5)
        before, after = (numbers(model(x)) for x in (tokens, perturbed(tokens, np.s_[:, 2])))
        np.testing.assert_array_equal(np.abs(before - after).max(axis=-1)[0] > 0, [False, True, True, True, False])

    def test_does_not_narrow_cross_attention(self) -> None:
        model, source = small("translator", window=1), ids(1, 6)
        before, after = (numbers(model(x, [[2]])) for x in (source, perturbed(source, np.s_[:, 5])))
        assert np.abs(before - after).max() > 1e-5


def test_layers_without_rotary_positions_are_as_without_any() -> None:
    tokens = ids(1, 6)
    some, none, every, bare = (
        numbers(small(n_layers=2, **changes)(tokens))
        for changes in (
            {"positions": "rotary", "unrotated_layers": (1,)},
            {"positions": "rotary", "unrotated_layers": (0, 1)},
            {"positions": "rotary"},
            {"positions": "none"},
        )
    )
    np.testing.assert_array_equal(none, bare)
    assert min(np.abs(some - other).max() for other in (bare, every)) > 1e-3


@settings(max_examples=25)
@given(st.sampled_from(POSITIONS), st.lists(st.integers(1, 4), min_size=1, max_size=3), st.booleans())
def test_packed_documents_equal_the_documents_alone(kind: str, lengths: list[int], decoder: bool) -> None:
    model, rows = small("language_model" if decoder else "encoder", positions=kind), rows_of(lengths)
    packed = [[token for row in rows for token in row]]
    document = Documents((tuple(i for i, row in enumerate(rows) for _ in row),))
    found, first = run(model, packed, Layout(source=document, target=document)), 0
    for row in rows:
        assert difference(found[0, first : first + len(row)], run(model, [row])[0]) < 1e-5
        first += len(row)


SOURCES, TARGETS = rows_of([3, 2], seed=1), rows_of([2, 4], seed=2)
PACKED = Layout(source=Documents(((0, 0, 0, 1, 1),)), target=Documents(((0, 0, 1, 1, 1, 1),)))


@pytest.mark.parametrize("kind", POSITIONS)
def test_packed_translations_equal_the_translations_alone(kind: str) -> None:
    model = small("translator", positions=kind)
    source, target = ([[token for row in rows for token in row]] for rows in (SOURCES, TARGETS))
    found = model(source, target, PACKED)
    assert difference(found[0, :2], model(SOURCES[:1], TARGETS[:1])[0]) < 1e-5
    assert difference(found[0, 2:], model(SOURCES[1:], TARGETS[1:])[0]) < 1e-5


def test_a_packed_source_without_a_packed_target_is_refused() -> None:
    """Nobody could tell which of the sources belongs to the target."""
    source, target = ([[token for row in rows for token in row]] for rows in (SOURCES, TARGETS))
    with pytest.raises(UserError, match="Documents for target"):
        small("translator")(source, target, Layout(source=PACKED.source))
