"""Values as pixels: held against matplotlib's colours, the library's pooling, and what people can tell apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mlxdecoder.app.views.colours import MASKED, NO_VALUE, TABLES, is_dark, rounded_up, scale_of
from mlxdecoder.app.views.raster import Pixels, pool, to_rgb32
from mlxdecoder.cells import max_pool

WEIGHTS = scale_of("weights", "wrong", 1.0)
MASKED_SCORES = scale_of("masked", "wrong", 4.0)
CHANGE = scale_of("masked", "change", 4.0)
MAPS = arrays(np.float32, st.tuples(*[st.integers(1, 9)] * 2), elements=st.floats(-4, 4, width=32))


def channels(pixels: np.ndarray) -> np.ndarray:
    return np.stack([pixels >> 16 & 255, pixels >> 8 & 255, pixels & 255], axis=-1).astype(int)


def luminance(table: np.ndarray) -> np.ndarray:
    linear = (channels(table) / 255) ** 2.2
    return linear @ np.array([0.2126, 0.7152, 0.0722])


def test_weights_have_the_colours_of_viridis() -> None:
    colormaps = pytest.importorskip("matplotlib").colormaps
    values = np.linspace(0, 1, 101)
    truth = np.rint(colormaps["viridis"](values)[:, :3] * 255)
    assert np.abs(channels(to_rgb32(values, WEIGHTS)) - truth).max() <= 6


def test_the_luminance_of_weights_rises_from_end_to_end() -> None:
    assert (np.diff(luminance(TABLES["viridis"])[::6]) > 0).all()  # steps of less are lost in bytes


def test_differences_are_lightest_at_zero_and_blue_below_red_above() -> None:
    table = TABLES["blue to red"]
    light = luminance(table)
    assert light.argmax() == len(table) // 2
    below, above = channels(table[:100]), channels(table[-100:])
    assert (below[:, 2] > below[:, 0]).all() and (above[:, 0] > above[:, 2]).all()


def test_blue_and_red_differ_for_whoever_lacks_the_green_or_the_red_cone() -> None:
    # Viénot's simulation: with one cone missing, red and green channels become one mixture.
    mixtures = {"protan": (0.1124, 0.8876), "deutan": (0.2927, 0.7073)}
    linear = (channels(TABLES["blue to red"]) / 255) ** 2.2
    for red, green in mixtures.values():
        yellow = linear[:, 0] * red + linear[:, 1] * green
        seen = linear[:, 2] - yellow
        assert (seen[20:90] > 0).all() and (seen[-90:-20] < 0).all()


def test_zero_is_exactly_the_middle_of_a_difference() -> None:
    assert to_rgb32(np.zeros(1), CHANGE)[0] == 0xFFF7F7F7


def test_what_lies_beyond_the_scale_has_the_colour_of_its_end() -> None:
    low, high, below, above, infinite = to_rgb32(np.array([0, 1, -3, 7, np.inf]), WEIGHTS)
    assert below == low and above == high == infinite and low != high


def test_masked_cells_and_missing_values_have_greys_of_their_own() -> None:
    pixels = to_rgb32(np.array([-np.inf, np.nan, -4.0, 0.0, 4.0]), MASKED_SCORES)
    assert pixels[:2].tolist() == [MASKED, NO_VALUE]
    assert len(set(pixels.tolist())) == 5
    for grey in (MASKED, NO_VALUE):
        red, green, blue = channels(np.array([grey]))[0]
        assert red == green == blue
        assert not (TABLES["viridis"] == grey).any() and not (TABLES["blue to red"] == grey).any()


def test_in_a_difference_what_was_masked_anew_is_the_lowest_value() -> None:
    lowest, masked_anew, freed, nothing = to_rgb32(np.array([CHANGE.low, -np.inf, np.inf, np.nan]), CHANGE)
    assert masked_anew == lowest and freed != lowest and nothing == NO_VALUE


def test_half_floats_have_the_colours_of_their_value() -> None:
    values = np.linspace(0, 1, 33, dtype=np.float16)
    assert (to_rgb32(values, WEIGHTS) == to_rgb32(values.astype(np.float64), WEIGHTS)).all()


@given(MAPS, st.integers(1, 4))
def test_pooling_is_the_librarys(values: np.ndarray, block: int) -> None:
    assert (pool(values, block, WEIGHTS) == max_pool(values, block, block)).all()


@given(MAPS, st.integers(2, 4))
def test_pooled_scores_are_farthest_from_zero(values: np.ndarray, block: int) -> None:
    assert (np.abs(pool(values, block, MASKED_SCORES)) == max_pool(np.abs(values), block, block)).all()


def test_a_thin_diagonal_of_a_large_map_is_in_every_block_that_it_crosses() -> None:
    pooled = pool(np.eye(1024, dtype=np.float32), 11, WEIGHTS)
    assert pooled.shape == (94, 94) and (pooled.diagonal() == 1).all()


def test_a_missing_number_is_not_lost_when_cells_share_a_pixel() -> None:
    values = np.zeros((6, 6), np.float32)
    values[4, 1] = np.nan
    assert np.isnan(pool(values, 3, WEIGHTS)).tolist() == [[False, False], [True, False]]


def test_a_masked_cell_hides_no_score_that_shares_its_pixel() -> None:
    values = np.array([[-np.inf, -0.9], [0.5, -np.inf], [-np.inf, -np.inf], [-np.inf, -np.inf]])
    assert pool(values, 2, MASKED_SCORES).tolist() == [[-0.9], [-np.inf]]


@given(MAPS, st.integers(1, 3), st.data())
def test_a_map_that_grew_looks_as_if_it_had_been_painted_at_once(
    values: np.ndarray, block: int, data: st.DataObject
) -> None:
    rows, columns = (data.draw(st.integers(1, size)) for size in values.shape)
    grown, fresh = Pixels(WEIGHTS, block), Pixels(WEIGHTS, block)
    for part in (values[:rows, :columns], values[:, :columns], values):
        grown.grow(part)
    fresh.grow(values)
    assert (grown.array == fresh.array).all()


def test_growing_paints_only_what_was_added() -> None:
    pixels = Pixels(WEIGHTS)
    pixels.grow(np.zeros((2, 2)))
    pixels.grow(np.ones((3, 3)))  # the first two rows are said to be what they were
    low, high = to_rgb32(np.array([0.0, 1.0]), WEIGHTS)
    assert pixels.array.tolist() == [[low, low, high], [low, low, high], [high, high, high]]


@given(st.floats(1e-6, 1e6))
def test_a_scale_ends_at_the_next_of_one_two_and_five(reach: float) -> None:
    end = rounded_up(reach)
    assert reach <= end <= 2.5001 * reach
    assert f"{end:e}"[0] in "125" and float(f"{end:.0e}") == pytest.approx(end)


@pytest.mark.parametrize("reach", [0.0, float("nan"), float("inf")])
def test_a_scale_without_a_reach_ends_at_one(reach: float) -> None:
    assert rounded_up(reach) == 1.0


def test_all_sides_are_on_one_scale() -> None:
    for stage in ("scores", "scaled", "masked", "weights", "norms"):
        right, wrong, change = (scale_of(stage, side, 3.0) for side in ("right", "wrong", "change"))
        assert right == wrong and change.high == wrong.high == -change.low


def test_weights_run_from_zero_to_one_whatever_they_are() -> None:
    assert (scale_of("weights", "wrong", 40.0).low, scale_of("weights", "wrong", 1e-9).high) == (0.0, 1.0)


def test_ink_on_a_colour_is_the_one_that_can_be_read() -> None:
    assert is_dark(int(TABLES["viridis"][0])) and not is_dark(int(TABLES["viridis"][-1]))
