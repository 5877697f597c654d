"""Figures: raw weights and nothing else as colours, the intended mask as an outline, words that are never cut."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from mlxdecoder.errors import UserError
from mlxdecoder.figures import attention_figure, comparison_figure, curves_figure, save_figure
from mlxdecoder.heads import Grouping
from mlxdecoder.maps import AttentionMap
from mlxdecoder.words import MERGED, WordMap

WORDS = ["<s>", "▁the", "▁small", "▁dog", "▁often", "▁chases", "▁a", "▁cat"]
SCRIPTS = [  # right to left, CJK, emoji, mathematics and what cannot be seen
    "مرحبا",
    "שלום",
    "你好",
    "🤗",
    "👩\u200d🔬",
    "$x_1$",
    "\\alpha^2",
    "a_b",
    " the",
    "\n",
    "\u00a0",
    "",
    "a" * 50,
]
CAUSAL = np.tri(8, dtype=bool)
RECORDS = [
    {"step": 10, "training_loss": 3.0},
    {"step": 20, "training_loss": 1.5, "teacher_forced": 0.75, "exact_match": 0.0},
    {"step": 40, "training_loss": 0.5, "teacher_forced": 1.0, "exact_match": 0.25},
]


def softmax(scores: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    powers = np.where(allowed, np.exp(scores), 0.0)
    return np.asarray(powers / np.maximum(powers.sum(axis=-1, keepdims=True), 1e-9))


def attention(
    layers: int = 1,
    heads: int = 1,
    tokens: list[str] = WORDS,
    intended: np.ndarray | None = None,
    allowed: np.ndarray | None = None,
    kind: str = "decoder",
) -> AttentionMap:
    """Random weights; `allowed` is what the model did, `intended` what it should have done."""
    size = len(tokens)
    intended = np.tri(size, dtype=bool) if intended is None else intended
    scores = np.random.default_rng(0).normal(size=(layers, heads, size, size))
    return AttentionMap(kind, softmax(scores, intended if allowed is None else allowed), intended, tokens, tokens)


def leaking(layers: int = 1, heads: int = 1) -> AttentionMap:
    return attention(layers, heads, allowed=np.ones((8, 8), bool))


def changed(traced: AttentionMap, where: tuple[object, ...], value: float) -> AttentionMap:
    weights = traced.weights.copy()
    weights[where] = value
    return AttentionMap(traced.kind, weights, traced.intended, traced.queries, traced.keys)


def panels(figure: Figure) -> list[Axes]:
    return [axes for axes in figure.axes if axes.images]


def painted(axes: Axes) -> np.ndarray:
    return np.ma.filled(axes.images[0].get_array(), np.nan)


def flagged(axes: Axes, name: str) -> list[int]:
    (line,) = [line for line in axes.lines if line.get_label() == name]
    return [int(row) for row in line.get_ydata()]


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def colour_at(image: np.ndarray, axes: Axes, query: float, key: float) -> np.ndarray:
    """The colour of the saved picture at a place in cells, off the middle, where a number may stand."""
    scale = 200 / axes.figure.dpi
    x, y = axes.transData.transform((key - 0.35, query - 0.35)) * scale
    return np.asarray(image[image.shape[0] - 1 - int(y), int(x), :3])


def saved_picture(figure: Figure, folder: Path) -> np.ndarray:
    save_figure(figure, folder / "picture.png")
    from matplotlib.image import imread

    return imread(folder / "picture.png")


@pytest.mark.parametrize("make", [attention, leaking])
def test_every_panel_holds_the_raw_weights(make: object) -> None:
    traced = make(2, 3)  # type: ignore[operator]
    found = panels(attention_figure(traced))
    assert len(found) == 6
    for axes, (layer, head) in zip(found, np.ndindex(2, 3), strict=True):
        np.testing.assert_array_equal(painted(axes), traced.weights[layer, head])


def test_forbidden_weights_are_seen_on_the_picture(tmp_path: Path) -> None:
    traced = leaking()
    figure = attention_figure(traced)
    picture = saved_picture(figure, tmp_path)
    for query, key in ((0, 7), (2, 5), (7, 0)):
        wanted = matplotlib.colormaps["viridis"](traced.weights[0, 0, query, key])[:3]
        np.testing.assert_allclose(colour_at(picture, panels(figure)[0], query, key), wanted, atol=0.01)


def test_every_panel_has_the_same_scale_whatever_its_weights() -> None:
    traced = attention(2, 2)
    faint = AttentionMap("decoder", traced.weights / 100, traced.intended, WORDS, WORDS)
    figure = attention_figure(faint)
    assert {axes.images[0].get_clim() for axes in panels(figure)} == {(0.0, 1.0)}
    assert len(figure.axes) == 5  # and one colour bar


@pytest.mark.parametrize("intended", [CAUSAL, CAUSAL & ~np.tri(8, k=-3, dtype=bool)])
def test_the_outline_is_the_border_of_the_intended_mask(intended: np.ndarray) -> None:
    (axes,) = panels(attention_figure(attention(intended=intended, allowed=CAUSAL)))
    outlines = [drawn for drawn in axes.collections if drawn.get_label() == "border of the intended mask"]
    assert outlines
    for outline in outlines:
        # Inside the allowed region, walking along a row crosses the outline as often as the mask changes.
        for row, allowed in enumerate(intended):
            upright = [line for line in outline.get_segments() if line[0, 0] == line[1, 0]]
            crossed = {x for (x, low), (_, high) in upright if min(low, high) <= row <= max(low, high)}
            padded = np.pad(allowed, 1).astype(int)
            assert crossed == {place - 0.5 for place in np.flatnonzero(np.diff(padded)).tolist()}


def test_no_outline_where_everything_is_intended() -> None:
    figure = attention_figure(attention(intended=np.ones((8, 8), bool)))
    assert not panels(figure)[0].collections
    assert not any("border" in text for text in texts(figure))


def test_no_outline_without_a_mask_and_it_is_said() -> None:
    known = attention()
    figure = attention_figure(AttentionMap("encoder", known.weights, None, WORDS, WORDS))
    assert not panels(figure)[0].collections
    assert "The intended mask is not known." in texts(figure)


def test_labels_are_the_tokens_and_never_mathematics() -> None:
    tokens = ["$x_1$", "\\alpha^2", "a_b", "a_b", "▁the", "%d"]
    (axes,) = panels(attention_figure(attention(tokens=tokens)))
    for labels in (axes.get_yticklabels(), axes.get_xticklabels()):
        assert [label.get_text() for label in labels] == [*tokens[:4], "the", "%d"]
        assert not any(label.get_parse_math() or label.get_usetex() for label in labels)


def test_long_tokens_lose_their_middle_and_invisible_ones_show() -> None:
    tokens = ["internationalisation", " the ", "\n", "\u202f", "", "e\u0301" * 30]
    (axes,) = panels(attention_figure(attention(tokens=tokens)))
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[0].startswith("intern")
    assert labels[0].endswith("sation")
    assert "…" in labels[0]
    assert labels[1:5] == ["␣the␣", "U+000A", "U+202F", "∅"]
    assert set(labels[5].split("…")) == {"e\u0301" * 8, "e\u0301" * 7}


def test_characters_without_a_font_are_named(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    rare = "\U000e1234\U00013000"  # not assigned, and a hieroglyph that no font of ours has
    figure = attention_figure(attention(tokens=[rare, "b"]), title=rare)
    with caplog.at_level(logging.WARNING):
        save_figure(figure, tmp_path / "picture.png")
    assert not caplog.records
    assert "U+E1234U+13000" in texts(figure)
    assert any("no font on this machine" in text for text in texts(figure))


def test_the_figure_says_kind_axes_layers_and_heads() -> None:
    said = texts(attention_figure(attention(3, 2, kind="cross").select([2], [0, 1]), title="Mine"))
    assert {"Mine", "layer 2 · head 0", "layer 2 · head 1", "queries (target)", "keys (source)"} <= set(said)
    assert "cross-attention · rows: queries, columns: keys · raw weights" in said


def test_rows_with_weight_outside_the_mask_are_flagged() -> None:
    traced = changed(attention(1, 2), (0, 1, 2, 6), 0.25)
    traced = changed(changed(traced, (0, 1, 3, 7), 0.0015), (0, 1, 4, 5), 0.0005)
    figure = attention_figure(traced)
    right, wrong = panels(figure)
    assert flagged(right, "outside the intended mask") == []
    assert flagged(wrong, "outside the intended mask") == [2, 3]
    assert "◂ up to 0.25 outside" in texts(figure)


def test_a_right_model_is_not_flagged() -> None:
    said = " ".join(texts(attention_figure(attention(2, 2))))
    assert not set("◂○▨±") & set(said)


def test_row_sums_stand_beside_one_head_and_wrong_ones_are_flagged() -> None:
    traced = attention()
    halved = traced.weights.copy()
    halved[0, 0, 3] /= 2
    figure = attention_figure(AttentionMap("decoder", halved, CAUSAL, WORDS, WORDS))
    (axes,) = panels(figure)
    assert flagged(axes, "wrong row sum") == [3]
    sums = [text.get_text() for text in axes.texts if text.get_position()[0] > 7.5]
    assert sums == ["row sum", "1.00", "1.00", "1.00", "0.5", "1.00", "1.00", "1.00", "1.00"]
    assert "○ sum 0.5" in texts(figure)


def sinking(heads: int = 2) -> AttentionMap:
    """A head that gives the first key most of its weight, beside others."""
    traced = attention(1, heads)
    weights = np.where(CAUSAL, 0.1 / np.maximum(CAUSAL.sum(axis=-1, keepdims=True) - 1, 1), 0.0)
    weights[:, 0] = 0.9
    weights[0, 0] = 1
    return changed(traced, (0, 1), weights)


def test_a_sink_is_named_and_explained_but_is_no_alarm() -> None:
    figure = attention_figure(sinking())
    assert [text for text in texts(figure) if text.startswith("▽ key")] == ["▽ key 0: 90%"]
    (remark,) = [text for text in figure.texts if text.get_text() == "▽ key 0: 90%"]
    assert remark.get_color() == "#555555"
    assert "more than 50% of the weight" in " ".join(texts(figure)) and "2309.17453" in " ".join(texts(figure))
    assert not any("sink" in text for text in texts(attention_figure(sinking().select(heads=[0]))))


def test_heads_that_share_keys_are_named_once_for_all() -> None:
    shared = replace(attention(2, 4), grouping=Grouping(4, 2))
    assert "2 key/value heads are shared: 0 by heads 0–1, 1 by heads 2–3." in texts(attention_figure(shared))
    one = attention_figure(shared.select(layers=[1], heads=[2]))
    assert "Key/value head 1 of 2, shared by heads 2–3." in texts(one)
    alike = comparison_figure(shared, shared, layer=1, head=2)
    assert "Key/value head 1 of 2, shared by heads 2–3." in texts(alike)


def test_heads_that_share_nothing_are_not_spoken_of() -> None:
    for grouping in (None, Grouping(4, 4)):
        said = " ".join(texts(attention_figure(replace(attention(2, 4), grouping=grouping))))
        assert "key/value" not in said.lower()


def test_a_fully_masked_row_of_zeros_is_right() -> None:
    intended = CAUSAL.copy()
    intended[5] = False
    (axes,) = panels(attention_figure(attention(intended=intended)))
    assert flagged(axes, "wrong row sum") == []


def test_what_is_not_finite_is_hatched_and_said(tmp_path: Path) -> None:
    figure = attention_figure(changed(attention(), (0, 0, 4), np.nan))
    (axes,) = panels(figure)
    assert axes.patch.get_hatch()
    assert flagged(axes, "wrong row sum") == [4]
    assert "▨ 8 not finite" in texts(figure)
    picture = saved_picture(figure, tmp_path)
    for key in range(8):
        red, green, blue = colour_at(picture, axes, 4, key)
        assert red == green == blue  # gray, which viridis has nowhere


def test_weights_above_one_are_said() -> None:
    assert "± value 7.5" in texts(attention_figure(changed(attention(), (0, 0, 4, 2), 7.5)))


def test_one_strong_weight_among_many_small_cells_is_seen(tmp_path: Path) -> None:
    size, heads = 420, 3
    weights = np.zeros((1, heads, size, size), np.float32)
    places = [(0, 0), (101, 202), (419, 419)]
    for query, key in places:
        weights[0, :, query, key] = 1.0
    tokens = [f"token{t}" for t in range(size)]
    figure = attention_figure(AttentionMap("encoder", weights, None, tokens, tokens))
    picture = saved_picture(figure, tmp_path)
    axes = panels(figure)[-1]
    for query, key in places:
        left, bottom = axes.transData.transform((key - 4, query + 4)) * 2
        right, top = axes.transData.transform((key + 4, query - 4)) * 2
        height = picture.shape[0]
        area = picture[int(height - top) : int(height - bottom), int(left) : int(right), :3]
        assert np.isclose(area, matplotlib.colormaps["viridis"](1.0)[:3], atol=0.02).all(axis=-1).any()


def test_many_tokens_are_thinned_and_numbered() -> None:
    tokens = [f"word{t}" for t in range(200)]
    (axes,) = panels(attention_figure(attention(tokens=tokens)))
    for axis in (axes.xaxis, axes.yaxis):
        labels = [label.get_text() for label in axis.get_ticklabels()]
        assert 10 <= len(labels) <= 60
        assert labels == [f"{int(at)} word{int(at)}" for at in axis.get_ticklocs()]


def awkward() -> AttentionMap:
    return changed(attention(2, 3, SCRIPTS, allowed=np.ones((13, 13), bool)), (1, 1, 3), np.nan)


@pytest.mark.parametrize(
    "figure",
    [
        pytest.param(lambda: attention_figure(attention()), id="one head"),
        pytest.param(lambda: attention_figure(leaking(2, 2)), id="2 x 2, leaking"),
        pytest.param(lambda: attention_figure(awkward(), title="A title longer than a line. " * 9), id="awkward"),
        pytest.param(lambda: attention_figure(attention(1, 1, [f"word{t}" for t in range(200)])), id="200 tokens"),
        pytest.param(lambda: attention_figure(attention(tokens=["a"])), id="one token"),
        pytest.param(lambda: comparison_figure(*[attention(tokens=WORDS[:5])] * 2), id="comparison"),
        pytest.param(lambda: curves_figure(RECORDS, title="long title " * 12), id="curves"),
    ],
)
def test_no_words_are_cut_or_lie_over_each_other(figure: object, caplog: pytest.LogCaptureFixture) -> None:
    drawn: Figure = figure()  # type: ignore[operator]
    FigureCanvasAgg(drawn).draw()
    assert not caplog.records
    unseen = unseen_ticks(drawn)
    seen = [text for text in drawn.findobj(Text) if text.get_text() and text not in unseen]
    boxes = [(text.get_text(), text.get_window_extent()) for text in seen]
    for text, box in boxes:
        assert box.x0 >= 0, text
        assert box.y0 >= 0, text
        assert box.x1 <= drawn.bbox.width, text
        assert box.y1 <= drawn.bbox.height, text
    # A pixel of the boxes may be shared: they are rounded outwards.
    left, low, right, high = np.array([box.padded(-1).extents for _, box in boxes]).T
    overlap = (np.minimum.outer(right, right) > np.maximum.outer(left, left)) & (
        np.minimum.outer(high, high) > np.maximum.outer(low, low)
    )
    pairs = np.argwhere(np.triu(overlap, k=1))
    assert not len(pairs), [(boxes[one][0], boxes[other][0]) for one, other in pairs]


def unseen_ticks(figure: Figure) -> set[Text]:
    """Labels of ticks outside the axes, which matplotlib keeps but does not draw."""
    across = [(axes.xaxis, axes.get_xlim()) for axes in figure.axes]
    down = [(axes.yaxis, axes.get_ylim()) for axes in figure.axes]
    return {
        label
        for axis, limits in across + down
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        for label in (tick.label1, tick.label2)
        if not label.get_visible() or not min(limits) <= tick.get_loc() <= max(limits)
    }


@pytest.mark.parametrize(
    ("layers", "heads", "width", "height"),
    [(1, 1, 9, 8), (2, 4, 14, 8), pytest.param(6, 8, 14, 12, marks=pytest.mark.slow)],
)
def test_sizes_are_sensible(layers: int, heads: int, width: float, height: float) -> None:
    found = attention_figure(attention(layers, heads)).get_size_inches()
    assert width / 2 < found[0] <= width
    assert height / 2 < found[1] <= height


def test_too_many_panels_are_refused() -> None:
    with pytest.raises(UserError, match=r"48 layers x 12 heads .* select"):
        attention_figure(AttentionMap("decoder", np.zeros((48, 12, 1, 1)), None, ["a"], ["a"]))


def test_a_comparison_shows_both_and_their_difference() -> None:
    correct, mistaken = attention(2, 2), leaking(2, 2)
    figure = comparison_figure(correct, mistaken, layer=1, head=0)
    right, wrong, change = panels(figure)
    np.testing.assert_array_equal(painted(right), correct.weights[1, 0])
    np.testing.assert_array_equal(painted(wrong), mistaken.weights[1, 0])
    np.testing.assert_array_equal(painted(change), mistaken.weights[1, 0] - correct.weights[1, 0])
    assert right.images[0].get_clim() == wrong.images[0].get_clim() == (0.0, 1.0)
    low, high = change.images[0].get_clim()
    assert -low == high == pytest.approx(np.abs(painted(change)).max())
    assert {f"{which} · layer 1 · head 0" for which in ("correct", "mistaken", "difference")} <= set(texts(figure))


def test_a_comparison_of_equals_says_so() -> None:
    assert "no difference · layer 0 · head 0" in texts(comparison_figure(attention(), attention()))


def test_the_difference_never_loses_a_sign_when_cells_share_pixels() -> None:
    tokens = [f"t{t}" for t in range(700)]
    empty = AttentionMap("encoder", np.zeros((1, 1, 700, 700)), None, tokens, tokens)
    other = changed(changed(empty, (0, 0, 0, 0), 0.5), (0, 0, 699, 699), -0.75)
    change = painted(panels(comparison_figure(empty, other))[2])
    assert change.shape[0] < 700
    assert (change[0, 0], change[-1, -1], np.count_nonzero(change)) == (0.5, -0.75, 2)


def test_a_comparison_needs_maps_that_belong_together() -> None:
    with pytest.raises(UserError, match="same sentence"):
        comparison_figure(attention(), attention(tokens=WORDS[::-1]))
    with pytest.raises(UserError, match="layer 7 does not exist"):
        comparison_figure(attention(), attention(), layer=7)


def test_words_are_named_and_the_merge_is_said() -> None:
    pieces = attention(tokens=["<s>", "▁Le", "▁ch", "at", "▁dort"])
    figure = attention_figure(WordMap(pieces))
    said = " ".join(texts(figure))
    assert {"Le", "chat", "dort"} <= set(texts(figure)) and "ch" not in texts(figure)
    assert "weights of words" in said and "raw weights" not in said and MERGED in said
    assert MERGED not in " ".join(texts(attention_figure(pieces)))


def test_what_is_wrong_in_a_piece_is_flagged_in_its_word() -> None:
    tokens = ["▁ch", "at"]
    ahead = AttentionMap("decoder", [[[[0.6, 0.4], [0.0, 1.0]]]], np.tri(2, dtype=bool), tokens, tokens)
    assert "◂ up to 0.4 outside" in texts(attention_figure(WordMap(ahead)))
